//! The property that sales are compared with: what the lots, the sales and the caller know of it.

use brownstone_domain::{Bbl, PropertyType, comps::SubjectOverrides};

use crate::{
    BuildingClass, BuildingKey, Kind, Lot, Place, SalesIndex, block_of,
    clean::{address::street_key, unit_building},
    lot_number,
};

/// A building, or a unit of one, as the address resolution gives it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Target {
    /// The building's lot: a condominium's billing lot.
    pub bbl: Option<Bbl>,
    /// The unit's own lot.
    pub unit_bbl: Option<Bbl>,
    /// The unit as typed.
    pub unit: Option<String>,
    /// House number.
    pub house_number: Option<String>,
    /// Street.
    pub street: Option<String>,
    /// ZIP code.
    pub zip: Option<u32>,
    /// Degrees north and east, where the address resolution knows them.
    pub coordinates: Option<(f64, f64)>,
}

/// The subject of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The building's lot.
    pub bbl: Bbl,
    /// The lot that would be sold: the unit's own, else the building's.
    pub lot: Bbl,
    /// The unit as typed.
    pub unit: Option<String>,
    /// House number.
    pub house_number: Option<String>,
    /// Street.
    pub street: Option<String>,
    /// Its building, under every number that its sales may carry.
    pub buildings: Vec<BuildingKey>,
    /// The tax block.
    pub block: u64,
    /// Where it is.
    pub place: Option<Place>,
    /// What is sold: a unit, a house, a building.
    pub kind: Kind,
    /// Building class.
    pub class: BuildingClass,
    /// Neighbourhood: a number of the index.
    pub neighborhood: Option<u16>,
    /// ZIP code.
    pub zip: Option<u32>,
    /// Floor area of a building; `None` for a unit unless the caller gave it.
    pub sqft: Option<u32>,
    /// Area of the lot; `None` for a unit.
    pub land_sqft: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u32>,
    /// Dwellings in the building.
    pub dwellings: Option<u32>,
    /// Dwellings and other units in the building.
    pub units: Option<u32>,
}

impl Subject {
    /// The subject that a target is, by all that was recorded before `cutoff` (days since 1970-01-01); `None` when the
    /// target has no lot.
    pub fn find(
        index: &SalesIndex,
        target: &Target,
        overrides: &SubjectOverrides,
        cutoff: i32,
    ) -> Option<Self> {
        let bbl = target.bbl.or(target.unit_bbl)?;
        let lot = index.lot(bbl);
        let mut buildings = vec![BuildingKey(lot_number(bbl))];
        if bbl.is_billing_lot() || bbl.is_unit_lot() {
            let street = street_key(
                target
                    .house_number
                    .as_deref()
                    .unwrap_or_default()
                    .as_bytes(),
                target.street.as_deref().unwrap_or_default().as_bytes(),
            );
            buildings.push(unit_building(bbl, street));
        }
        let known = Known::of(index, &buildings, block_of(bbl), cutoff);
        let class = known
            .class
            .filter(|class| class.kind().is_unit())
            .or(lot.map(|lot| lot.class).filter(|class| class.is_known()))
            .or(known.class)
            .unwrap_or_default();
        let kind = overrides.property_type.map_or_else(
            || kind_of(class, bbl).with_unit(target.unit.as_deref().unwrap_or_default()),
            Kind::of,
        );
        let is_unit = kind.is_unit();
        let of_lot =
            |size: fn(&Lot) -> Option<u32>| lot.as_ref().filter(|_| !is_unit).and_then(size);
        let place = lot
            .and_then(|lot| lot.place)
            .or_else(|| {
                let (latitude, longitude) = target.coordinates?;
                Place::in_city(latitude, longitude)
            })
            .or(known.place);
        Some(Self {
            bbl,
            lot: target.unit_bbl.unwrap_or(bbl),
            unit: target.unit.clone(),
            house_number: target.house_number.clone(),
            street: target.street.clone(),
            block: block_of(bbl),
            place,
            kind,
            class,
            neighborhood: known.neighborhood,
            zip: target.zip.or(lot.and_then(|lot| lot.zip)).or(known.zip),
            sqft: overrides
                .living_area_sqft
                .or_else(|| of_lot(|lot| lot.building_sqft))
                .or(known.sqft.filter(|_| !is_unit)),
            land_sqft: of_lot(|lot| lot.lot_sqft),
            year_built: overrides
                .year_built
                .or(lot.and_then(|lot| lot.year_built).map(u32::from))
                .or(known.year_built),
            dwellings: overrides
                .units
                .or(lot.and_then(|lot| lot.residential_units))
                .filter(|units| *units > 0),
            units: overrides
                .units
                .or(lot.and_then(|lot| lot.total_units))
                .filter(|units| *units > 0),
            buildings,
        })
    }

    /// The API's word for the kind.
    pub const fn property_type(&self) -> PropertyType {
        self.kind.property_type()
    }
}

/// A condominium's own lot has classes of its own for mixed buildings; what is sold there are units.
fn kind_of(class: BuildingClass, bbl: Bbl) -> Kind {
    match class.as_str() {
        "RM" | "RX" | "RZ" | "R0" => Kind::Condo,
        _ if !class.is_known() && (bbl.is_billing_lot() || bbl.is_unit_lot()) => Kind::Condo,
        _ => class.kind(),
    }
}

/// What the sales of a building, else of its block, say of it.
#[derive(Default)]
struct Known {
    class: Option<BuildingClass>,
    neighborhood: Option<u16>,
    zip: Option<u32>,
    place: Option<Place>,
    year_built: Option<u32>,
    sqft: Option<u32>,
}

/// So many of the newest sales are looked at.
const LOOKED_AT: usize = 40;

impl Known {
    fn of(index: &SalesIndex, buildings: &[BuildingKey], block: u64, cutoff: i32) -> Self {
        let mut known = Self::default();
        let own = buildings.iter().flat_map(|key| index.in_building(*key));
        let sales = |places: &mut dyn Iterator<Item = u32>| -> Vec<_> {
            places
                .filter_map(|at| index.sale(at))
                .filter(|sale| sale.date < cutoff)
                .take(LOOKED_AT)
                .collect()
        };
        let own = sales(&mut own.into_iter());
        // The class of most of them: a condominium's parking spaces are sold, too.
        let mut classes: Vec<BuildingClass> = own
            .iter()
            .map(|sale| sale.class_at_sale)
            .filter(|class| class.kind() != Kind::Other)
            .collect();
        classes.sort_unstable();
        known.class = classes
            .chunk_by(|a, b| a == b)
            .max_by_key(|same| same.len())
            .and_then(|same| same.first().copied())
            .or(own.first().map(|sale| sale.class_at_sale));
        for sale in own.iter().chain(&sales(&mut index.in_block(block))) {
            known.neighborhood = known.neighborhood.or(Some(sale.neighborhood));
            known.zip = known.zip.or(sale.zip);
            known.place = known.place.or(sale.place);
        }
        known.year_built = own.iter().find_map(|sale| sale.year_built).map(u32::from);
        known.sqft = own.iter().find_map(crate::Sale::unit_safe_sqft);
        known
    }
}
