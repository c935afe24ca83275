use brownstone_domain::Borough;
use proptest::prelude::*;

use super::{
    index::bbl_number,
    testing::{Pad, Row, sort_format},
    traps::traps,
    *,
};
use crate::house::HouseKey;

#[test]
fn a_release_is_read_whole() {
    let pad = traps();
    let (index, stats) = pad.build_with_stats();
    assert_eq!(stats.bad_lines, 0, "{:?}", stats.bad_line_samples);
    // All but the blank wall and the building without an address.
    assert_eq!(stats.rows, pad.rows.len() as u64 - 2);
    assert!(stats.names > stats.streets);
    index.verify().unwrap();
}

#[test]
fn the_index_is_the_same_whatever_the_order_of_rows() {
    let pad = traps();
    let mut reversed = pad.clone();
    reversed.rows.reverse();
    reversed.lots.reverse();
    reversed.dictionary.reverse();
    let file = |pad: &Pad| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pad.index");
        pad.build().save(&path).unwrap();
        std::fs::read(&path).unwrap()
    };
    assert!(file(&pad) == file(&reversed));
}

#[test]
fn a_street_has_its_primary_name_and_all_its_aliases() {
    let index = traps().build();
    let one = |borough, key: &str| {
        let found: Vec<Posting> = index.streets(borough, key).collect();
        assert_eq!(found.len(), 1, "{key}");
        found[0]
    };
    let americas = one(Borough::Manhattan, "AVENUEOFTHEAMERICAS");
    assert_eq!(
        index.street_name(americas.street, americas.group),
        "6 AVENUE"
    );
    let sixth = one(Borough::Manhattan, "6AVENUE");
    assert_eq!(
        (sixth.street, sixth.group),
        (americas.street, americas.group)
    );
    assert!(sixth.shown && !americas.shown);
    // Marble Hill's streets have the Bronx's codes and Manhattan's lots, or the other way round.
    assert!(one(Borough::Manhattan, "MARBLEHILLAVENUE").across);
    assert!(!one(Borough::Bronx, "MARBLEHILLAVENUE").across);
    assert!(one(Borough::Bronx, "WEST225STREET").across);
    assert!(one(Borough::Queens, "HAZENSTREET").across);
    let powell = one(Borough::Manhattan, "ADAMCPOWELLBOULEVARD");
    assert_eq!(
        index.street_name(powell.street, powell.group),
        "ADAM CLAYTON POWELL BOULEVARD"
    );
    assert_eq!(index.streets(Borough::Queens, "6AVENUE").count(), 0);
    // A front-truncated name is no name.
    assert_eq!(index.streets(Borough::Manhattan, "146STREET").count(), 0);
}

#[test]
fn without_a_dictionary_the_names_of_the_rows_are_the_streets() {
    let pad = traps();
    let (index, _) = PadIndex::read(
        pad.addresses().as_bytes(),
        pad.lots_file().as_bytes(),
        None::<&[u8]>,
    )
    .unwrap();
    assert_eq!(index.streets(Borough::Manhattan, "6AVENUE").count(), 1);
    assert_eq!(
        index
            .streets(Borough::Manhattan, "AVENUEOFTHEAMERICAS")
            .count(),
        0
    );
}

#[test]
fn condominium_units_lead_to_their_billing_lot() {
    let index = traps().build();
    let number = |bbl: &str| bbl_number(bbl.parse().unwrap());
    assert_eq!(
        index.billing_of_unit(number("1000451050")),
        Some(number("1000457501"))
    );
    assert_eq!(index.billing_of_unit(number("1000451051")), None);
    assert_eq!(index.billings_of_base(number("1000930020")).count(), 2);
    // The row's unit lot is not the building's.
    assert_eq!(index.buildings_of(number("1000451002")).count(), 0);
    assert_eq!(index.buildings_of(number("1000457501")).count(), 1);
    assert!(index.has_lot(number("1000457501")));
}

#[test]
fn placeholders_join_nothing() {
    let index = traps().build();
    let island = bbl_number("1000010010".parse().unwrap());
    let bins: Vec<u32> = index.buildings_of(island).map(|(_, b)| b.bin).collect();
    assert_eq!(bins.iter().filter(|bin| **bin == 0).count(), 1);
    assert!(bins.contains(&1_089_621), "a building without an address");
    assert!(bins.contains(&1_086_338), "a building behind a blank wall");
}

#[test]
fn a_saved_index_opens_and_answers_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pad.index");
    let built = traps().build();
    built.save(&path).unwrap();
    let mapped = PadIndex::open(&path).unwrap();
    mapped.verify().unwrap();
    assert_eq!(mapped.size(), built.size());
    let bin = "1015862".parse().unwrap();
    assert_eq!(
        mapped.by_bin(bin).collect::<Vec<_>>(),
        built.by_bin(bin).collect::<Vec<_>>()
    );
    // Replacing the file leaves the open one as it was.
    let mut other = Pad::default();
    other.at("1008350041", "1015862", "350", "5 AVENUE", "10118");
    other.build().save(&path).unwrap();
    mapped.verify().unwrap();
    assert!(PadIndex::open(&path).unwrap().size() < mapped.size());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside the index");
}

