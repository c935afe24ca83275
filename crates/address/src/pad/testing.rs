//! Invented rows in the city's exact layout, for tests.

use std::collections::BTreeMap;

use super::{PadIndex, PadStats};

/// The folder of real files; says that a test is skipped where there is none.
#[allow(clippy::print_stdout)]
pub(crate) fn real_data() -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("NYC_REAL_DATA").map(std::path::PathBuf::from);
    if folder.is_none() {
        println!("skipped: NYC_REAL_DATA is not set");
    }
    folder
}

/// A release in the making. Streets get codes as they come, unless one is set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pad {
    pub(crate) rows: Vec<String>,
    pub(crate) lots: Vec<String>,
    pub(crate) dictionary: Vec<String>,
    codes: BTreeMap<(char, String), String>,
}

/// One address row before it is written.
#[derive(Debug, Clone)]
pub(crate) struct Row<'a> {
    pub(crate) bbl: &'a str,
    pub(crate) bin: &'a str,
    pub(crate) numbers: (&'a str, &'a str),
    /// Borough digit of the street's code, where it is not the lot's.
    pub(crate) street_borough: Option<char>,
    pub(crate) street: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) group: &'a str,
    pub(crate) valid: &'a str,
    pub(crate) daps: &'a str,
    pub(crate) zip: &'a str,
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        bbl: &'a str,
        bin: &'a str,
        numbers: (&'a str, &'a str),
        street: &'a str,
        zip: &'a str,
    ) -> Self {
        Self {
            bbl,
            bin,
            numbers,
            street_borough: None,
            street,
            kind: "",
            group: "01",
            valid: "01",
            daps: "",
            zip,
        }
    }
}

pub(crate) const ADDRESS_HEADER: &str = r#""boro","block","lot","bin","lhnd","lhns","lcontpar","lsos","hhnd","hhns","hcontpar","hsos","scboro","sc5","sclgc","stname","addrtype","realb7sc","validlgcs","dapsflag","naubflag","parity","b10sc","segid","zipcode","physical_id""#;
pub(crate) const LOT_HEADER: &str = r#""loboro","loblock","lolot","lobblscc","hiboro","hiblock","hilot","hibblscc","boro","block","lot","bblscc","billboro","billblock","billlot","billbblscc","condoflag","condonum","coopnum","numbf","numaddr","vacant","interior""#;

/// The sort format of a number as displayed, written here once more so that the reader is not its own measure.
pub(crate) fn sort_format(shown: &str) -> String {
    if shown.is_empty() {
        return " ".repeat(11);
    }
    let digits = shown.chars().take_while(char::is_ascii_digit).count();
    let (left, rest) = shown.split_at(digits);
    let (hyphen, right, rest) = match rest.strip_prefix('-') {
        Some(rest) => {
            let digits = rest.chars().take_while(char::is_ascii_digit).count();
            ('1', &rest[..digits], &rest[digits..])
        }
        None => ('0', "", rest),
    };
    let code = match rest.trim() {
        "" => "AA".to_owned(),
        "REAR" => "AC".to_owned(),
        "GARAGE" => "BH".to_owned(),
        "1/2" => "AH".to_owned(),
        "FRONT" => "AB".to_owned(),
        letter => {
            let place = letter.as_bytes()[0] - b'A';
            match place {
                0..=8 => format!("M{}", char::from(b'B' + place)),
                9..=17 => format!("N{}", char::from(b'B' + place - 9)),
                _ => format!("O{}", char::from(b'C' + place - 18)),
            }
        }
    };
    format!("{hyphen}{left:0>5}{right:0>3}{code}")
}

impl Pad {
    /// Sets a street's five digits.
    pub(crate) fn code(&mut self, borough: char, street: &str, code: &str) -> &mut Self {
        self.codes
            .insert((borough, street.to_owned()), code.to_owned());
        self
    }

