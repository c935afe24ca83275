//! A building's report.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;
use time::OffsetDateTime;

use crate::{Bbl, Bin, Borough, Record, Zip, listing::named};

/// The building of a report, in its one canonical form: it does not depend on how the address was typed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Building {
    /// The tax lot; the billing lot for a condominium. `None` when no lot resolves.
    pub bbl: Option<Bbl>,
    /// The building; `None` when the city's address files carry none, or a lot was asked for that has several.
    pub bin: Option<Bin>,
    /// The canonical house number as displayed: a range stays a range. `None` where the building has no number.
    pub house_number: Option<String>,
    /// The canonical street name; `None` where the lot has no address.
    pub street: Option<String>,
    /// Borough, by law rather than by post office.
    pub borough: Borough,
    /// Post-office city, such as `New York` or `Long Island City`.
    pub city: String,
    /// ZIP code.
    pub zip: Option<Zip>,
    /// Neighbourhood, by ZIP.
    pub neighborhood: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east: negative here.
    pub longitude: Option<f64>,
    /// Buildings on the same lot, this one included; `None` where that is not known.
    pub buildings_on_lot: Option<u32>,
}

named! {
    /// How the answer's address relates to what was typed.
    Match {
        /// Number, street and borough as typed.
        Exact = "exact",
        /// Another name or another address of the same building.
        Alias = "alias",
        /// Something typed was changed; a warning says what.
        Corrected = "corrected",
    }
}

/// `property` of a lookup: the building's address, and what this request typed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Property {
    /// One line: `350 5 AVENUE, New York, NY 10118`.
    pub address: String,
    /// Canonical house number.
    pub house_number: Option<String>,
    /// Canonical street name.
    pub street: Option<String>,
    /// The unit as typed.
    pub unit: Option<String>,
    /// The typed unit's own tax lot.
    pub unit_bbl: Option<Bbl>,
    /// Borough name.
    pub borough: String,
    /// Borough digit, 1 to 5.
    pub borough_code: u8,
    /// Post-office city.
    pub city: String,
    /// Always `NY`.
    pub state: String,
    /// ZIP code.
    pub zip_code: Option<Zip>,
    /// Neighbourhood.
    pub neighborhood: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// How the address relates to what was typed.
    #[serde(rename = "match")]
    pub matched: Match,
    /// What was corrected, assumed or could not be found out.
    pub warnings: Vec<String>,
}

impl Property {
    /// The property of `building` as one request sees it.
    pub fn of(
        building: &Building,
        unit: Option<String>,
        unit_bbl: Option<Bbl>,
        matched: Match,
        warnings: Vec<String>,
    ) -> Self {
        Self {
            address: building.one_line(),
            house_number: building.house_number.clone(),
            street: building.street.clone(),
            unit,
            unit_bbl,
            borough: building.borough.name().to_owned(),
            borough_code: building.borough.digit(),
            city: building.city.clone(),
            state: "NY".to_owned(),
            zip_code: building.zip,
            neighborhood: building.neighborhood.clone(),
            latitude: building.latitude,
            longitude: building.longitude,
            matched,
            warnings,
        }
    }
}

impl Building {
    /// The address on one line; the lot where the building has no address.
    pub fn one_line(&self) -> String {
        let street = match (&self.house_number, &self.street) {
            (Some(number), Some(street)) => format!("{number} {street}"),
            (None, Some(street)) => street.clone(),
            _ => match self.bbl {
                Some(bbl) => format!("Block {} Lot {}", bbl.block(), bbl.lot()),
                None => self.borough.name().to_owned(),
            },
        };
        match self.zip {
            Some(zip) => format!("{street}, {}, NY {zip}", self.city),
            None => format!("{street}, {}, NY", self.city),
        }
    }

    /// `canonical_path` of the report on the web host: `/property/{bbl}/{slug}`, with the BIN where the lot has several
    /// buildings, and the unit's own lot for a unit's report.
    ///
    /// `None` without a lot, and where it is not known whether the lot has other buildings: a path must never move.
    pub fn canonical_path(&self, unit_bbl: Option<Bbl>) -> Option<String> {
        let slug = self.slug();
        if let Some(unit) = unit_bbl {
            return Some(format!("/property/{unit}/{slug}"));
        }
        let bbl = self.bbl?;
        match (self.bin, self.buildings_on_lot) {
            (None, _) | (Some(_), Some(0 | 1)) => Some(format!("/property/{bbl}/{slug}")),
            (Some(bin), Some(_)) => Some(format!("/property/{bbl}-{bin}/{slug}")),
            (Some(_), None) => None,
        }
    }

