//! The lots around the city's buildings: invented neighbours on the same street, so that a building has something to be
//! compared with. Nobody can look them up: they are in the land-use table and in the sales, and in no address directory.

use std::{collections::HashSet, sync::LazyLock};

use brownstone_domain::Bbl;

use super::price::Kind;
use crate::{
    buildings::{Building, BuildingKind, addresses, buildings},
    seed::Seed,
};

/// Neighbours of a building.
const NEIGHBOURS: u64 = 9;
/// How many of them are of the building's own kind.
const ALIKE: u64 = 6;
/// The number of the first unit lot that is invented on a block: the city's own condominiums stay below.
const FIRST_UNIT: u16 = 1_301;
const UNITS_OF_A_CONDOMINIUM: u16 = 100;

/// A lot on which things were sold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lot {
    /// A condominium's billing lot.
    pub(crate) bbl: Bbl,
    /// The building that stands on it, or beside it.
    pub(crate) of: &'static Building,
    /// Whether the building itself stands on it.
    pub(crate) own: bool,
    pub(crate) house_number: String,
    pub(crate) latitude: String,
    pub(crate) longitude: String,
    pub(crate) class: String,
    pub(crate) kind: Kind,
    pub(crate) floors: u64,
    pub(crate) units: u64,
    pub(crate) year_built: u64,
    /// Square feet of the building, and of the ground.
    pub(crate) area: u64,
    pub(crate) lot_area: u64,
    /// A condominium's first unit lot that was sold.
    pub(crate) first_unit: u16,
    /// A condominium's ground and number.
    pub(crate) condominium: Option<(Bbl, u32)>,
}

/// All lots, each building's neighbours behind it.
pub(crate) fn lots() -> &'static [Lot] {
    &LOTS
}

static LOTS: LazyLock<Vec<Lot>> = LazyLock::new(|| {
    let mut maker = Maker::new();
    for building in buildings() {
        maker.around(building);
    }
    maker.lots
});

/// What a building of this class is sold as.
pub(crate) fn kind_of(class: &str) -> Kind {
    match class.as_bytes() {
        [b'A' | b'B', ..] | [b'C', b'0'] => Kind::House,
        [b'C', b'6' | b'8'] | [b'D', b'0' | b'4'] => Kind::Coop,
        [b'R', ..] => Kind::Condo,
        _ => Kind::Building,
    }
}

/// Square feet of a building.
pub(crate) fn area(building: &Building) -> u64 {
    let mut seed = Seed::new(&[b"area", building.bbl.to_string().as_bytes()]);
    floor_area(&building.class, building.units, building.floors, &mut seed)
}

fn floor_area(class: &str, units: u64, floors: u64, seed: &mut Seed) -> u64 {
    match (kind_of(class), units) {
        (Kind::House, 0 | 1) => 1_250 + seed.below(60) * 10,
        (Kind::House, units) => units * (880 + seed.below(30) * 10),
        (_, 0) => floors * (6_000 + seed.below(30) * 200),
        (_, units) => units * (760 + seed.below(40) * 10),
    }
}

/// Square feet of the ground of a building of so many floors.
pub(crate) fn lot_area(area: u64, floors: u64) -> u64 {
    (area / floors.max(1) * 5 / 3).max(1_600) / 5 * 5
}

struct Maker {
    lots: Vec<Lot>,
    taken: HashSet<Bbl>,
    /// Borough, street and number.
    addresses: HashSet<(u8, String, String)>,
    condominiums: HashSet<(u8, u32, u16)>,
}

impl Maker {
    fn new() -> Self {
        let mut taken: HashSet<Bbl> = buildings().iter().map(|building| building.bbl).collect();
        for condominium in buildings()
            .iter()
            .filter_map(|all| all.condominium.as_ref())
        {
            taken.extend(&condominium.base);
        }
        let numbers = |address: &crate::buildings::Address| {
            let borough = address.bbl.borough().digit();
            [&address.low, &address.high]
                .map(|number| (borough, address.street.clone(), number.clone()))
        };
        Self {
            lots: Vec::new(),
            taken,
            addresses: addresses().iter().flat_map(numbers).collect(),
            condominiums: HashSet::new(),
        }
    }

    fn around(&mut self, building: &'static Building) {
        let garage = building.house_number.ends_with("GARAGE");
        let known = self.lots.iter().any(|lot| lot.bbl == building.bbl);
        if building.bin.is_none() || garage || known || building.kind == BuildingKind::PlutoOnly {
            return;
        }
        let area = area(building);
        let kind = kind_of(&building.class);
        let first_unit = match kind {
            Kind::Condo => self.unit_lots(building.bbl),
            _ => 0,
        };
        self.lots.push(Lot {
            bbl: building.bbl,
            of: building,
            own: true,
            house_number: building.house_number.clone(),
            latitude: building.latitude.clone(),
            longitude: building.longitude.clone(),
            class: building.class.clone(),
            kind,
            floors: building.floors,
            units: building.units,
            year_built: building.year_built,
            area,
            lot_area: lot_area(area, building.floors),
            first_unit,
            condominium: None,
        });
        let mut seed = Seed::new(&[b"around", building.bbl.to_string().as_bytes()]);
        let mut step = 0;
        for number in 0..NEIGHBOURS {
            let Some(house_number) = self.house_number(building, &mut step) else {
                continue;
            };
            let class = class(building, number, &mut seed);
            self.neighbour(building, house_number, class, &mut seed);
        }
    }

