//! Lots, buildings and condominium units, as the city's own tables join them.
//!
//! A condominium has three kinds of lot: unit lots hold owners and bills, the billing lot holds the building's record,
//! base lots hold the zoning. Two tables join them: units to base lots, and base lots to the billing lot.

use std::{borrow::Cow, sync::Arc, time::Duration};

use brownstone_domain::{Bbl, Bin, Zip};
use brownstone_soda::{
    Column, Condition, DatasetId, Literal, Query, QueryError, Row, Soda, SodaError,
};
use moka::future::Cache;
use tokio::time::Instant;

use crate::{
    Subject,
    generic::{every, is_mismatch},
    summary::raw_text,
};

const PLUTO: &str = "64uk-42ks";
const FOOTPRINTS: &str = "5zhs-2jue";
const CONDOMINIUMS: &str = "p8u6-a6it";
const CONDOMINIUM_UNITS: &str = "eguu-7ie3";

/// Footprints of a lot, or units of a condominium, at most; far above the largest.
const MOST: usize = 20_000;

/// A tax lot as PLUTO has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lot {
    /// The lot; the billing lot for a condominium.
    pub bbl: Bbl,
    /// PLUTO's one address of the lot, house number and street.
    pub address: Option<String>,
    /// Owner, by the finance department's rolls.
    pub owner: Option<String>,
    /// ZIP code.
    pub zip: Option<Zip>,
    /// Degrees north, of the lot's middle.
    pub latitude: Option<f64>,
    /// Degrees east: negative here.
    pub longitude: Option<f64>,
    /// Buildings on the lot by PLUTO's own count.
    pub buildings: Option<u32>,
}

/// A building as the footprints have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// The building.
    pub bin: Bin,
    /// Its lot; the billing lot for a condominium.
    pub bbl: Option<Bbl>,
    /// The lot it stands on.
    pub base_bbl: Option<Bbl>,
    /// Whether it is a garage and no building of its own.
    pub garage: bool,
}

/// What stands behind a condominium's billing lot.
#[derive(Debug, Default)]
pub(crate) struct Condominium {
    /// The lots it was built on; empty where the tables do not know it.
    pub(crate) bases: Vec<Bbl>,
    /// Those of them on which another condominium stands, too.
    pub(crate) shared: Vec<Bbl>,
    /// Its keys in the table of units.
    pub(crate) keys: Vec<String>,
}

/// Looks lots, buildings and units up in the city's tables.
#[derive(Clone)]
pub struct Directory {
    soda: Arc<dyn Soda>,
    // Several sources of one report ask the same, at once.
    buildings: Cache<Bbl, Arc<[Footprint]>>,
    condominiums: Cache<Bbl, Arc<Condominium>>,
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").finish_non_exhaustive()
    }
}

impl Directory {
    /// A directory over the city's host.
    pub fn new(soda: Arc<dyn Soda>) -> Self {
        let minutes = Duration::from_secs(10 * 60);
        Self {
            soda,
            buildings: Cache::builder()
                .max_capacity(10_000)
                .time_to_live(minutes)
                .build(),
            condominiums: Cache::builder()
                .max_capacity(10_000)
                .time_to_live(minutes)
                .build(),
        }
    }

    /// The lot. `None` for a lot PLUTO has no row of, which every condominium's unit lot is.
    ///
    /// # Errors
    /// When the publisher does not answer.
    pub async fn lot(&self, bbl: Bbl, deadline: Instant) -> Result<Option<Lot>, SodaError> {
        let key = number("bbl", bbl_number(bbl));
        let rows = self.ask(PLUTO, &[], &[key], deadline).await?;
        Ok(rows.first().map(|row| Lot {
            bbl: id(row, "bbl").unwrap_or(bbl),
            address: text(row, "address").map(|text| text.trim().to_owned()),
            owner: text(row, "ownername").map(|text| text.trim().to_owned()),
            zip: id(row, "zipcode"),
            latitude: coordinate(row, "latitude"),
            longitude: coordinate(row, "longitude"),
            buildings: id(row, "numbldgs"),
        }))
    }