    /// Decoration for the path: lower-case letters, digits and single dashes.
    fn slug(&self) -> String {
        let mut slug = String::new();
        for c in self.one_line().chars() {
            if c.is_ascii_alphanumeric() {
                slug.push(c.to_ascii_lowercase());
            } else if !slug.ends_with('-') && !slug.is_empty() {
                slug.push('-');
            }
        }
        slug.trim_end_matches('-').to_owned()
    }
}

/// What a report belongs to: the building, and the unit where one with a lot of its own was asked for.
///
/// ```
/// use brownstone_domain::ReportKey;
/// let key = ReportKey { bbl: Some("1008350041".parse().unwrap()), bin: Some("1015862".parse().unwrap()), unit_bbl: None };
/// assert_eq!(key.to_string(), "1008350041/1015862/-");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReportKey {
    /// Tax lot of the building.
    pub bbl: Option<Bbl>,
    /// The building.
    pub bin: Option<Bin>,
    /// The unit's own tax lot.
    pub unit_bbl: Option<Bbl>,
}

impl std::fmt::Display for ReportKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn part(id: Option<impl ToString>) -> String {
            id.map_or_else(|| "-".to_owned(), |id| id.to_string())
        }
        write!(
            f,
            "{}/{}/{}",
            part(self.bbl),
            part(self.bin),
            part(self.unit_bbl)
        )
    }
}

named! {
    /// The outcome of a source in a report.
    SourceStatus {
        /// The publisher answered with something.
        Ok = "ok",
        /// The publisher answered and has nothing for this building.
        NotFound = "not_found",
        /// Anything else.
        Error = "error",
        /// This deployment holds no credential or licence for the source.
        Gated = "gated",
    }
}

named! {
    /// The key of the building by which a source was asked.
    MatchedBy {
        /// Building Identification Number.
        Bin = "bin",
        /// Tax lot.
        Bbl = "bbl",
        /// The unit's own tax lot.
        UnitBbl = "unit_bbl",
        /// House number and street.
        Address = "address",
    }
}

/// One value of `sources`. `data` is null for every status other than `ok`.
#[derive(Debug, Clone)]
pub struct SourceEntry {
    status: SourceStatus,
    data: Option<Box<RawValue>>,
}

impl SourceEntry {
    /// The publisher's answer, serialised once.
    ///
    /// # Errors
    /// When a value cannot be written as JSON.
    pub fn ok(data: &SourceData) -> Result<Self, serde_json::Error> {
        Ok(Self {
            status: SourceStatus::Ok,
            data: Some(serde_json::value::to_raw_value(data)?),
        })
    }

    /// An entry of `status` without data. `Ok` without data does not exist: it becomes `error`.
    pub const fn without_data(status: SourceStatus) -> Self {
        let status = match status {
            SourceStatus::Ok => SourceStatus::Error,
            other => other,
        };
        Self { status, data: None }
    }

    /// An entry read back from storage: data that was serialised before, or none.
    pub fn from_stored(status: SourceStatus, data: Option<Box<RawValue>>) -> Self {
        match (status, data) {
            (SourceStatus::Ok, Some(data)) => Self {
                status,
                data: Some(data),
            },
            (status, _) => Self::without_data(status),
        }
    }

    /// The status.
    pub const fn status(&self) -> SourceStatus {
        self.status
    }

    /// The serialised data of an `ok` entry.
    pub fn data(&self) -> Option<&RawValue> {
        self.data.as_deref()
    }
}

impl Serialize for SourceEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("status", &self.status)?;
        map.serialize_entry("data", &self.data)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for SourceEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Entry {
            status: SourceStatus,
            data: Option<Box<RawValue>>,
        }
        let Entry { status, data } = Entry::deserialize(deserializer)?;
        Ok(Self::from_stored(status, data))
    }
}

/// `data` of an `ok` source.
///
/// The source's own summary fields, and the contract's names where it gives them, follow the general ones.
#[derive(Debug, Clone)]
pub struct SourceData {
    /// The publisher's rows, at most 100, newest first, columns as the publisher names them.
    pub records: Vec<Record>,
    /// How many records there are on the building, regardless of the cap.
    pub record_count: u64,
    /// Whether `records` has fewer than `record_count`.
    pub records_truncated: bool,
    /// The key the source was asked by.
    pub matched_by: MatchedBy,
    /// The publisher's page of the dataset or record.
    pub source_url: String,
    /// When the publisher last changed the dataset (UTC); `None` where that is not known.
    pub source_updated_at: Option<OffsetDateTime>,
    /// Whether that is longer ago than the publisher's own schedule allows; `None` where it is not known.
    pub stale: Option<bool>,
    /// Summary fields in the catalogue's order.
    pub summary: Vec<(String, Box<RawValue>)>,
}

