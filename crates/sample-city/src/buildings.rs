//! The city's buildings: real ones, by identifier and address. What stands here about them beyond that is made up.

use std::sync::LazyLock;

use brownstone_domain::{Bbl, Bin, Borough};
use serde::Deserialize;

use crate::seed::Seed;

/// A building, or a lot without one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Building {
    pub(crate) bbl: Bbl,
    /// `None` where the address directory has none.
    pub(crate) bin: Option<Bin>,
    pub(crate) house_number: String,
    pub(crate) street: String,
    pub(crate) zip: String,
    /// Degrees as text, so that they stay as they are.
    pub(crate) latitude: String,
    pub(crate) longitude: String,
    pub(crate) community_district: String,
    pub(crate) council_district: String,
    pub(crate) census_tract: String,
    pub(crate) neighborhood: String,
    pub(crate) floors: u64,
    pub(crate) units: u64,
    pub(crate) year_built: u64,
    pub(crate) class: String,
    pub(crate) kind: BuildingKind,
    /// The condominium on the lot.
    pub(crate) condominium: Option<Condominium>,
}

/// How much the record holds of a building.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BuildingKind {
    /// One of those that the tests and the documents name: nearly every dataset has records of it.
    Named,
    Ordinary,
    /// Nothing but its lot in PLUTO, the address directory and the maps.
    PlutoOnly,
}

/// A condominium: it bills on one lot, stands on others, and each unit has its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condominium {
    /// The lots of the ground.
    pub(crate) base: Vec<Bbl>,
    /// Unique inside its borough.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) units: Vec<Unit>,
}

/// A unit with a lot of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unit {
    pub(crate) bbl: Bbl,
    pub(crate) designation: String,
}

impl Building {
    pub(crate) fn borough(&self) -> Borough {
        self.bbl.borough()
    }
}

/// One row of the address directory: a range of numbers on one street of one building.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Address {
    pub(crate) bbl: Bbl,
    /// Seven digits; the borough's "million" where there is none.
    pub(crate) bin: String,
    pub(crate) low: String,
    pub(crate) high: String,
    pub(crate) street: String,
    pub(crate) zip: String,
    /// As in the directory: blank, `V`, `R`, `Q`, `N`, `W`, ...
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Borough and five digits: one street with all its names.
    pub(crate) street_code: String,
    /// The street where the entrance really is.
    pub(crate) real_street_code: String,
}

#[derive(Deserialize)]
struct BuildingRow {
    bbl: Bbl,
    bin: Option<Bin>,
    house_number: String,
    street: String,
    zip: String,
    latitude: String,
    longitude: String,
    community_district: String,
    council_district: String,
    census_tract: String,
    neighborhood: String,
    floors: Option<u64>,
    units: Option<u64>,
    year_built: Option<u64>,
    building_class: String,
    kind: BuildingKind,
}

#[derive(Deserialize)]
struct CondominiumRow {
    billing_bbl: Bbl,
    base_bbl: Bbl,
    number: u32,
    name: String,
    first_unit_lot: u16,
    units: String,
}

/// The tables are part of the program; a test reads them all, so a bad one never ships.
#[allow(clippy::expect_used)]
fn rows<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .collect::<Result<_, _>>()
        .expect("the crate's own table reads")
}

static BUILDINGS: LazyLock<Vec<Building>> = LazyLock::new(|| {
    let condominiums: Vec<CondominiumRow> = rows(include_str!("../data/condominiums.csv"));
    (rows(include_str!("../data/buildings.csv")).into_iter())
        .map(|row: BuildingRow| building(row, &condominiums))
        .collect()
});

static ADDRESSES: LazyLock<Vec<Address>> =
    LazyLock::new(|| rows(include_str!("../data/addresses.csv")));

/// All buildings, the named ones first.
pub(crate) fn buildings() -> &'static [Building] {
    &BUILDINGS
}

/// All rows of the address directory.
pub(crate) fn addresses() -> &'static [Address] {
    &ADDRESSES
}

fn building(row: BuildingRow, condominiums: &[CondominiumRow]) -> Building {
    const CLASSES: [&str; 8] = ["A1", "B1", "C0", "C1", "C7", "D1", "D4", "S2"];
    let mut seed = Seed::new(&[b"building", row.bbl.to_string().as_bytes()]);
    let units = [1, 2, 3, 6, 10, 24, 48, 96];
    let pick = seed.below(units.len() as u64) as usize;
    let class = CLASSES.get(pick).copied().unwrap_or("C1");
    let made_up_units = units.get(pick).copied().unwrap_or(1);
    let floors = 1 + made_up_units.min(20) / 4 + seed.below(3);
    let year = 1899 + seed.below(110);
    let condominium = condominium(row.bbl, condominiums);
    let class = if condominium.is_some() { "R4" } else { class };
    Building {
        condominium,
        bbl: row.bbl,
        bin: row.bin,
        house_number: row.house_number,
        street: row.street,
        zip: row.zip,
        latitude: row.latitude,
        longitude: row.longitude,
        community_district: row.community_district,
        council_district: row.council_district,
        census_tract: row.census_tract,
        neighborhood: row.neighborhood,
        floors: row.floors.unwrap_or(floors),
        units: row.units.unwrap_or(made_up_units),
        year_built: row.year_built.unwrap_or(year),
        class: if row.building_class.is_empty() {
            class.to_owned()
        } else {
            row.building_class
        },
        kind: row.kind,
    }
}