    /// Latitude and longitude of a subject: its own, else its lot's. `None` where neither is known.
    pub(crate) async fn place(
        &self,
        subject: &Subject,
        deadline: Instant,
    ) -> Result<Option<(f64, f64)>, SodaError> {
        if let (Some(latitude), Some(longitude)) = (subject.latitude, subject.longitude)
            && latitude.is_finite()
            && longitude.is_finite()
        {
            return Ok(Some((latitude, longitude)));
        }
        let Some(bbl) = subject.bbl else {
            return Ok(None);
        };
        let lot = self.lot(bbl, deadline).await?;
        Ok(lot.and_then(|lot| Some((lot.latitude?, lot.longitude?))))
    }

    /// The building.
    ///
    /// # Errors
    /// When the publisher does not answer.
    pub async fn building(
        &self,
        bin: Bin,
        deadline: Instant,
    ) -> Result<Option<Footprint>, SodaError> {
        let key = number("bin", i64::from(bin.get()));
        let found = self.footprints(&[key], deadline).await?;
        Ok(found.into_iter().find(|building| building.bin == bin))
    }

    /// Every building on the lot, by number; garages too, which say that they are.
    ///
    /// # Errors
    /// When the publisher does not answer.
    pub async fn buildings_on(
        &self,
        bbl: Bbl,
        deadline: Instant,
    ) -> Result<Arc<[Footprint]>, SodaError> {
        let load = async {
            let lot = |column| literal(column, Literal::Text(bbl.to_string()));
            let mut buildings = self
                .footprints(&[lot("mappluto_bbl"), lot("base_bbl")], deadline)
                .await?;
            buildings.sort_by_key(|building| building.bin);
            buildings.dedup_by_key(|building| building.bin);
            Ok::<_, SodaError>(Arc::from(buildings))
        };
        self.buildings
            .try_get_with(bbl, load)
            .await
            .map_err(|error| SodaError::clone(&error))
    }

    /// The condominium's billing lot, of one of its unit lots.
    ///
    /// # Errors
    /// When the publisher does not answer.
    pub async fn billing_lot(
        &self,
        unit: Bbl,
        deadline: Instant,
    ) -> Result<Option<Bbl>, SodaError> {
        let key = literal("unit_bbl", Literal::Text(unit.to_string()));
        let units = self.ask(CONDOMINIUM_UNITS, &[], &[key], deadline).await?;
        let Some(unit_row) = units.first() else {
            return Ok(None);
        };
        let Some(base) = id::<Bbl>(unit_row, "condo_base_bbl") else {
            return Ok(None);
        };
        let key = literal("condo_base_bbl", Literal::Text(base.to_string()));
        let condominiums = self.ask(CONDOMINIUMS, &[], &[key], deadline).await?;
        // Two condominiums may share a base lot; the key tells them apart.
        let condo = text(unit_row, "condo_key");
        Ok(condominiums
            .iter()
            .filter(|row| condo.is_none() || text(row, "condo_key") == condo)
            .find_map(|row| id(row, "condo_billing_bbl")))
    }

    /// The lots a condominium was built on, of its billing lot; empty where the tables do not know it.
    ///
    /// # Errors
    /// When the publisher does not answer.
    pub async fn base_lots(&self, billing: Bbl, deadline: Instant) -> Result<Vec<Bbl>, SodaError> {
        let condominium = self.condominium(billing, deadline).await?;
        Ok(condominium.bases.clone())
    }

    /// The condominium with this billing lot.
    pub(crate) async fn condominium(
        &self,
        billing: Bbl,
        deadline: Instant,
    ) -> Result<Arc<Condominium>, SodaError> {
        let load = async {
            let key = literal("condo_billing_bbl", Literal::Text(billing.to_string()));
            let rows = self.ask(CONDOMINIUMS, &[], &[key], deadline).await?;
            let bases: Vec<Bbl> = sorted(rows.iter().filter_map(|row| id(row, "condo_base_bbl")));
            let of_bases = Condition::any_of(
                checked("condo_base_bbl")?,
                bases.iter().map(|base| Literal::Text(base.to_string())),
            );
            let on_bases = match of_bases {
                Some(condition) => {
                    self.ask(CONDOMINIUMS, &[], &[Ok(condition)], deadline)
                        .await?
                }
                None => Vec::new(),
            };
            // A row without a billing lot is another condominium, one that has none yet.
            let others = on_bases
                .iter()
                .filter(|row| id(row, "condo_billing_bbl") != Some(billing));
            Ok::<_, SodaError>(Arc::new(Condominium {
                shared: sorted(others.filter_map(|row| id(row, "condo_base_bbl"))),
                keys: sorted(rows.iter().filter_map(|row| id(row, "condo_key"))),
                bases,
            }))
        };
        self.condominiums
            .try_get_with(billing, load)
            .await
            .map_err(|error| SodaError::clone(&error))
    }