impl SourceData {
    /// Adds a summary field.
    ///
    /// # Errors
    /// When the value cannot be written as JSON.
    pub fn summarise(
        &mut self,
        name: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<(), serde_json::Error> {
        self.summary
            .push((name.into(), serde_json::value::to_raw_value(value)?));
        Ok(())
    }
}

impl Serialize for SourceData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("records", &self.records)?;
        map.serialize_entry("record_count", &self.record_count)?;
        map.serialize_entry("records_truncated", &self.records_truncated)?;
        map.serialize_entry("matched_by", &self.matched_by)?;
        map.serialize_entry("source_url", &self.source_url)?;
        map.serialize_entry("source_updated_at", &Rfc3339(self.source_updated_at))?;
        map.serialize_entry("stale", &self.stale)?;
        for (name, value) in &self.summary {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

struct Rfc3339(Option<OffsetDateTime>);

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        time::serde::rfc3339::option::serialize(&self.0, serializer)
    }
}

named! {
    /// Whether a report is complete.
    CacheStatus {
        /// Every source answered.
        Ok = "ok",
        /// One or more sources failed; they are asked again after about ten minutes.
        Partial = "partial",
    }
}

/// `cache` of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CacheInfo {
    /// When the report was first assembled.
    #[serde(with = "time::serde::rfc3339")]
    pub cached_at: OffsetDateTime,
    /// Earliest time a later lookup refreshes the report.
    #[serde(with = "time::serde::rfc3339")]
    pub refresh_available_at: OffsetDateTime,
    /// Complete or not.
    pub status: CacheStatus,
}

#[cfg(test)]
mod tests {
    use insta::assert_json_snapshot;
    use time::macros::datetime;

    use super::*;
    use crate::FieldValue;

    fn building() -> Building {
        Building {
            bbl: Some("1008350041".parse().unwrap()),
            bin: Some("1015862".parse().unwrap()),
            house_number: Some("350".into()),
            street: Some("5 AVENUE".into()),
            borough: Borough::Manhattan,
            city: "New York".into(),
            zip: Some("10118".parse().unwrap()),
            neighborhood: None,
            latitude: Some(40.748),
            longitude: Some(-73.985),
            buildings_on_lot: Some(1),
        }
    }

    #[test]
    fn property_has_the_keys_of_the_contract_in_order() {
        let property = Property::of(&building(), Some("4C".into()), None, Match::Exact, vec![]);
        assert_json_snapshot!(property);
    }

    #[test]
    fn source_entries_and_cache_have_the_keys_of_the_contract_in_order() {
        let mut record = Record::default();
        record.push("issue_date", FieldValue::Text("20240131".into()));
        record.push("penality_imposed", FieldValue::number("1250.00"));
        let mut data = SourceData {
            records: vec![record],
            record_count: 1,
            records_truncated: false,
            matched_by: MatchedBy::Bin,
            source_url: "https://data.cityofnewyork.us/d/6bgk-3dad".into(),
            source_updated_at: Some(datetime!(2026-11-26 5:00 UTC)),
            stale: Some(false),
            summary: vec![],
        };
        data.summarise("ecb_total_violations", &1).unwrap();
        let cache = CacheInfo {
            cached_at: datetime!(2026-11-27 12:00 UTC),
            refresh_available_at: datetime!(2026-12-04 12:00 UTC),
            status: CacheStatus::Ok,
        };
        let text = serde_json::to_string_pretty(&(
            SourceEntry::ok(&data).unwrap(),
            SourceEntry::without_data(SourceStatus::NotFound),
            cache,
        ))
        .unwrap();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn ok_without_data_does_not_exist() {
        assert_eq!(
            SourceEntry::without_data(SourceStatus::Ok).status(),
            SourceStatus::Error
        );
        assert_eq!(
            SourceEntry::from_stored(SourceStatus::Ok, None).status(),
            SourceStatus::Error
        );
    }

    #[test]
    fn the_path_names_the_building_only_where_the_lot_has_several() {
        let mut b = building();
        let one = "/property/1008350041/350-5-avenue-new-york-ny-10118";
        assert_eq!(b.canonical_path(None).as_deref(), Some(one));
        b.buildings_on_lot = Some(2);
        assert_eq!(
            b.canonical_path(None).as_deref(),
            Some("/property/1008350041-1015862/350-5-avenue-new-york-ny-10118")
        );
        b.buildings_on_lot = None;
        assert_eq!(b.canonical_path(None), None);
        b.bin = None;
        assert_eq!(b.canonical_path(None).as_deref(), Some(one));
        assert_eq!(
            b.canonical_path(Some("1008351001".parse().unwrap()))
                .as_deref(),
            Some("/property/1008351001/350-5-avenue-new-york-ny-10118")
        );
    }
}