    /// The next free number on the building's side of the street.
    fn house_number(&mut self, building: &Building, step: &mut i64) -> Option<String> {
        let digits =
            |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
        let (front, back) = match building.house_number.split_once('-') {
            Some((front, back)) => (Some(front), digits(back)),
            None => (None, digits(&building.house_number)),
        };
        let here: i64 = back.parse().ok()?;
        for _ in 0..60 {
            // Up and down the street by turns.
            *step = if *step > 0 { -*step } else { 2 - *step };
            let next = here + *step;
            let text = match front {
                Some(front) if (1..100).contains(&next) => format!("{front}-{next:02}"),
                None if next > 0 => next.to_string(),
                _ => continue,
            };
            let borough = building.borough().digit();
            let address = (borough, building.street.clone(), text.clone());
            if self.addresses.insert(address) {
                return Some(text);
            }
        }
        None
    }

    fn neighbour(
        &mut self,
        building: &'static Building,
        house_number: String,
        class: &'static str,
        seed: &mut Seed,
    ) {
        let kind = kind_of(class);
        let (floors, units) = match class {
            "A1" | "A5" => (2, 1),
            "B1" => (2, 2),
            "C0" => (3, 3),
            "C1" => (4, 4 + seed.below(3) * 4),
            "D1" => (6, 24 + seed.below(8) * 6),
            _ => (6 + seed.below(6), 30 + seed.below(12) * 4),
        };
        let area = floor_area(class, units, floors, seed);
        let condominium = kind == Kind::Condo;
        let Some(ground) = self.lot(building.bbl, 1 + seed.below(90) as u16, 1_000) else {
            return;
        };
        let bbl = match condominium {
            true => self.lot(building.bbl, 7_511, 7_600),
            false => Some(ground),
        };
        let Some(bbl) = bbl else { return };
        let degrees = |text: &str, span: u64, seed: &mut Seed| {
            // A tenth of a mile, more or less.
            let off = (seed.below(2 * span) as f64 - span as f64) / 1e5;
            format!("{:.5}", text.parse::<f64>().unwrap_or_default() + off)
        };
        let first_unit = if condominium {
            self.unit_lots(building.bbl)
        } else {
            0
        };
        self.lots.push(Lot {
            bbl,
            of: building,
            own: false,
            house_number,
            latitude: degrees(&building.latitude, 130, seed),
            longitude: degrees(&building.longitude, 170, seed),
            class: class.to_owned(),
            kind,
            floors,
            units,
            year_built: 1_901 + seed.below(90) + if condominium { 25 } else { 0 },
            area,
            lot_area: lot_area(area, floors),
            first_unit,
            condominium: condominium.then(|| (ground, 3_000 + seed.below(6_000) as u32)),
        });
    }

    /// A lot of the block that nobody has.
    fn lot(&mut self, beside: Bbl, from: u16, end: u16) -> Option<Bbl> {
        (from..end).find_map(|lot| {
            let bbl = Bbl::new(beside.borough(), beside.block(), lot).ok()?;
            self.taken.insert(bbl).then_some(bbl)
        })
    }

    /// A hundred unit lots of the block that nobody has.
    fn unit_lots(&mut self, beside: Bbl) -> u16 {
        let mut first = FIRST_UNIT;
        while !(self.condominiums).insert((beside.borough().digit(), beside.block(), first)) {
            first += UNITS_OF_A_CONDOMINIUM;
        }
        first
    }
}

/// Most neighbours are what the building is, the others what stands in such a street.
fn class(building: &Building, number: u64, seed: &mut Seed) -> &'static str {
    let own = match (building.class.as_str(), kind_of(&building.class)) {
        ("A1", _) => "A1",
        ("B1", _) => "B1",
        ("C0", _) => "C0",
        (_, Kind::House) => "A5",
        (_, Kind::Coop) => "D4",
        (_, Kind::Condo) => "R4",
        (class, Kind::Building) if class.starts_with('D') => "D1",
        (class, Kind::Building) if class.starts_with(['C', 'S', 'K']) => "C1",
        _ if building.borough().digit() == 1 => "R4",
        _ => "D1",
    };
    let others: &[&str] = match (building.borough().digit(), building.floors) {
        (1, _) => &["R4", "D4", "D1", "C1"],
        (_, 0..=3) => &["A1", "B1", "C0", "A5"],
        _ => &["B1", "C0", "C1", "D4", "R4"],
    };
    let other = seed.below(others.len() as u64) as usize;
    match number < ALIKE {
        true => own,
        false => others.get(other).copied().unwrap_or(own),
    }
}
