//! A few buildings that hold the traps of the city's files, for tests.

use super::testing::{Pad, Row};

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
