//! Tax lots: where a building stands and how big it is.

use brownstone_domain::Bbl;

use crate::BuildingClass;

/// A place, in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// North of the equator.
    pub latitude: f64,
    /// East of Greenwich: negative in the city.
    pub longitude: f64,
}

/// Metres in a mile.
const METRES_PER_MILE: f64 = 1609.344;
/// Metres of a degree of latitude.
const METRES_PER_DEGREE: f64 = 111_195.0;

impl Place {
    /// The place, when it lies in or near the city.
    pub fn in_city(latitude: f64, longitude: f64) -> Option<Self> {
        let inside = (40.4..=41.0).contains(&latitude) && (-74.3..=-73.6).contains(&longitude);
        inside.then_some(Self {
            latitude,
            longitude,
        })
    }

    /// Distance in miles. The city is small enough to be flat: the error stays under one part in a thousand.
    pub fn miles_to(self, other: Self) -> f64 {
        let north = (self.latitude - other.latitude) * METRES_PER_DEGREE;
        let middle = f64::midpoint(self.latitude, other.latitude).to_radians();
        let east = (self.longitude - other.longitude) * METRES_PER_DEGREE * middle.cos();
        north.hypot(east) / METRES_PER_MILE
    }
}

/// A tax lot as the city's land-use table (PLUTO) has it. Sizes are square feet; 0 in the table is "not known".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lot {
    /// The lot; a condominium stands under its billing lot.
    pub bbl: Bbl,
    /// Middle of the lot.
    pub place: Option<Place>,
    /// Class of the building.
    pub class: BuildingClass,
    /// ZIP code.
    pub zip: Option<u32>,
    /// Year of construction.
    pub year_built: Option<u16>,
    /// Gross floor area of all buildings on the lot.
    pub building_sqft: Option<u32>,
    /// Floor area of dwellings.
    pub residential_sqft: Option<u32>,
    /// Area of the lot.
    pub lot_sqft: Option<u32>,
    /// Dwellings.
    pub residential_units: Option<u32>,
    /// Dwellings and other units.
    pub total_units: Option<u32>,
    /// Floors of the tallest building, in hundredths.
    pub floors_hundredths: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mile_is_a_mile() {
        // Broadway and 14th Street to Broadway and 34th Street: 20 blocks of a twentieth of a mile, a little west.
        let union_square = Place::in_city(40.7347, -73.9903).unwrap();
        let herald_square = Place::in_city(40.7497, -73.9879).unwrap();
        let miles = union_square.miles_to(herald_square);
        assert!((1.0..1.1).contains(&miles), "{miles}");
        assert_eq!(miles, herald_square.miles_to(union_square));
        assert_eq!(Place::in_city(0.0, 0.0), None);
    }
}
