//! The collected cases against a city made from their own facts and from confusers, so that a wrong building is there
//! to be picked: each number and street in the other boroughs too, the twins in the East and the West, the numbers two
//! above and two below on other lots, and garages and rear buildings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::Arc,
};

use super::*;
use crate::{
    house::HouseKey,
    pad::testing::{Pad, Row},
};

struct Case {
    input: String,
    number: String,
    street: String,
    borough: String,
    zip: String,
    bbl: String,
    bin: String,
    kind: String,
}

fn cases() -> Vec<Case> {
    let text = include_str!("../../tests/data/address-cases.csv");
    csv::Reader::from_reader(text.as_bytes())
        .records()
        .map(|record| {
            let record = record.unwrap();
            let field = |at: usize| record[at].trim().to_owned();
            Case {
                input: field(0),
                number: field(1),
                street: field(2),
                borough: field(3),
                zip: field(4),
                bbl: field(5),
                bin: field(6),
                kind: field(7),
            }
        })
        .collect()
}

/// A ZIP of each borough that few cases have.
const OTHER_ZIPS: [&str; 5] = ["10044", "10474", "11239", "11109", "10309"];

struct City {
    pad: Pad,
    next: u32,
    /// Numbers of real buildings, which no confuser may take.
    taken: BTreeSet<(char, String, String)>,
}

impl City {
    fn invented(&mut self, borough: char) -> (String, String) {
        self.next += 1;
        (
            format!(
                "{borough}{:05}{:04}",
                90_000 + self.next / 9_000,
                1 + self.next % 9_000
            ),
            format!("{borough}7{:05}", self.next),
        )
    }

    fn confuser(&mut self, borough: char, number: &str, street: &str) {
        let key = (borough, number.to_owned(), street.to_owned());
        if HouseKey::from_shown(number).is_none() || !self.taken.insert(key) {
            return;
        }
        let (bbl, bin) = self.invented(borough);
        let zip = OTHER_ZIPS[borough.to_digit(10).unwrap() as usize - 1];
        self.pad.at(&bbl, &bin, number, street, zip);
    }
}

/// The number two further on, or back.
fn moved(number: &str, by: i32) -> Option<String> {
    let key = HouseKey::from_shown(number)?;
    let shift = |value: u32| value.checked_add_signed(by).filter(|v| *v > 0);
    let suffix = key.suffix().text();
    let suffix = if suffix.len() > 1 {
        format!(" {suffix}")
    } else {
        suffix.to_owned()
    };
    if key.is_hyphenated() {
        Some(format!("{}-{:02}{suffix}", key.left(), shift(key.right())?))
    } else {
        Some(format!("{}{suffix}", shift(key.left())?))
    }
}

fn twin(street: &str) -> Option<String> {
    street
        .strip_prefix("EAST ")
        .map(|rest| format!("WEST {rest}"))
        .or_else(|| {
            street
                .strip_prefix("WEST ")
                .map(|rest| format!("EAST {rest}"))
        })
}

/// The number as the files would show it.
fn shown(number: &str) -> String {
    let number = number
        .replace("2 B GARAGE", "2 GARAGE")
        .replace("165 BA", "165");
    match number.split_once(' ') {
        Some((digits, letter)) if letter.len() == 1 => format!("{digits}{letter}"),
        _ => number,
    }
}