    fn code_of(&mut self, borough: char, street: &str) -> String {
        let next = format!("{:05}", 20_000 + 10 * self.codes.len());
        self.codes
            .entry((borough, street.to_owned()))
            .or_insert(next)
            .clone()
    }

    /// Adds a row, and its lot.
    pub(crate) fn row(&mut self, row: &Row<'_>) -> &mut Self {
        let borough = row.bbl.chars().next().unwrap();
        let street_borough = row.street_borough.unwrap_or(borough);
        let code = self.code_of(street_borough, row.street);
        let (low, high) = row.numbers;
        let parity = match low
            .trim_end_matches(|c: char| !c.is_ascii_digit())
            .chars()
            .last()
        {
            None => "0",
            Some(last) if last.to_digit(10).unwrap() % 2 == 1 => "1",
            Some(_) => "2",
        };
        let group = row.group;
        let blank = " ";
        self.rows.push(format!(
            r#""{borough}","{}","{}","{}","{low:<12}","{}","{blank}","L","{high:<12}","{}","{blank}","L","{street_borough}","{code}","{group}","{:<32}","{:1}","        ","{:<8}","{:1}","{blank}","{parity}","{street_borough}{code}{group}010","0000001","{:<5}","0000001""#,
            &row.bbl[1..6],
            &row.bbl[6..],
            row.bin,
            sort_format(low),
            sort_format(high),
            row.street,
            row.kind,
            row.valid,
            row.daps,
            row.zip,
        ));
        self.lot(row.bbl)
    }

    /// Adds a row of a range.
    pub(crate) fn range(
        &mut self,
        bbl: &str,
        bin: &str,
        low: &str,
        high: &str,
        street: &str,
        zip: &str,
    ) -> &mut Self {
        self.row(&Row::new(bbl, bin, (low, high), street, zip))
    }

    /// Adds a row of one number.
    pub(crate) fn at(
        &mut self,
        bbl: &str,
        bin: &str,
        number: &str,
        street: &str,
        zip: &str,
    ) -> &mut Self {
        self.range(bbl, bin, number, number, street, zip)
    }

    /// Adds a row of another type.
    pub(crate) fn typed(
        &mut self,
        kind: &str,
        bbl: &str,
        bin: &str,
        number: &str,
        street: &str,
        zip: &str,
    ) -> &mut Self {
        self.row(&Row {
            kind,
            ..Row::new(bbl, bin, (number, number), street, zip)
        })
    }

    /// Adds a plain lot.
    pub(crate) fn lot(&mut self, bbl: &str) -> &mut Self {
        self.lot_row(bbl, bbl, bbl, "")
    }

