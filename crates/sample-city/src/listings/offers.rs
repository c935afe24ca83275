//! Which homes of a building are offered.

use super::generate::{Maker, Offer};
use crate::{
    buildings::Building,
    market::{self, Home, Kind},
    seed::Seed,
};

impl Maker {
    pub(super) fn building(&mut self, building: &Building) {
        let garage = building.house_number.ends_with("GARAGE");
        let (first, second) = building.class.split_at(building.class.len().min(1));
        let mut seed = Seed::new(&[b"offers", building.bbl.to_string().as_bytes()]);
        // Manhattan is the densest market.
        let more = u64::from(building.borough().digit() == 1);
        let lease = "Residential Lease";
        match (first, second) {
            _ if garage => {}
            ("A", _) => {
                let row_house = seed.below(4) == 0;
                let types = match row_house {
                    true => ("Residential", "Townhouse"),
                    false => ("Residential", "Single Family Residence"),
                };
                self.whole(building, types, Kind::House, seed.below(2) + 1);
            }
            ("B", _) => {
                self.whole(
                    building,
                    ("Residential Income", "Duplex"),
                    Kind::House,
                    seed.below(2),
                );
                self.apartments(building, (lease, "Duplex"), Kind::House, 1, &mut seed);
            }
            ("C", "0") => {
                self.whole(
                    building,
                    ("Residential Income", "Triplex"),
                    Kind::House,
                    seed.below(2),
                );
                self.apartments(building, (lease, "Triplex"), Kind::House, 1, &mut seed);
            }
            ("D", "4") => {
                let many = seed.below(3) + 1 + more * 2;
                let sale = ("Residential", "Stock Cooperative");
                self.apartments(building, sale, Kind::Coop, many, &mut seed);
                let many = seed.below(2) + more;
                self.apartments(
                    building,
                    (lease, "Stock Cooperative"),
                    Kind::Coop,
                    many,
                    &mut seed,
                );
            }
            ("R", _) => {
                let many = seed.below(3) + 1 + more * 2;
                // Some that call themselves by a word that the dictionary does not have.
                let sale = match seed.below(7) {
                    0 => ("Residential", "Condop"),
                    _ => ("Residential", "Condominium"),
                };
                self.apartments(building, sale, Kind::Condo, many, &mut seed);
                let many = seed.below(2) + 1 + more;
                self.apartments(
                    building,
                    (lease, "Condominium"),
                    Kind::Condo,
                    many,
                    &mut seed,
                );
            }
            ("C" | "D", _) => {
                let many = seed.below(3) + 1 + more * 2;
                self.apartments(
                    building,
                    (lease, "Apartment"),
                    Kind::Building,
                    many,
                    &mut seed,
                );
                let few = u64::from(seed.below(5) == 0);
                let types = match building.units {
                    4 => ("Residential Income", "Quadruplex"),
                    _ => ("Residential Income", "Multi Family"),
                };
                self.whole(building, types, Kind::Building, few);
            }
            ("S", _) => {
                self.whole(
                    building,
                    ("Commercial Sale", "Mixed Use"),
                    Kind::Building,
                    seed.below(2),
                );
                self.apartments(
                    building,
                    (lease, "Apartment"),
                    Kind::Building,
                    1 + more,
                    &mut seed,
                );
            }
            _ => {}
        }
    }

    fn whole(
        &mut self,
        building: &Building,
        types: (&'static str, &'static str),
        kind: Kind,
        many: u64,
    ) {
        for _ in 0..many.min(1) {
            let sqft = market::area(building);
            let homes = building.units.max(1);
            self.slot(&Offer {
                building,
                rental: false,
                types,
                unit: None,
                kind,
                home: Home {
                    floor: 0,
                    bedrooms: 3 * homes.min(40),
                    full_baths: 2 * homes.min(40),
                    half_baths: u64::from(homes == 1),
                    rooms: 6 * homes.min(40),
                    sqft,
                },
            });
        }
    }

    /// So many apartments, no two alike.
    fn apartments(
        &mut self,
        building: &Building,
        types: (&'static str, &'static str),
        kind: Kind,
        many: u64,
        seed: &mut Seed,
    ) {
        let id = building.bbl.to_string();
        let lines = market::lines(building.floors, building.units.max(building.floors * 4));
        let mut taken: Vec<String> = Vec::new();
        for _ in 0..many * 4 {
            if taken.len() as u64 == many {
                return;
            }
            let floor = 1 + seed.below(building.floors.max(1));
            let line = seed.below(lines.len() as u64) as usize;
            let letter = lines.get(line).map_or('A', |line| line.0);
            let unit = format!("{floor}{letter}");
            let Some(home) = market::home(&id, &unit).filter(|_| !taken.contains(&unit)) else {
                continue;
            };
            taken.push(unit.clone());
            self.slot(&Offer {
                building,
                rental: types.0 == "Residential Lease",
                types,
                unit: Some(unit),
                home,
                kind,
            });
        }
    }
}
