//! Invented rows in the city's exact layout, for tests.

use std::collections::BTreeMap;

use super::{PadIndex, PadStats};

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
        "1/3" => "BJ".to_owned(),
        "1/4" => "BK".to_owned(),
        "FRONT" => "AB".to_owned(),
        "BA" => "DO".to_owned(),
        "B GARAGE" => "DP".to_owned(),
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
