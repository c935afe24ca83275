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
    where_from: String,
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
                where_from: field(8),
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

/// The city, and which building stands at each number that is not a confuser's.
struct Made {
    resolver: Resolver,
    bins: BTreeMap<(char, String, String), String>,
}

impl Made {
    /// The BIN that a case must lead to; `None` where its facts name no building.
    fn expected<'c>(&'c self, case: &'c Case) -> Option<&'c str> {
        if matches!(
            case.kind.as_str(),
            "outside" | "unresolvable" | "intersection" | "ambiguous"
        ) {
            return None;
        }
        if !case.bin.is_empty() {
            return Some(&case.bin);
        }
        let borough = case.borough.chars().next()?;
        let key = (borough, shown(&case.number), case.street.clone());
        self.bins.get(&key).map(String::as_str)
    }
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
    match number.split_once(' ') {
        Some((digits, letter)) if letter.len() == 1 => format!("{digits}{letter}"),
        _ => number.to_owned(),
    }
}

fn city(cases: &[Case]) -> Made {
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
            // The files have a ZIP where the case has none: those of Marble Hill and Rikers Island.
            let shared = match (borough, case.where_from.as_str()) {
                ('1', text) if text.contains("Marble Hill") => "10463",
                ('2', text) if text.contains("Rikers") => "11370",
                _ => &case.zip,
            };
            lots.insert(key, (case.bbl.clone(), case.bin.clone(), shared.to_owned()));
        }
    }
    let mut bins = BTreeMap::new();
    for ((borough, number, street), (bbl, bin, zip)) in &lots {
        let (new_bbl, new_bin) = city.invented(*borough);
        let bbl = if bbl.is_empty() { &new_bbl } else { bbl };
        let bin = if bin.is_empty() { &new_bin } else { bin };
        city.pad
            .row(&Row::new(bbl, bin, (number, number), street, zip));
        bins.insert((*borough, number.clone(), street.clone()), bin.clone());
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
    // Made-up numbers, which no confuser may hide.
    for case in cases
        .iter()
        .filter(|c| c.kind == "unresolvable" && !c.number.is_empty() && !c.bbl.is_empty())
    {
        let placeholder = format!("{}000000", case.borough);
        city.pad.typed(
            "Q",
            &case.bbl,
            &placeholder,
            &case.number,
            &case.street,
            &case.zip,
        );
        let borough = case.borough.chars().next().unwrap();
        city.taken
            .insert((borough, case.number.clone(), case.street.clone()));
    }
    // Over a line between boroughs people type the other one: there, no confuser stands.
    let over_the_line = |borough: char, other: char, street: &str| {
        let name = match (borough, other) {
            ('1', '2') => "BRONX",
            ('2', '4') => "QUEENS",
            _ => return false,
        };
        cases.iter().any(|case| {
            case.borough.starts_with(borough)
                && case.street == street
                && case.input.to_uppercase().ends_with(name)
        })
    };
    let keys: Vec<_> = lots.keys().cloned().collect();
    for (borough, number, street) in &keys {
        for other in '1'..='5' {
            if other != *borough && !over_the_line(*borough, other, street) {
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
    Made {
        resolver: Resolver::new(Arc::new(city.pad.build())),
        bins,
    }
}

/// What came of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The building that the facts name.
    Right,
    /// None, where there is one.
    Refused,
    /// Another building.
    Wrong,
    /// No building, and told apart rightly: outside, not found, ambiguous.
    Classified,
    /// No building is expected; the answer is of another kind.
    Misclassified,
}

/// A case with its outcome, and what was answered.
struct Judged<'c> {
    case: &'c Case,
    outcome: Outcome,
    answer: String,
}

fn judge<'c>(made: &Made, case: &'c Case) -> Option<Judged<'c>> {
    let answer = made.resolver.resolve(&case.input);
    let outcome = match (made.expected(case), &answer) {
        (Some(bin), Ok(resolved)) => {
            if resolved.building.bin.is_some_and(|b| b.to_string() == bin) {
                Outcome::Right
            } else {
                Outcome::Wrong
            }
        }
        (Some(_), Err(_)) => Outcome::Refused,
        (None, answer) => {
            let right = match case.kind.as_str() {
                "outside" => matches!(answer, Err(ResolveError::OutsideCoverage(_))),
                "unresolvable" | "intersection" => matches!(answer, Err(ResolveError::NotFound(_))),
                // Not one building as if it were certain.
                "ambiguous" => !answer.as_ref().is_ok_and(|r| r.warnings.is_empty()),
                _ => return None,
            };
            if right {
                Outcome::Classified
            } else {
                Outcome::Misclassified
            }
        }
    };
    let answer = match answer {
        Ok(resolved) => format!(
            "{} {}",
            resolved.building.one_line(),
            resolved.warnings.join(" ")
        ),
        Err(error) => error.to_string(),
    };
    Some(Judged {
        case,
        outcome,
        answer,
    })
}