#[test]
fn a_damaged_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pad.index");
    traps().build().save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let open = |bytes: &[u8]| {
        let path = folder.path().join("changed.index");
        std::fs::write(&path, bytes).unwrap();
        PadIndex::open(&path)
    };
    assert!(matches!(
        open(&bytes[..bytes.len() - 1]),
        Err(PadError::Damaged(_))
    ));
    assert!(matches!(
        open(&[]),
        Err(PadError::Damaged(_) | PadError::Io(_))
    ));
    assert!(matches!(open(b"BRNSPAD\x02"), Err(PadError::Damaged(_))));
    let mut header = bytes.clone();
    header[30] ^= 1;
    assert!(matches!(open(&header), Err(PadError::Damaged(_))));
    let mut body = bytes;
    let middle = body.len() / 2;
    body[middle] ^= 1;
    let opened = open(&body).unwrap();
    assert!(matches!(opened.verify(), Err(PadError::Damaged(_))));
}

#[test]
fn bad_lines_are_counted_and_named_up_to_one_in_a_thousand() {
    let mut pad = Pad::default();
    for number in 0..2000 {
        pad.at(
            "1008350041",
            "1015862",
            &(number + 1).to_string(),
            "5 AVENUE",
            "10118",
        );
    }
    pad.rows.insert(5, "rubbish".to_owned());
    pad.rows
        .insert(9, pad.rows[0].replace("\"1015862\"", "\"12\""));
    let (_, stats) = pad.build_with_stats();
    assert_eq!(stats.bad_lines, 2);
    assert_eq!(stats.rows, 2000);
    let lines: Vec<u64> = stats.bad_line_samples.iter().map(|b| b.line).collect();
    assert_eq!(lines, [7, 11]);
    assert_eq!(
        stats.bad_line_samples[1].to_string(),
        "bobaadr.txt line 11: no building number"
    );
    for _ in 0..30 {
        pad.rows.push("rubbish".to_owned());
    }
    let read = PadIndex::read(
        pad.addresses().as_bytes(),
        pad.lots_file().as_bytes(),
        None::<&[u8]>,
    );
    assert!(matches!(
        read,
        Err(PadError::TooManyBadLines {
            bad: 32,
            file: "bobaadr.txt",
            ..
        })
    ));
}

#[test]
fn files_of_another_layout_are_refused_by_name() {
    let pad = traps();
    let addresses = pad.addresses();
    let lots = pad.lots_file();
    let read = |addresses: &str, lots: &str, dictionary: Option<&str>| {
        PadIndex::read(
            addresses.as_bytes(),
            lots.as_bytes(),
            dictionary.map(str::as_bytes),
        )
        .map(|_| ())
        .unwrap_err()
        .to_string()
    };
    assert!(
        read(&addresses.replacen("stname", "name", 1), &lots, None).contains("no column stname")
    );
    assert!(read(&addresses, &addresses, None).contains("bobabbl.txt"));
    assert!(read(testing::ADDRESS_HEADER, &lots, None).contains("no address"));
    assert!(read(&addresses, &lots, Some("a\nb\nc\n")).contains("snd"));
}

#[test]
fn a_release_of_blank_walls_alone_is_refused() {
    let mut pad = Pad::default();
    let read = |pad: &Pad| {
        PadIndex::read(
            pad.addresses().as_bytes(),
            pad.lots_file().as_bytes(),
            None::<&[u8]>,
        )
    };
    for kind in ["", "B", "W", "F"] {
        if !kind.is_empty() {
            pad.typed(kind, "1000010010", "1089621", "", "ANDES ROAD", "");
        }
        let refused = read(&pad).map(|(_, stats)| stats.rows).unwrap_err();
        assert!(refused.to_string().contains("no address"), "{refused}");
    }
    pad.typed("N", "1000010010", "1086428", "", "CASTLE WILLIAMS", "10004");
    assert_eq!(read(&pad).unwrap().1.rows, 1);
}

#[test]
fn a_folder_needs_both_files() {
    let folder = tempfile::tempdir().unwrap();
    let pad = traps();
    assert!(matches!(
        PadIndex::open_dir(folder.path()),
        Err(PadError::Missing("bobaadr.txt"))
    ));
    std::fs::write(folder.path().join("BOBAADR.txt"), pad.addresses()).unwrap();
    assert!(matches!(
        PadIndex::open_dir(folder.path()),
        Err(PadError::Missing("bobabbl.txt"))
    ));
    std::fs::write(folder.path().join("bobabbl.txt"), pad.lots_file()).unwrap();
    let (without, _) = PadIndex::open_dir(folder.path()).unwrap();
    std::fs::write(folder.path().join("snd26Ccow.txt"), pad.dictionary_file()).unwrap();
    let (with, stats) = PadIndex::open_dir(folder.path()).unwrap();
    assert_eq!(stats.bad_lines, 0);
    assert!(with.size() > without.size());
}