fn city(cases: &[Case]) -> Resolver {
    let mut city = City {
        pad: Pad::default(),
        next: 0,
        taken: BTreeSet::new(),
    };
    // What the files hold, by the facts at hand: only these are real.
    let stands = |case: &&Case| {
        !matches!(
            case.kind.as_str(),
            "outside" | "unresolvable" | "intersection" | "ambiguous" | "id"
        ) && !case.number.is_empty()
            && !case.street.is_empty()
            && !case.borough.is_empty()
            && HouseKey::from_shown(&shown(&case.number)).is_some()
    };
    let real: Vec<&Case> = cases.iter().filter(stands).collect();
    let mut lots: BTreeMap<(char, String, String), (String, String, String)> = BTreeMap::new();
    for case in &real {
        let borough = case.borough.chars().next().unwrap();
        let key = (borough, shown(&case.number), case.street.clone());
        let known = lots.get(&key).is_some_and(|(_, bin, _)| !bin.is_empty());
        if !known {
            lots.insert(key, (case.bbl.clone(), case.bin.clone(), case.zip.clone()));
        }
    }
    for ((borough, number, street), (bbl, bin, zip)) in &lots {
        let (new_bbl, new_bin) = city.invented(*borough);
        let bbl = if bbl.is_empty() { &new_bbl } else { bbl };
        let bin = if bin.is_empty() { &new_bin } else { bin };
        city.pad
            .row(&Row::new(bbl, bin, (number, number), street, zip));
        city.taken
            .insert((*borough, number.clone(), street.clone()));
        city.pad
            .alias(*borough, "6 AVENUE", "AVENUE OF THE AMERICAS");
    }
    for case in cases
        .iter()
        .filter(|c| c.kind == "place" && c.number.is_empty() && !c.bin.is_empty())
    {
        city.pad
            .typed("N", &case.bbl, &case.bin, "", &case.street, &case.zip);
    }
    city.pad
        .alias('1', "7 AVENUE", "ADAM CLAYTON POWELL JR BOULEVARD");
    let keys: Vec<_> = lots.keys().cloned().collect();
    for (borough, number, street) in &keys {
        for other in '1'..='5' {
            if other != *borough {
                city.confuser(other, number, street);
            }
        }
        for by in [2, -2] {
            if let Some(number) = moved(number, by) {
                city.confuser(*borough, &number, street);
            }
        }
        if let Some(street) = twin(street) {
            city.confuser(*borough, number, &street);
        }
        if HouseKey::from_shown(number).is_some_and(|k| k.suffix().is_none()) {
            city.confuser(*borough, &format!("{number} REAR"), street);
            city.confuser(*borough, &format!("{number} GARAGE"), street);
        }
    }
    Resolver::new(Arc::new(city.pad.build()))
}

#[derive(Default)]
struct Score {
    right: usize,
    refused: Vec<String>,
    wrong: Vec<String>,
}

#[test]
fn no_case_leads_to_a_wrong_building() {
    let cases = cases();
    let resolver = city(&cases);
    let mut by_kind: BTreeMap<&str, Score> = BTreeMap::new();
    let mut all = Score::default();
    for case in cases.iter().filter(|case| !case.bin.is_empty()) {
        let score = by_kind.entry(&case.kind).or_default();
        match resolver.resolve(&case.input) {
            Ok(resolved) => {
                let bin = resolved
                    .building
                    .bin
                    .map(|b| b.to_string())
                    .unwrap_or_default();
                if bin == case.bin {
                    score.right += 1;
                    all.right += 1;
                } else {
                    let line = resolved.building.one_line();
                    all.wrong.push(format!("{} -> {bin} {line}", case.input));
                    score.wrong.push(case.input.clone());
                }
            }
            Err(error) => {
                all.refused.push(format!("{}: {error}", case.input));
                score.refused.push(case.input.clone());
            }
        }
    }
    let total = all.right + all.refused.len() + all.wrong.len();
    let mut report = String::from("kind | right | refused | wrong\n");
    for (kind, score) in &by_kind {
        let _ = writeln!(
            report,
            "{kind} | {} | {} | {}",
            score.right,
            score.refused.len(),
            score.wrong.len()
        );
    }
    let _ = writeln!(
        report,
        "refused: {:#?}\nwrong: {:#?}",
        all.refused, all.wrong
    );
    assert!(total > 150, "{report}");
    assert!(all.wrong.is_empty(), "{report}");
    assert!(all.right * 100 >= total * 97, "{report}");
    print(&report);
}

#[test]
fn places_outside_and_addresses_that_are_none_are_told_apart() {
    let cases = cases();
    let resolver = city(&cases);
    let mut faults = Vec::new();
    let mut total = 0;
    for case in &cases {
        let answer = resolver.resolve(&case.input);
        let right = match case.kind.as_str() {
            "outside" => matches!(answer, Err(ResolveError::OutsideCoverage(_))),
            "unresolvable" | "intersection" => matches!(answer, Err(ResolveError::NotFound(_))),
            _ => continue,
        };
        total += 1;
        if !right {
            faults.push(format!("{} [{}]: {answer:?}", case.input, case.kind));
        }
    }
    let report = format!("{} of {total}\n{}", total - faults.len(), faults.join("\n"));
    assert!((total - faults.len()) * 100 >= total * 95, "{report}");
    print(&report);
}

#[test]
fn ambiguous_cases_are_not_answered_with_one_confident_building() {
    let cases = cases();
    let resolver = city(&cases);
    let confident: Vec<String> = cases
        .iter()
        .filter(|case| case.kind == "ambiguous")
        .filter_map(|case| {
            let resolved = resolver.resolve(&case.input).ok()?;
            resolved
                .warnings
                .is_empty()
                .then(|| format!("{}: {}", case.input, resolved.building.one_line()))
        })
        .collect();
    assert!(confident.is_empty(), "{confident:#?}");
}

/// Shown with `--nocapture`.
#[allow(clippy::print_stdout)]
fn print(text: &str) {
    println!("{text}");
}
