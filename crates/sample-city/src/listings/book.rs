//! The listings of the running city, and what a test does to them.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::{Map, Value};
use time::{Date, Duration, OffsetDateTime};

use super::generate::{self, written};
use crate::{odata::Entity, table::timestamp};

/// States in which a listing is no longer on the market.
const OVER: [&str; 6] = [
    "Closed",
    "Withdrawn",
    "Expired",
    "Canceled",
    "Hold",
    "Delete",
];

/// A change of listings that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// No listing has this key.
    #[error("no listing has the key {0}")]
    Unknown(String),
    /// The rows have no key to be told apart by.
    #[error("a listing needs a ListingKey, a text that is not empty")]
    Keyless,
}

#[derive(Debug)]
struct Inner {
    /// The moment at which the city stands still; the system's clock where there is none.
    now: Option<OffsetDateTime>,
    /// Made when they are first asked for.
    rows: Option<BTreeMap<String, Arc<Entity>>>,
    /// The day for which the days on the market stand in the rows.
    counted: Option<Date>,
}

/// The listings of a running city, by `ListingKey`, with the names of the RESO Data Dictionary. Both feeds show them.
///
/// Made-up listings are dated back from the day on which they are first asked for. A change is stamped with the city's own
/// clock, as a listing service would stamp it.
///
/// ```
/// use brownstone_sample_city::SampleCity;
/// use serde_json::json;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let city = SampleCity::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
/// let listings = city.control().listings();
/// let key = listings.all()[0]["ListingKey"].as_str().unwrap().to_owned();
/// listings.advance(time::Duration::days(1));
/// let cut = json!({"ListPrice": 500_000});
/// listings.change(&key, cut.as_object().unwrap().clone()).unwrap();
/// assert!(listings.remove(&key));
/// # city.stop().await;
/// # });
/// ```
#[derive(Debug)]
pub struct Listings {
    has_records: bool,
    inner: RwLock<Inner>,
}

impl Listings {
    pub(crate) fn new(has_records: bool) -> Self {
        Self {
            has_records,
            inner: RwLock::new(Inner {
                now: None,
                rows: None,
                counted: None,
            }),
        }
    }

    /// The city's clock.
    pub fn now(&self) -> OffsetDateTime {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.now.unwrap_or_else(OffsetDateTime::now_utc)
    }

    /// Sets the city's clock; it then stands still.
    pub fn set_now(&self, now: OffsetDateTime) {
        self.with(|inner, _| inner.now = Some(now));
    }

    /// Moves the city's clock on; it then stands still.
    pub fn advance(&self, by: Duration) {
        self.with(|inner, now| inner.now = Some(now.saturating_add(by)));
    }

    /// All listings as they stand, by key.
    pub fn all(&self) -> Vec<Map<String, Value>> {
        (self.entities().iter())
            .map(|entity| entity.as_ref().clone())
            .collect()
    }

    pub(crate) fn entities(&self) -> Vec<Arc<Entity>> {
        let today = self.now().date();
        {
            let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
            if inner.counted == Some(today)
                && let Some(rows) = &inner.rows
            {
                return rows.values().cloned().collect();
            }
        }
        self.with(|inner, now| {
            let rows = inner.rows(self.has_records, now);
            for row in rows.values_mut() {
                count_days(Arc::make_mut(row), now.date());
            }
            let all = rows.values().cloned().collect();
            inner.counted = Some(now.date());
            all
        })
    }

    /// Changes fields of a listing; null takes a field's value away. The service's own stamps follow: a new price keeps the
    /// old one as the previous, an ended listing gets its days.
    ///
    /// # Errors
    ///
    /// There is no such listing.
    pub fn change(&self, key: &str, fields: Map<String, Value>) -> Result<(), ListingError> {
        self.with(|inner, now| {
            inner.counted = None;
            let row = (inner.rows(self.has_records, now).get_mut(key))
                .ok_or_else(|| ListingError::Unknown(key.to_owned()))?;
            change(Arc::make_mut(row), fields, now);
            Ok(())
        })
    }

    /// Puts a listing in, or in the place of the one with this key. What it does not say is said as for a listing that came
    /// on the market now; with `like` as that one says it.
    ///
    /// # Errors
    ///
    /// `like` is no listing, or the key is empty.
    pub fn put(
        &self,
        key: &str,
        fields: Map<String, Value>,
        like: Option<&str>,
    ) -> Result<(), ListingError> {
        if key.is_empty() {
            return Err(ListingError::Keyless);
        }
        self.with(|inner, now| {
            inner.counted = None;
            let rows = inner.rows(self.has_records, now);
            let mut row = match like {
                None => Entity::new(),
                Some(like) => (rows.get(like))
                    .map(|row| as_new(row))
                    .ok_or_else(|| ListingError::Unknown(like.to_owned()))?,
            };
            row.extend(fields);
            row.insert("ListingKey".into(), key.into());
            rows.insert(key.to_owned(), Arc::new(completed(row, now)));
            Ok(())
        })
    }

    /// Takes a listing away without a word; whether there was one.
    pub fn remove(&self, key: &str) -> bool {
        self.with(|inner, now| inner.rows(self.has_records, now).remove(key).is_some())
    }

    /// Puts these listings in place of all.
    ///
    /// # Errors
    ///
    /// One has no key; then nothing is changed.
    pub fn replace(&self, rows: Vec<Map<String, Value>>) -> Result<(), ListingError> {
        self.with(|inner, now| {
            let rows = (rows.into_iter())
                .map(|row| {
                    let key = row.get("ListingKey").and_then(Value::as_str);
                    let key = key
                        .filter(|key| !key.is_empty())
                        .ok_or(ListingError::Keyless)?;
                    Ok((key.to_owned(), Arc::new(completed(row, now))))
                })
                .collect::<Result<_, ListingError>>()?;
            inner.rows = Some(rows);
            inner.counted = None;
            Ok(())
        })
    }

