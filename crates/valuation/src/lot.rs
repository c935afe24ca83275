//! Tax lots: where a building stands and how big it is.

use brownstone_domain::Bbl;

use crate::BuildingClass;

/// A place, to a millionth of a degree: a tenth of a metre.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub(crate) north: i32,
    pub(crate) east: i32,
}

/// Metres in a mile.
const METRES_PER_MILE: f64 = 1609.344;
/// Metres of a millionth of a degree of latitude.
const METRES_PER_MILLIONTH: f64 = 0.111_195;
/// Cosine of the city's middle latitude, 40.7 degrees. It differs by less than half a percent over the city.
const COSINE: f64 = 0.758_134;

impl Place {
    /// The place at these degrees, when it lies in or near the city.
    pub fn in_city(latitude: f64, longitude: f64) -> Option<Self> {
        let inside = (40.4..=41.0).contains(&latitude) && (-74.3..=-73.6).contains(&longitude);
        // The casts are exact: the numbers were just checked to be small.
        inside.then_some(Self {
            north: (latitude * 1e6).round() as i32,
            east: (longitude * 1e6).round() as i32,
        })
    }

    /// Degrees north of the equator.
    pub fn latitude(self) -> f64 {
        f64::from(self.north) / 1e6
    }

    /// Degrees east of Greenwich: negative in the city.
    pub fn longitude(self) -> f64 {
        f64::from(self.east) / 1e6
    }

    /// Distance in miles, as on a flat map: the city is small enough.
    pub fn miles_to(self, other: Self) -> f64 {
        let north = f64::from(self.north - other.north);
        let east = f64::from(self.east - other.east) * COSINE;
        north.hypot(east) * METRES_PER_MILLIONTH / METRES_PER_MILE
    }

    /// How many millionths of a degree a distance is, north and east.
    pub fn millionths(miles: f64) -> (i32, i32) {
        let north = miles * METRES_PER_MILE / METRES_PER_MILLIONTH;
        (north.ceil() as i32, (north / COSINE).ceil() as i32)
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