fn judged<'c>(made: &Made, cases: &'c [Case]) -> Vec<Judged<'c>> {
    cases.iter().filter_map(|case| judge(made, case)).collect()
}

fn of<'j>(all: &'j [Judged<'_>], outcome: Outcome) -> Vec<&'j Judged<'j>> {
    all.iter()
        .filter(|judged| judged.outcome == outcome)
        .collect()
}

fn lines(all: &[&Judged<'_>]) -> String {
    all.iter().fold(String::new(), |mut text, judged| {
        let _ = writeln!(
            text,
            "{} [{}]: {}",
            judged.case.input, judged.case.kind, judged.answer
        );
        text
    })
}

#[test]
fn no_case_leads_to_a_wrong_building() {
    let cases = cases();
    let all = judged(&city(&cases), &cases);
    let (right, refused, wrong) = (
        of(&all, Outcome::Right),
        of(&all, Outcome::Refused),
        of(&all, Outcome::Wrong),
    );
    assert!(right.len() > 400, "{}", right.len());
    assert!(wrong.is_empty(), "{}", lines(&wrong));
    let with_bin = |all: &[&Judged<'_>]| all.iter().filter(|j| !j.case.bin.is_empty()).count();
    let (right, refused_known) = (with_bin(&right), with_bin(&refused));
    assert!(right > 150);
    assert!(
        right * 100 >= (right + refused_known) * 97,
        "{}",
        lines(&refused)
    );
}

#[test]
fn places_outside_and_addresses_that_are_none_are_told_apart() {
    let cases = cases();
    let all = judged(&city(&cases), &cases);
    let faults = of(&all, Outcome::Misclassified);
    let total = of(&all, Outcome::Classified).len() + faults.len();
    assert!(total > 70, "{total}");
    assert!(
        (total - faults.len()) * 100 >= total * 95,
        "{}",
        lines(&faults)
    );
    // Above all, nothing ambiguous is one confident building.
    assert!(
        faults.iter().all(|j| j.case.kind != "ambiguous"),
        "{}",
        lines(&faults)
    );
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/address-quality.md");

/// Set to write the page anew instead of comparing it.
const WRITE: &str = "BROWNSTONE_WRITE_PAGES";

fn page(cases: &[Case]) -> String {
    let made = city(cases);
    let all = judged(&made, cases);
    let mut page = format!(
        "# How well addresses are resolved

The collected cases (`crates/address/tests/data/address-cases.csv`: {} texts that people or forms wrote, with what is right) against a
city made of their own facts and of confusers, so that a wrong building is there to be picked: each number and street in the
other boroughs too, twins in the East and the West, the numbers two above and two below on other lots, garages and rear
buildings. A test makes this page and fails when it is out of date, or when one case leads to a wrong building; `{WRITE}=1
cargo test -p brownstone-address --lib quality` writes it anew.

Right: the building that the facts name. Refused: not found or ambiguous where there is one. Classified: no building, and told apart
as the case asks (outside coverage, not found, ambiguous). {} cases that name a street or a place alone are not counted.

| kind | cases | right | refused | wrong | classified | classified wrongly |
|---|---|---|---|---|---|---|
",
        cases.len(),
        cases.len() - all.len(),
    );
    let mut kinds: Vec<&str> = all.iter().map(|judged| judged.case.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let row = |name: &str, of: &dyn Fn(Outcome) -> usize| {
        let counts = [
            Outcome::Right,
            Outcome::Refused,
            Outcome::Wrong,
            Outcome::Classified,
            Outcome::Misclassified,
        ]
        .map(of);
        let total: usize = counts.iter().sum();
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        format!("| {name} | {total} | {} |\n", counts.join(" | "))
    };
    for kind in kinds {
        page += &row(kind, &|outcome| {
            of(&all, outcome)
                .iter()
                .filter(|judged| judged.case.kind == kind)
                .count()
        });
    }
    page += &row("all", &|outcome| of(&all, outcome).len());
    page += &row("with a known BIN", &|outcome| {
        of(&all, outcome)
            .iter()
            .filter(|judged| !judged.case.bin.is_empty())
            .count()
    });
    page += "\n## Misses\n\nEach with its kind and the answer. A text without a borough or a ZIP is ambiguous here by design, since the confusers put its number on the\nsame street in every borough.\n\n";
    for outcome in [Outcome::Wrong, Outcome::Misclassified, Outcome::Refused] {
        for judged in of(&all, outcome) {
            // The candidates are the confusers.
            let answer = judged.answer.split(';').next().unwrap_or_default();
            let _ = writeln!(
                page,
                "- `{}` ({}): {answer}",
                judged.case.input, judged.case.kind
            );
        }
    }
    page
}

#[test]
fn the_page_of_figures_is_up_to_date() {
    let page = page(&cases());
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(PAGE, page).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        kept == page,
        "docs/address-quality.md is out of date; run with {WRITE}=1 to write it"
    );
}