    /// The lot of the unit that is called `designation` in the condominium with this billing lot. `None` where no unit
    /// is called so, or more than one: a neighbour's bill is worse than none.
    ///
    /// # Errors
    /// When the publisher does not answer.
    pub async fn unit_lot(
        &self,
        billing: Bbl,
        designation: &str,
        deadline: Instant,
    ) -> Result<Option<Bbl>, SodaError> {
        let wanted = plain_unit(designation);
        if wanted.is_empty() {
            return Ok(None);
        }
        let key = literal("condo_billing_bbl", Literal::Text(billing.to_string()));
        let condominiums = self.ask(CONDOMINIUMS, &[], &[key], deadline).await?;
        let bases = condominiums
            .iter()
            .filter_map(|row| id::<Bbl>(row, "condo_base_bbl"))
            .map(|base| Literal::Text(base.to_string()));
        let Some(of_bases) = Condition::any_of(checked("condo_base_bbl")?, bases) else {
            return Ok(None);
        };
        let condos: Vec<String> = condominiums
            .iter()
            .filter_map(|row| text(row, "condo_key"))
            .collect();
        let units = self
            .ask(CONDOMINIUM_UNITS, &[], &[Ok(of_bases)], deadline)
            .await?;
        let mut found: Vec<Bbl> = units
            .iter()
            .filter(|row| text(row, "condo_key").is_none_or(|condo| condos.contains(&condo)))
            .filter(|row| {
                text(row, "unit_designation").is_some_and(|named| plain_unit(&named) == wanted)
            })
            .filter_map(|row| id(row, "unit_bbl"))
            .collect();
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [one] => Ok(Some(*one)),
            _ => Ok(None),
        }
    }

    async fn footprints(
        &self,
        any: &[Result<Condition, SodaError>],
        deadline: Instant,
    ) -> Result<Vec<Footprint>, SodaError> {
        // The shape of a building is by far the greatest part of its row.
        let columns = ["bin", "base_bbl", "mappluto_bbl", "feature_code"];
        let rows = self.ask(FOOTPRINTS, &columns, any, deadline).await?;
        Ok(rows
            .iter()
            .filter_map(|row| {
                let base_bbl = id(row, "base_bbl");
                Some(Footprint {
                    bin: id(row, "bin")?,
                    bbl: id(row, "mappluto_bbl").or(base_bbl),
                    base_bbl,
                    garage: id(row, "feature_code") == Some(5110_u32),
                })
            })
            .collect())
    }

    /// All rows that meet any of the conditions. Where the publisher says that a key's type does not fit it is asked
    /// with the other, and where a column is gone all of them are.
    async fn ask(
        &self,
        dataset: &str,
        columns: &[&str],
        any: &[Result<Condition, SodaError>],
        deadline: Instant,
    ) -> Result<Vec<Row>, SodaError> {
        let conditions = any.iter().cloned().collect::<Result<Vec<_>, _>>()?;
        let condition = match <[Condition; 1]>::try_from(conditions) {
            Ok([one]) => one,
            Err(several) => Condition::Or(several),
        };
        let all = Query::of(DatasetId::new(dataset).map_err(|error| unaskable(&error))?);
        let columns = columns
            .iter()
            .map(|column| checked(column))
            .collect::<Result<Vec<_>, _>>()?;
        let mut query = all.clone().filter(condition.clone()).columns(columns);
        let mut retyped = false;
        loop {
            match every(self.soda.as_ref(), &query, MOST, deadline).await {
                Err(SodaError::NoSuchColumn { .. }) if !query.select.is_empty() => {
                    query.select.clear();
                }
                Err(error) if is_mismatch(&error) && !retyped => {
                    retyped = true;
                    query.filter = Some(other_types(&condition));
                }
                answer => return Ok(answer?.rows),
            }
        }
    }
}

