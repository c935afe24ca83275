//! What a report is about, as the sources need it.

use brownstone_domain::{Bbl, Bin, Borough, Zip};

/// The building a report is about, with every key a source may ask by.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Tax lot of the building; the billing lot for a condominium.
    pub bbl: Option<Bbl>,
    /// The building; `None` for the report of a lot with none or several, or where the city has no number for it.
    pub bin: Option<Bin>,
    /// The typed unit's own tax lot.
    pub unit_bbl: Option<Bbl>,
    /// Every building on the lot, where that is known; empty where it is not. Sources that know buildings only ask by
    /// these when `bin` is `None`.
    pub lot_bins: Vec<Bin>,
    /// How many buildings stand on the lot, where only the number is known. Garages may be among them.
    pub buildings_on_lot: Option<u32>,
    /// Canonical house number.
    pub house_number: Option<String>,
    /// Canonical street name.
    pub street: Option<String>,
    /// Borough, by law.
    pub borough: Borough,
    /// ZIP code.
    pub zip: Option<Zip>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east: negative here.
    pub longitude: Option<f64>,
}

impl Subject {
    /// A subject known by its keys alone.
    pub const fn of(bbl: Option<Bbl>, bin: Option<Bin>, borough: Borough) -> Self {
        Self {
            bbl,
            bin,
            unit_bbl: None,
            lot_bins: Vec::new(),
            buildings_on_lot: None,
            house_number: None,
            street: None,
            borough,
            zip: None,
            latitude: None,
            longitude: None,
        }
    }
}
