//! Answer of `GET /v1/usage`.

use ordered::Ordered;
use serde::{Deserialize, Serialize};
use time::{Date, OffsetDateTime};

/// Small ordered maps without a dependency: answers list operations and surfaces in the table's order.
mod ordered {
    use std::{fmt, marker::PhantomData};

    use serde::{
        Deserialize, Deserializer, Serialize, Serializer,
        de::{MapAccess, Visitor},
        ser::SerializeMap,
    };

    /// Pairs that serialise as an object, in order.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct Ordered<V>(pub Vec<(String, V)>);

    impl<V: Serialize> Serialize for Ordered<V> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(self.0.len()))?;
            for (key, value) in &self.0 {
                map.serialize_entry(key, value)?;
            }
            map.end()
        }
    }

    impl<'de, V: Deserialize<'de>> Deserialize<'de> for Ordered<V> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Pairs<V>(PhantomData<V>);

            impl<'de, V: Deserialize<'de>> Visitor<'de> for Pairs<V> {
                type Value = Ordered<V>;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<V>, A::Error> {
                    let mut pairs = Vec::new();
                    while let Some(pair) = map.next_entry()? {
                        pairs.push(pair);
                    }
                    Ok(Ordered(pairs))
                }
            }

            deserializer.deserialize_map(Pairs(PhantomData))
        }
    }
}

pub use ordered::Ordered as OrderedMap;

/// `data` of `GET /v1/usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// The account's tier.
    pub tier: String,
    /// The deployment's environment, `live` or `test`.
    pub environment: String,
    /// The key that asked.
    pub key: KeyRef,
    /// The per-minute budget.
    pub minute: MinuteUsage,
    /// The per-day budget.
    pub day: DayUsage,
    /// Today, by operation.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Counts>))]
    pub by_operation: Ordered<Counts>,
    /// Today, by surface.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Counts>))]
    pub by_surface: Ordered<Counts>,
    /// Today, by key id.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, Counts>))]
    pub by_key: Ordered<Counts>,
    /// Today's refusals.
    pub refused: Refused,
    /// The last 30 UTC days with a call, newest first.
    pub history: Vec<HistoryDay>,
    /// Units of each operation.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, u32>))]
    pub costs: Ordered<u32>,
}

/// Enough of a key to recognise it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyRef {
    /// The key's identifier.
    pub id: String,
    /// The name its owner gave it.
    pub name: String,
    /// `svc_live_` or `svc_test_`.
    pub prefix: String,
    /// Its last four characters.
    pub last_four: String,
}

/// The per-minute budget, a token bucket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MinuteUsage {
    /// Capacity in units.
    pub limit: u64,
    /// Whole units left.
    pub remaining: u64,
    /// Units that come back each second.
    pub refill_per_second: f64,
    /// When the bucket is full again if nothing is spent.
    #[serde(with = "time::serde::rfc3339")]
    pub full_at: OffsetDateTime,
}

/// The UTC day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DayUsage {
    /// Ceiling in units.
    pub limit: u64,
    /// Units spent.
    pub used: u64,
    /// Units left.
    pub remaining: u64,
    /// The next 00:00 UTC.
    #[serde(with = "time::serde::rfc3339")]
    pub resets_at: OffsetDateTime,
}

/// Calls and units of one operation, surface or key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Counts {
    /// Calls that succeeded.
    pub calls: u64,
    /// Calls that failed; they cost nothing.
    pub failed: u64,
    /// Units charged.
    pub units: u64,
}

/// Refusals of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Refused {
    /// A budget was short for the moment.
    pub rate_limited: u64,
    /// The cost exceeds the whole ceiling.
    pub permanent: u64,
}

/// One day of history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HistoryDay {
    /// The UTC day, `YYYY-MM-DD`.
    #[serde(with = "iso_date")]
    pub date: Date,
    /// Calls that succeeded.
    pub calls: u64,
    /// Units charged.
    pub units: u64,
}

time::serde::format_description!(iso_date, Date, "[year]-[month]-[day]");