fn condominium(billing: Bbl, rows: &[CondominiumRow]) -> Option<Condominium> {
    let of_this: Vec<&CondominiumRow> = (rows.iter())
        .filter(|row| row.billing_bbl == billing)
        .collect();
    let first = of_this.first()?;
    let units = (first.units.split_whitespace().enumerate())
        .filter_map(|(at, designation)| {
            let lot = first.first_unit_lot + u16::try_from(at).ok()?;
            Some(Unit {
                bbl: Bbl::new(billing.borough(), billing.block(), lot).ok()?,
                designation: designation.to_owned(),
            })
        })
        .collect();
    Some(Condominium {
        base: of_this.iter().map(|row| row.base_bbl).collect(),
        number: first.number,
        name: first.name.clone(),
        units,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn find(bin: &str) -> &'static Building {
        let bin: Bin = bin.parse().expect("a BIN");
        (buildings().iter())
            .find(|building| building.bin == Some(bin))
            .expect("in the city")
    }

    #[test]
    fn the_named_buildings_are_there_exactly() {
        for (bin, address, zip, bbl) in [
            ("1015862", "350 5 AVENUE", "10118", "1008350041"),
            ("1001026", "120 BROADWAY", "10271", "1000477501"),
            ("1057127", "280 RIVERSIDE DRIVE", "10025", "1018890001"),
            ("2097543", "2121 EASTCHESTER ROAD", "10461", "2042050001"),
            (
                "2097546",
                "1401 PELHAM PARKWAY SOUTH",
                "10461",
                "2042050001",
            ),
            ("2117344", "700 BROOK AVENUE", "10455", "2023597501"),
            ("3340270", "1279 37 STREET", "11218", "3052960043"),
            ("3123204", "1279 GARAGE 37 STREET", "11218", "3052960043"),
            ("3231074", "1065 EAST 99 STREET", "11236", "3082260013"),
            ("4001899", "43-06 46 STREET", "11104", "4001600029"),
            ("4189606", "103-12 97 STREET", "11417", "4091190011"),
            ("5050009", "335 GARRETSON AVENUE", "10305", "5033780070"),
        ] {
            let building = find(bin);
            assert_eq!(
                format!("{} {}", building.house_number, building.street),
                address
            );
            assert_eq!(building.zip, zip, "{address}");
            assert_eq!(building.bbl.to_string(), bbl, "{address}");
            assert_eq!(building.kind, BuildingKind::Named);
        }
    }

    #[test]
    fn some_two_hundred_buildings_each_once_and_each_with_an_address() {
        assert!((190..=230).contains(&buildings().len()));
        let bins: Vec<Bin> = buildings()
            .iter()
            .filter_map(|building| building.bin)
            .collect();
        assert_eq!(bins.iter().collect::<HashSet<_>>().len(), bins.len());
        assert_eq!(buildings().len() - bins.len(), 1, "one building has no BIN");
        for building in buildings() {
            let of_it = addresses().iter().any(|address| {
                address.bbl == building.bbl
                    && address.low == building.house_number
                    && address.street == building.street
            });
            assert!(of_it, "{building:?}");
        }
        let only_pluto = (buildings().iter())
            .filter(|building| building.kind == BuildingKind::PlutoOnly)
            .count();
        assert_eq!(only_pluto, 1);
    }

    #[test]
    fn every_billing_lot_has_a_condominium_with_units_of_its_own() {
        for building in buildings() {
            let billing = building.bbl.lot() >= 7_501;
            assert_eq!(building.condominium.is_some(), billing, "{}", building.bbl);
        }
        let broadway = find("1001026").condominium.as_ref().expect("a condominium");
        let units: Vec<_> = broadway
            .units
            .iter()
            .map(|unit| unit.designation.as_str())
            .collect();
        assert!(units.contains(&"4C") && units.contains(&"5C"));
        assert_eq!(
            broadway
                .units
                .first()
                .map(|unit| unit.bbl.to_string())
                .as_deref(),
            Some("1000471001")
        );
    }
}