    /// The made-up listings again, dated back from now. The clock stays where it is.
    pub fn reset(&self) {
        self.with(|inner, _| inner.rows = None);
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner, OffsetDateTime) -> T) -> T {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let now = inner.now.unwrap_or_else(OffsetDateTime::now_utc);
        act(&mut inner, now)
    }
}

impl Inner {
    fn rows(
        &mut self,
        has_records: bool,
        now: OffsetDateTime,
    ) -> &mut BTreeMap<String, Arc<Entity>> {
        let counted = &mut self.counted;
        self.rows.get_or_insert_with(|| {
            *counted = None;
            let made = if has_records {
                generate::listings(now)
            } else {
                Vec::new()
            };
            let keyed = |row: Entity| {
                let key = row.get("ListingKey").and_then(Value::as_str);
                (key.unwrap_or("").to_owned(), Arc::new(row))
            };
            made.into_iter().map(keyed).collect()
        })
    }
}

fn day(row: &Entity, field: &str) -> Option<Date> {
    use time::macros::format_description;
    let text = row.get(field)?.as_str()?;
    Date::parse(text, format_description!("[year]-[month]-[day]")).ok()
}

/// Days on the market: from its first day to its last, or to today.
fn count_days(row: &mut Entity, today: Date) {
    let Some(from) = day(row, "OnMarketDate") else {
        return;
    };
    let to = day(row, "OffMarketDate").unwrap_or(today);
    row.insert(
        "DaysOnMarket".into(),
        (to - from).whole_days().max(0).into(),
    );
}

fn change(row: &mut Entity, fields: Entity, now: OffsetDateTime) {
    let stamp = written(now);
    let before = |name: &str, row: &Entity| row.get(name).cloned().unwrap_or_default();
    let (price, status) = (before("ListPrice", row), before("StandardStatus", row));
    let moves = |name: &str, from: &Value| fields.get(name).is_some_and(|to| to != from);
    let mut follows = vec![("ModificationTimestamp", Value::from(stamp.as_str()))];
    if moves("ListPrice", &price) {
        follows.push(("PriceChangeTimestamp", stamp.as_str().into()));
        follows.push(("PreviousListPrice", price.clone()));
    }
    if moves("StandardStatus", &status) {
        let state = fields
            .get("StandardStatus")
            .and_then(Value::as_str)
            .unwrap_or("");
        let today = Value::from(now.date().to_string());
        follows.push(("StatusChangeTimestamp", stamp.into()));
        follows.push(("MlsStatus", state.into()));
        let over = OVER.contains(&state);
        follows.push((
            "OffMarketDate",
            if over { today.clone() } else { Value::Null },
        ));
        if state == "Closed" {
            follows.push(("CloseDate", today));
            follows.push((
                "ClosePrice",
                fields.get("ListPrice").cloned().unwrap_or(price),
            ));
        }
    }
    // What the change says itself stands above what follows from it.
    for (name, value) in follows {
        row.insert(name.to_owned(), value);
    }
    row.extend(fields);
}

/// The same home, as if it came on the market anew.
fn as_new(row: &Entity) -> Entity {
    const ITS_OWN: [&str; 18] = [
        "ListingId",
        "StandardStatus",
        "MlsStatus",
        "OriginalListPrice",
        "PreviousListPrice",
        "PriceChangeTimestamp",
        "ListingContractDate",
        "OnMarketDate",
        "OffMarketDate",
        "CloseDate",
        "ClosePrice",
        "DaysOnMarket",
        "StatusChangeTimestamp",
        "OriginalEntryTimestamp",
        "ModificationTimestamp",
        "PhotosChangeTimestamp",
        "Media",
        "OpenHouse",
    ];
    (row.iter())
        .filter(|(name, _)| !ITS_OWN.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// What a listing says that says nothing else.
fn completed(mut row: Entity, now: OffsetDateTime) -> Entity {
    let stamp = written(now);
    let today = now.date().to_string();
    let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
    let key = text("ListingKey").unwrap_or_default();
    // A stamp given as a day is the beginning of that day.
    let entered = (text("OriginalEntryTimestamp"))
        .or_else(|| {
            text("OnMarketDate")
                .filter(|day| timestamp(day).is_some())
                .map(|day| format!("{day}T00:00:00Z"))
        })
        .unwrap_or_else(|| stamp.clone());
    let price = row.get("ListPrice").cloned().unwrap_or_default();
    let status = text("StandardStatus").unwrap_or_else(|| "Active".into());
    for (name, value) in [
        ("ListingId", Value::from(key)),
        ("OriginatingSystemName", "Sample Listing Service".into()),
        ("StandardStatus", status.as_str().into()),
        ("MlsStatus", status.into()),
        ("PropertyType", "Residential".into()),
        ("StateOrProvince", "NY".into()),
        ("OriginalListPrice", price),
        ("ListingContractDate", today.as_str().into()),
        ("OnMarketDate", today.into()),
        ("InternetEntireListingDisplayYN", true.into()),
        ("InternetAddressDisplayYN", true.into()),
        ("OriginalEntryTimestamp", entered.into()),
        ("ModificationTimestamp", stamp.into()),
        ("Media", Vec::<Value>::new().into()),
        ("OpenHouse", Vec::<Value>::new().into()),
    ] {
        if !row.contains_key(name) {
            row.insert(name.into(), value);
        }
    }
    row
}