/// The hundred rows of a real release that a public repository holds.
#[test]
fn the_rows_of_a_real_release_are_read() {
    let Some(path) = crate::at_hand::real_data("pad/bobaadr_19a_sample.txt") else {
        return;
    };
    let file = std::fs::File::open(path).unwrap();
    let mut pad = Pad::default();
    pad.lot("1000010010");
    let (index, stats) = PadIndex::read(file, pad.lots_file().as_bytes(), None::<&[u8]>).unwrap();
    assert_eq!(stats.bad_lines, 0, "{:?}", stats.bad_line_samples);
    assert!(stats.rows >= 75, "{stats:?}");
    let road = index
        .streets(Borough::Manhattan, "BARRYROAD")
        .next()
        .unwrap();
    let at = |sort: &str| -> Vec<u32> {
        index
            .rows_at(road.street, HouseKey::from_sort_format(sort).unwrap())
            .map(|(_, row)| index.building(row.building).bin)
            .collect()
    };
    assert_eq!(at("000012000NB"), [1_086_350]);
    assert_eq!(at("000012000MC"), [] as [u32; 0]);
    assert_eq!(at("000092000AA"), [1_086_355]);
    assert_eq!(index.by_bin("1086428".parse().unwrap()).count(), 1);
}

#[test]
fn unpadded_files_are_read_too() {
    let addresses = "boro,block,lot,bin,lhnd,lhns,lcontpar,lsos,hhnd,hhns,hcontpar,hsos,scboro,sc5,sclgc,stname,addrtype,realb7sc,validlgcs,dapsflag,naubflag,parity,b10sc,segid,zipcode,physical_id\n1,1,10,1086331,111A,000111000MB,R,R,111D,000111000ME,R,R,1,11730,1,ANDESROAD,,,1,,,1,11173001010,118602,10004,82438\n";
    let mut pad = Pad::default();
    pad.lot("1000010010");
    let (index, stats) = PadIndex::read(
        addresses.as_bytes(),
        pad.lots_file().as_bytes(),
        None::<&[u8]>,
    )
    .unwrap();
    assert_eq!((stats.rows, stats.bad_lines), (1, 0));
    assert_eq!(index.streets(Borough::Manhattan, "ANDESROAD").count(), 1);
}

proptest! {
    #[test]
    fn no_file_panics(addresses in "\\PC{0,300}", lots in "\\PC{0,300}", dictionary in "[\\PC\\n]{0,400}") {
        let _ = PadIndex::read(addresses.as_bytes(), lots.as_bytes(), Some(dictionary.as_bytes()));
        let addresses = format!("{}\r\n{addresses}", testing::ADDRESS_HEADER);
        let lots = format!("{}\r\n{lots}", testing::LOT_HEADER);
        let _ = PadIndex::read(addresses.as_bytes(), lots.as_bytes(), Some(dictionary.as_bytes()));
    }

    #[test]
    fn no_damaged_body_panics(place in 0.0_f64..1.0, byte: u8) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pad.index");
        traps().build().save(&path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        // Records only: the map of names is checked by its own sum before it is trusted.
        let names = traps().build().size() / 2;
        let at = format::HEADER + ((names - format::HEADER) as f64 * place) as usize;
        bytes[at] = byte;
        std::fs::write(&path, bytes).unwrap();
        if let Ok(index) = PadIndex::open(&path) {
            let _ = index.by_bin("1015862".parse().unwrap()).count();
            let _ = index.has_lot(1_008_350_041);
            for posting in index.streets(Borough::Manhattan, "5AVENUE") {
                let _ = index.street_name(posting.street, posting.group);
                let _ = index.rows_at(posting.street, HouseKey::from_bits(0)).count();
            }
        }
    }

    #[test]
    fn a_search_by_number_finds_what_a_scan_finds(
        ranges in proptest::collection::vec((1_u32..60, 0_u32..20, 0_u32..9), 1..40),
        wanted in 1_u32..80,
    ) {
        let mut pad = Pad::default();
        for (low, span, building) in &ranges {
            let bin = format!("10000{:02}", building + 10);
            pad.row(&Row::new(
                "1008350041",
                &bin,
                (&low.to_string(), &(low + span).to_string()),
                "5 AVENUE",
                "10118",
            ));
        }
        let index = pad.build();
        let street = index.streets(Borough::Manhattan, "5AVENUE").next().unwrap().street;
        let key = HouseKey::from_sort_format(&sort_format(&wanted.to_string())).unwrap();
        let mut found: Vec<u32> = index.rows_at(street, key).map(|(at, _)| at).collect();
        found.sort_unstable();
        let scanned: Vec<u32> = index
            .rows_of(street)
            .filter(|(_, row)| key.is_in(row.low, row.high))
            .map(|(at, _)| at)
            .collect();
        prop_assert_eq!(found, scanned);
    }
}