    /// Adds a row of `bobabbl`.
    pub(crate) fn lot_row(&mut self, low: &str, high: &str, key: &str, billing: &str) -> &mut Self {
        let part = |bbl: &str| match bbl {
            "" => r#"" ","     ","    "," ""#.to_owned(),
            bbl => format!(r#""{}","{}","{}","7""#, &bbl[..1], &bbl[1..6], &bbl[6..]),
        };
        let line = format!(
            r#"{},{},{},{}," ","    ","    ","   1","   1"," "," ""#,
            part(low),
            part(high),
            part(key),
            part(billing)
        );
        if !self.lots.contains(&line) {
            self.lots.push(line);
        }
        self
    }

    /// Adds a spelling to the dictionary. `flags`: primary or variant, principal or secondary.
    pub(crate) fn spelling(
        &mut self,
        borough: char,
        street: &str,
        group: &str,
        name: &str,
        flags: &str,
        feature: char,
    ) -> &mut Self {
        let code = self.code_of(borough, street);
        let mut line = format!(
            "1{borough}{name:<32}{flags}{borough}{code}{group}010   {feature}{:02}{name:<32}",
            name.len()
        );
        line.push_str(&" ".repeat(200 - line.len()));
        self.dictionary.push(line);
        self
    }

    /// Adds an alias in the same local group.
    pub(crate) fn alias(&mut self, borough: char, street: &str, name: &str) -> &mut Self {
        self.spelling(borough, street, "01", name, "VS", ' ')
    }

    pub(crate) fn addresses(&self) -> String {
        file(ADDRESS_HEADER, &self.rows)
    }

    pub(crate) fn lots_file(&self) -> String {
        file(LOT_HEADER, &self.lots)
    }

    pub(crate) fn dictionary_file(&self) -> String {
        let mut out = format!("0SND HEADER{}\r\n", " ".repeat(189));
        for line in &self.dictionary {
            out.push_str(line);
            out.push_str("\r\n");
        }
        out
    }

    pub(crate) fn build(&self) -> PadIndex {
        self.build_with_stats().0
    }

    pub(crate) fn build_with_stats(&self) -> (PadIndex, PadStats) {
        let dictionary = self.dictionary_file();
        PadIndex::read(
            self.addresses().as_bytes(),
            self.lots_file().as_bytes(),
            (!self.dictionary.is_empty()).then_some(dictionary.as_bytes()),
        )
        .unwrap()
    }
}

fn file(header: &str, lines: &[String]) -> String {
    let mut out = format!("{header}\r\n");
    for line in lines {
        out.push_str(line);
        out.push_str("\r\n");
    }
    out
}

/// A few buildings that hold the traps of the city's files. Buildings, numbers and streets are real where they are
/// known ones; everything else is invented.
pub(crate) fn traps() -> Pad {
    let mut pad = Pad::default();
    for (borough, street, code) in [
        ('1', "5 AVENUE", "10410"),
        ('1', "6 AVENUE", "10510"),
        ('1', "7 AVENUE", "10610"),
        ('1', "7 AVENUE SOUTH", "10710"),
        ('1', "BROADWAY", "13610"),
        ('1', "RIVERSIDE DRIVE", "29050"),
        ('1', "WEST 100 STREET", "36320"),
        ('3', "13 AVENUE", "13510"),
        ('3', "37 STREET", "11610"),
        ('3', "EAST 37 STREET", "38610"),
    ] {
        pad.code(borough, street, code);
    }
    // One building on two streets, and a place's name.
    pad.range("1008350041", "1015862", "338", "350", "5 AVENUE", "10118")
        .range(
            "1008350041",
            "1015862",
            "2",
            "20",
            "WEST 34 STREET",
            "10118",
        )
        .at("1008350041", "1015862", "350A", "5 AVENUE", "10118")
        .typed(
            "N",
            "1008350041",
            "1015862",
            "",
            "EMPIRE STATE BUILDING",
            "10118",
        )
        .typed("Q", "1008350041", "1000000", "336", "5 AVENUE", "10118")
        .alias('1', "5 AVENUE", "FIFTH AVENUE");
    pad.at("3009100010", "3020001", "350", "5 AVENUE", "11215");
    pad.at("1000477501", "1001026", "120", "BROADWAY", "10271")
        .at("3021300001", "3060001", "120", "BROADWAY", "11249")
        .at("1020010010", "1060001", "3333", "BROADWAY", "10031")
        .range(
            "1020010010",
            "1060001",
            "3333A",
            "3333E",
            "BROADWAY",
            "10031",
        )
        .at("1000200001", "1001100", "33", "BROADWAY", "10006");
    // A vanity address, and the street where the entrance is.
    pad.typed(
        "V",
        "1018890001",
        "1057127",
        "280",
        "RIVERSIDE DRIVE",
        "10025",
    )
    .row(&Row {
        kind: "R",
        ..Row::new(
            "1018890001",
            "1057127",
            ("327", "337"),
            "WEST 100 STREET",
            "10025",
        )
    });
    // One hyphenated number, and a range, on the same street.
    pad.range(
        "1021340001",
        "1063001",
        "156-08",
        "156-20",
        "RIVERSIDE DRIVE",
        "10032",
    )
    .range(
        "1012500001",
        "1033001",
        "156",
        "158",
        "RIVERSIDE DRIVE",
        "10024",
    );
    pad.range(
        "1008800010",
        "1018001",
        "10",
        "14",
        "LEXINGTON AVENUE",
        "10010",
    )
    .at("1015000001", "1047001", "1014", "LEXINGTON AVENUE", "10021");
    // Brooklyn: a lot with a garage, and twins of a street.
    pad.at("3052960043", "3340270", "1279", "37 STREET", "11218")
        .at("3052960043", "3340270", "3622", "13 AVENUE", "11218")
        .at("3052960043", "3123204", "1279 GARAGE", "37 STREET", "11218")
        .at("3076370038", "3209116", "1279", "EAST 37 STREET", "11210")
        .at("3006950001", "3336906", "207", "37 STREET", "11232")
        .at("3006960001", "3336910", "1022", "38 STREET", "11219")
        .range(
            "3018150008",
            "3329692",
            "331",
            "331A",
            "TOMPKINS AVENUE",
            "11216",
        )
        .at("3052700001", "3120001", "188", "SEELEY STREET", "11218")
        .at("3090000001", "3240001", "101", "AVENUE D", "11203")
        .at("3004600001", "3007001", "597", "BERGEN STREET", "11238");
    pad.alias('3', "BERGEN STREET", "BERGAN STREET");
    // Queens.
    pad.at("4031600001", "4074001", "66-03", "BOOTH STREET", "11374")
        .at(
            "4031700001",
            "4074101",
            "63-101",
            "ALDERTON STREET",
            "11374",
        )
        .at("4050000001", "4112001", "131-03", "41 AVENUE", "11355")
        .at("4003000001", "4004001", "13-103", "41 AVENUE", "11101")
        .at("4056010050", "4126588", "46-12A", "189 STREET", "11358")
        .at(
            "4056010050",
            "4486411",
            "46-12 GARAGE",
            "189 STREET",
            "11358",
        )
        .range(
            "4001600029",
            "4001899",
            "43-06",
            "43-12",
            "46 STREET",
            "11104",
        )
        .at("4033790016", "4080447", "2012", "STANHOPE STREET", "11385");
    for (street, bbl, bin, zip) in [
        (
            "HILLSIDE AVENUE BELLEROSE",
            "4079000001",
            "4160001",
            "11426",
        ),
        (
            "HILLSIDE AVENUE DOUGLASTON",
            "4080000001",
            "4170001",
            "11363",
        ),
    ] {
        pad.row(&Row {
            daps: "D",
            ..Row::new(bbl, bin, ("239-02", "239-02"), street, zip)
        });
    }
    pad.at(
        "4099600005",
        "4213409",
        "187-35",
        "HILLSIDE AVENUE",
        "11432",
    );
    // The Bronx, Marble Hill and Rikers Island.
    pad.at("2023597501", "2117344", "700", "BROOK AVENUE", "10455")
        .range(
            "2023597501",
            "2117344",
            "508A",
            "508B",
            "BROOK AVENUE",
            "10455",
        )
        .range(
            "2023597501",
            "2117344",
            "704",
            "730",
            "BROOK AVENUE",
            "10455",
        )
        .at("2042050001", "2097543", "2121", "EASTCHESTER ROAD", "10461")
        .at(
            "2042050001",
            "2097546",
            "1401",
            "PELHAM PARKWAY SOUTH",
            "10461",
        )
        .row(&Row {
            street_borough: Some('2'),
            ..Row::new(
                "1022150555",
                "1064679",
                ("58", "58"),
                "MARBLE HILL AVENUE",
                "10463",
            )
        })
        .at("1022150065", "1064500", "170", "WEST 225 STREET", "10463")
        .at("2000600001", "2097900", "18-99", "HAZEN STREET", "11370");
    // Governors Island: letters that are buildings, mixed parity, walls, a complex without a number.
    pad.at("1000010010", "1086352", "39", "BARRY ROAD", "10004")
        .at("1000010010", "1086352", "39A", "BARRY ROAD", "10004")
        .at("1000010010", "1088374", "39B", "BARRY ROAD", "10004")
        .range("1000010010", "1086350", "12C", "12R", "BARRY ROAD", "10004")
        .range("1000010010", "1086412", "104", "105", "ANDES ROAD", "10004")
        .at("1000010010", "1086355", "92", "ANDES ROAD", "10004")
        .at("1000010010", "1086355", "92", "BARRY ROAD", "10004")
        .range(
            "1000010010",
            "1000000",
            "500",
            "508",
            "GOVERNORS ISLAND",
            "10004",
        )
        .typed("N", "1000010010", "1086428", "", "CASTLE WILLIAMS", "10004")
        .typed(
            "N",
            "1000010010",
            "1000000",
            "",
            "GOVERNORS ISLAND FORT JAY",
            "10004",
        )
        .typed("W", "1000010010", "1086338", "", "ABSECON ROAD", "")
        .typed("B", "1000010010", "1089621", "", "ANDES ROAD", "");
    // Lincoln Center: a complex, and a part of it.
    pad.typed("G", "1011340001", "1000000", "", "LINCOLN CENTER", "10023")
        .typed(
            "X",
            "1011340001",
            "1028850",
            "",
            "AVERY FISHER HALL",
            "10023",
        )
        .at(
            "1011340001",
            "1028850",
            "10",
            "LINCOLN CENTER PLAZA",
            "10023",
        );
    // A condominium: units, billing lot, land; another with two billing lots.
    pad.at("1000451002", "1001000", "28", "LIBERTY STREET", "10005")
        .lot_row("1000451001", "1000451050", "1000450009", "1000457501")
        .lot_row("1000930020", "1000930020", "1000930020", "1000937501")
        .lot_row("1000930020", "1000930020", "1000930020", "1000937502");
    // A name that is not valid along the whole street, and one street of several names.
    pad.row(&Row {
        group: "04",
        valid: "04",
        ..Row::new("1008000001", "1014001", ("375", "375"), "7 AVENUE", "10001")
    })
    .row(&Row {
        group: "04",
        valid: "0104",
        ..Row::new(
            "1019260029",
            "1079502",
            ("2010", "2010"),
            "7 AVENUE",
            "10027",
        )
    })
    .spelling('1', "7 AVENUE", "04", "7 AVENUE", "PF", ' ')
    .spelling('1', "7 AVENUE", "04", "SEVENTH AVENUE", "VS", ' ')
    .spelling(
        '1',
        "7 AVENUE",
        "01",
        "ADAM CLAYTON POWELL BOULEVARD",
        "PF",
        ' ',
    )
    .spelling('1', "7 AVENUE", "01", "ADAM C POWELL BOULEVARD", "VS", ' ')
    .spelling('1', "6 AVENUE", "01", "6 AVENUE", "PF", ' ')
    .spelling('1', "6 AVENUE", "01", "AVENUE OF THE AMERICAS", "VS", ' ');
    pad.at("1004900001", "1008001", "96", "6 AVENUE", "10013")
        .at("1005900001", "1010001", "10", "7 AVENUE SOUTH", "10014");
    pad.at("1020340001", "1060101", "212", "WEST 146 STREET", "10039")
        .spelling('1', "WEST 146 STREET", "01", "146 STREET", "VS", 'S');
    pad.at("1017900001", "1054001", "300", "EAST 125 STREET", "10035")
        .at("1019500001", "1059001", "300", "WEST 125 STREET", "10027");
    pad.at("1010500001", "1026001", "450", "WEST 37 STREET", "10018")
        .at("3007050001", "3010001", "450", "37 STREET", "11232");
    pad.at("1002800001", "1003001", "6", "BOWERY", "10013");
    pad.at("5033780070", "5050009", "335", "GARRETSON AVENUE", "10305");
    // A lot without a building, and an ordinary address without one on a lot that has only one.
    pad.at("5010000001", "5000000", "77", "VACANT PLACE", "10301")
        .at("5033780070", "5000000", "337", "GARRETSON AVENUE", "10305");
    pad
}