fn checked(column: &str) -> Result<Column, SodaError> {
    Column::new(column).map_err(|error| unaskable(&error))
}

fn unaskable(error: &QueryError) -> SodaError {
    SodaError::BadQuery {
        code: error.to_string(),
    }
}

fn literal(column: &str, value: Literal) -> Result<Condition, SodaError> {
    Ok(Condition::Eq(checked(column)?, value))
}

fn number(column: &str, value: i64) -> Result<Condition, SodaError> {
    literal(column, Literal::Number(value))
}

fn bbl_number(bbl: Bbl) -> i64 {
    i64::from(bbl.borough().digit()) * 1_000_000_000
        + i64::from(bbl.block()) * 10_000
        + i64::from(bbl.lot())
}

/// The same condition with numbers as text and digits as numbers.
fn other_types(condition: &Condition) -> Condition {
    let other = |literal: &Literal| match literal {
        Literal::Number(number) => Literal::Text(number.to_string()),
        Literal::Text(text) => text
            .parse()
            .map_or_else(|_| literal.clone(), Literal::Number),
        Literal::Bool(_) => literal.clone(),
    };
    match condition {
        Condition::Eq(column, value) => Condition::Eq(column.clone(), other(value)),
        Condition::In(column, values) => {
            Condition::In(column.clone(), values.iter().map(other).collect())
        }
        Condition::Or(any) => Condition::Or(any.iter().map(other_types).collect()),
        Condition::And(all) => Condition::And(all.iter().map(other_types).collect()),
        unchanged => unchanged.clone(),
    }
}

fn text(row: &Row, column: &str) -> Option<String> {
    row.get(column)
        .and_then(|raw| raw_text(raw))
        .map(Cow::into_owned)
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// An identifier or count, with or without a number's decimals.
fn id<T: std::str::FromStr>(row: &Row, column: &str) -> Option<T> {
    let text = text(row, column)?;
    let text = text.trim();
    let whole = match text.split_once('.') {
        Some((whole, rest)) if rest.bytes().all(|b| b == b'0') => whole,
        _ => text,
    };
    whole.parse().ok()
}

/// Degrees; 0.0 means that there are none.
fn coordinate(row: &Row, column: &str) -> Option<f64> {
    let degrees: f64 = text(row, column)?.trim().parse().ok()?;
    (degrees != 0.0 && degrees.abs() <= 180.0).then_some(degrees)
}

/// A unit's name without what people and agencies write around it: `APT. 5-C`, `#5c` and `UNIT 5C` are `5C`.
fn plain_unit(text: &str) -> String {
    const WORDS: [&str; 10] = [
        "APARTMENT",
        "RESIDENTIAL",
        "SUITE",
        "UNIT",
        "ROOM",
        "APT",
        "STE",
        "RES",
        "NO",
        "RM",
    ];
    let upper = text.to_uppercase();
    let parts: Vec<&str> = upper
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .collect();
    let words = parts.len().saturating_sub(1);
    // A word that stands alone is the name itself.
    let named = parts
        .iter()
        .enumerate()
        .filter(|(at, part)| *at >= words || !WORDS.contains(part))
        .map(|(_, part)| *part)
        .collect::<String>();
    WORDS
        .iter()
        .find_map(|word| {
            let rest = named.strip_prefix(word)?;
            rest.starts_with(|c: char| c.is_ascii_digit())
                .then(|| rest.to_owned())
        })
        .unwrap_or(named)
}

#[cfg(test)]
mod tests {
    use super::plain_unit;

    #[test]
    fn units_are_one_however_written() {
        for text in [
            "5C", "5c", "#5C", "APT 5C", "Apt. 5-C", "UNIT 5C", "UNIT5C", "5 C",
        ] {
            assert_eq!(plain_unit(text), "5C", "{text}");
        }
        assert_eq!(plain_unit("PH-A"), "PHA");
        assert_eq!(plain_unit("NO 3"), "3");
        assert_eq!(plain_unit("COMM"), "COMM");
        assert_eq!(plain_unit("RES"), "RES", "a word alone is the name");
        assert_eq!(plain_unit("RM12"), "12");
        assert_eq!(plain_unit("--"), "");
    }
}
