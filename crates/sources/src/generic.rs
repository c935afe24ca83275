//! The one source that runs every catalogue entry without code of its own.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use async_trait::async_trait;
use brownstone_domain::{
    Bbl, FieldValue, MatchedBy, Record, SourceData, SourceEntry, SourceStatus, published::parse_day,
};
use brownstone_soda::{
    Bounds, Column, Condition, Literal, Query, Row, Rows, Select, Soda, SodaError, all_rows,
};
use serde_json::value::RawValue;
use time::Date;
use tokio::time::Instant;

use crate::{
    LotKind, Source, SourceInfo, Subject,
    catalogue::{
        Child, Entry,
        spec::{Fetch, LiteralType, SummaryOf},
    },
    deps::Shared,
    matching::{Keys, MatchRule},
    summary::{Group, GroupFacts, Whole, raw_text, sum_alias, summarise},
};

/// Records shown at most.
pub(crate) const CAP: usize = 100;
/// One more than shown tells whether there are more.
const ASK: u32 = 101;
/// Rows asked for when rubbish dates crowd the top: the newest hundred and a margin for rubbish inside the window.
const ASK_WINDOW: u32 = 200;
/// Groups a summary is made of at most; more means that a column is no word of a small set.
const MOST_GROUPS: u32 = 5_000;
/// Rows of one building at most; far above the largest.
const MOST_ROWS: usize = 50_000;
/// Values of one `in (...)`.
const MOST_VALUES: usize = Condition::MAX_IN;

/// Why a source has no answer. For the log; the entry says `error`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Soda(#[from] SodaError),
    #[error("the dataset changed: {0}")]
    Drift(&'static str),
    #[error("the answer cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// Which of the building's rows.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Newest,
    All { most: usize },
}

/// A catalogue entry and what it is run with.
pub(crate) struct SodaSource {
    entry: Entry,
    shared: Arc<Shared>,
    /// Whether the publisher changed the types of the key columns from what the catalogue says.
    other_types: AtomicBool,
}

/// A building's records, newest first and capped, and what is known about all of them.
pub(crate) struct Gathered {
    pub(crate) records: Vec<Record>,
    pub(crate) count: u64,
    pub(crate) summary: Vec<(String, Box<RawValue>)>,
}

impl SodaSource {
    pub(crate) fn new(entry: Entry, shared: Arc<Shared>) -> Self {
        Self {
            entry,
            shared,
            other_types: AtomicBool::new(false),
        }
    }

    pub(crate) const fn entry(&self) -> &Entry {
        &self.entry
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn today(&self) -> Date {
        self.shared.deps.clock.now().date()
    }

    async fn data(
        &self,
        subject: &Subject,
        deadline: Instant,
    ) -> Result<Option<SourceData>, Failure> {
        let Some((rule, keys)) = choose(&self.entry, &self.shared, subject, deadline).await? else {
            return Ok(None);
        };
        let mut gathered = match self.entry.fetch {
            Fetch::Newest => self.newest(rule, &keys, deadline).await?,
            Fetch::All => self.all(rule, &keys, deadline).await?,
        };
        if gathered.count == 0 {
            return Ok(None);
        }
        self.add_texts(&mut gathered.records, deadline).await;
        for child in &self.entry.children {
            self.add_children(child, &mut gathered.records, deadline)
                .await?;
        }
        Ok(Some(source_data(
            &self.entry,
            &self.shared,
            keys.matched_by(),
            gathered,
        )))
    }

    /// Asks with the types the catalogue states, and once with the others where the publisher says they do not fit.
    async fn ask(
        &self,
        rule: &MatchRule,
        keys: &Keys,
        how: Ask,
        deadline: Instant,
    ) -> Result<(Rows, Condition), Failure> {
        let stated = self.other_types.load(Relaxed);
        let mut refused = Failure::Drift("no condition for the keys");
        for other in [stated, !stated] {
            let Some(condition) = rule.condition(keys, other) else {
                continue;
            };
            let answer = match how {
                Ask::Newest => {
                    let query = self.newest_query(condition.clone());
                    self.soda().rows(&query, deadline).await
                }
                Ask::All { most } => {
                    let query = Query::of(self.entry.dataset.clone()).filter(condition.clone());
                    every(self.soda(), &query, most, deadline).await
                }
            };
            match answer {
                Ok(rows) => {
                    if other != stated {
                        tracing::warn!(source = %self.entry.info.key, "key columns changed their type");
                        self.other_types.store(other, Relaxed);
                    }
                    return Ok((rows, condition));
                }
                Err(error) if is_mismatch(&error) && other == stated => refused = error.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused)
    }

    fn soda(&self) -> &dyn Soda {
        self.shared.publisher(self.entry.host).soda.as_ref()
    }

    fn newest_query(&self, condition: Condition) -> Query {
        Query {
            order: self.entry.order.asked(),
            ..Query::of(self.entry.dataset.clone())
                .filter(condition)
                .limit(ASK)
        }
    }

    /// The newest by the publisher's own order, and the publisher's counts where there are more.
    async fn newest(
        &self,
        rule: &MatchRule,
        keys: &Keys,
        deadline: Instant,
    ) -> Result<Gathered, Failure> {
        let entry = &self.entry;
        let (rows, condition) = self.ask(rule, keys, Ask::Newest, deadline).await?;
        let missing = missing_columns(entry, &rows);
        let today = self.today();
        let capped = rows.rows.len() > CAP;
        let mut records = self.records(rows)?;
        if !capped {
            return self.whole(records, &missing);
        }

        let believable = records
            .iter()
            .take(CAP)
            .all(|record| entry.order.is_dated(record, today));
        let (newest, counted, distinct, oldest) = futures::try_join!(
            async {
                match entry.order.window(today) {
                    Some(window) if !believable => {
                        let query = self.newest_query(condition.clone().and(window));
                        let query = query.limit(ASK_WINDOW);
                        let rows = self.soda().rows(&query, deadline).await?;
                        self.records(rows).map(Some)
                    }
                    _ => Ok(None),
                }
            },
            self.groups(&condition, &missing, deadline),
            self.distinct(&condition, &missing, deadline),
            self.oldest(&condition, today, deadline),
        )?;
        if let Some(newest) = newest {
            // The true newest, then as many of the undated as there is room for.
            records.retain(|record| !entry.order.is_dated(record, today));
            let dated = newest
                .into_iter()
                .filter(|record| entry.order.is_dated(record, today));
            records = dated.chain(records).collect();
        }
        entry.order.sort(&mut records, today);
        self.drop_repeats(&mut records);
        records.truncate(CAP);

        let (groups, summed, mut missing) = counted;
        let total = match self.entry.row_key.first() {
            Some(key) => distinct.get(key.as_str()).copied(),
            None => None,
        }
        .unwrap_or_else(|| groups.iter().map(|group| group.count).sum());
        // The rows at hand are the least there can be, should the table change between two requests.
        let total = total.max(records.len() as u64);
        for column in entry
            .summary
            .iter()
            .filter(|field| field.of == SummaryOf::Distinct)
            .map(|field| &field.column)
        {
            if !distinct.contains_key(column) {
                missing.insert(column.clone());
            }
        }
        let facts: Vec<GroupFacts<'_>> = groups
            .iter()
            .map(|group| GroupFacts {
                group,
                summed: &summed,
            })
            .collect();
        let summary = summarise(
            &entry.summary,
            &facts,
            &Whole {
                total,
                truncated: total > records.len() as u64,
                first: records.first(),
                newest: self.date_of(records.first(), today),
                oldest,
                missing: &missing,
                distinct: &distinct,
                today,
            },
        )?;
        Ok(Gathered {
            records,
            count: total,
            summary,
        })
    }

    /// Every row, sorted here.
    async fn all(
        &self,
        rule: &MatchRule,
        keys: &Keys,
        deadline: Instant,
    ) -> Result<Gathered, Failure> {
        let (rows, missing) = self.every_row(rule, keys, MOST_ROWS, deadline).await?;
        let records = self.records(rows)?;
        self.whole(records, &missing)
    }

    /// Every row of the building, and the columns the dataset no longer has.
    pub(crate) async fn every_row(
        &self,
        rule: &MatchRule,
        keys: &Keys,
        most: usize,
        deadline: Instant,
    ) -> Result<(Rows, HashSet<String>), Failure> {
        let (rows, _) = self.ask(rule, keys, Ask::All { most }, deadline).await?;
        let missing = missing_columns(&self.entry, &rows);
        Ok((rows, missing))
    }

    /// What is known when all records are at hand.
    pub(crate) fn whole(
        &self,
        mut records: Vec<Record>,
        missing: &HashSet<String>,
    ) -> Result<Gathered, Failure> {
        let entry = &self.entry;
        let today = self.today();
        if let Some(key) = entry.order.date_column()
            && missing.contains(key.column.as_str())
        {
            return Err(Failure::Drift("the date to sort by is gone"));
        }
        entry.order.sort(&mut records, today);
        self.drop_repeats(&mut records);
        let count = records.len() as u64;
        let oldest = records
            .iter()
            .rev()
            .find_map(|record| self.date_of(Some(record), today));
        let summary = summarise(
            &entry.summary,
            &records,
            &Whole {
                total: count,
                truncated: records.len() > CAP,
                first: records.first(),
                newest: self.date_of(records.first(), today),
                oldest,
                missing,
                distinct: &BTreeMap::new(),
                today,
            },
        )?;
        records.truncate(CAP);
        Ok(Gathered {
            records,
            count,
            summary,
        })
    }

    fn records(&self, rows: Rows) -> Result<Vec<Record>, Failure> {
        let header = rows.fields.as_deref();
        let records: Vec<Record> = rows
            .rows
            .into_iter()
            .map(|row| self.entry.shape.record(row, header))
            .collect();
        if let Some(key) = self.entry.order.date_column() {
            let mut stated = records
                .iter()
                .filter_map(|record| record.text(key.column.as_str()))
                .filter(|text| !text.trim().is_empty())
                .peekable();
            // A building may have a few rubbish dates; all of them unreadable is a format nobody told us of.
            let enough = stated.clone().count() >= 3;
            if enough && stated.all(|text| parse_day(text).is_none()) {
                return Err(Failure::Drift("no date can be read"));
            }
        }
        Ok(records)
    }

    /// A date that can be believed, as published.
    fn date_of(&self, record: Option<&Record>, today: Date) -> Option<String> {
        let (record, key) = (record?, self.entry.order.date_column()?);
        self.entry
            .order
            .is_dated(record, today)
            .then(|| record.text(key.column.as_str()).map(str::to_owned))?
    }

    /// Leaves of the records with one row key the first, which is the newest.
    fn drop_repeats(&self, records: &mut Vec<Record>) {
        let key = &self.entry.row_key;
        if key.is_empty() {
            return;
        }
        let mut seen: HashSet<Vec<String>> = HashSet::new();
        records.retain(|record| {
            let values: Vec<String> = key
                .iter()
                .map(|column| record.text(column.as_str()).unwrap_or_default().to_owned())
                .collect();
            // A record without the key is itself.
            values.iter().all(String::is_empty) || seen.insert(values)
        });
    }

    /// The publisher's counts and sums by every combination of the columns that the summaries need. What the dataset no
    /// longer has or can no longer add up is left out step by step; the count itself always remains.
    async fn groups(
        &self,
        condition: &Condition,
        missing: &HashSet<String>,
        deadline: Instant,
    ) -> Result<(Vec<Group>, Vec<String>, HashSet<String>), Failure> {
        let soda = self.soda();
        let mut by: Vec<String> = Vec::new();
        let mut summed: Vec<String> = Vec::new();
        let usable = |field: &&crate::summary::Summary| {
            field.needs().all(|column| !missing.contains(column))
        };
        for field in self.entry.summary.iter().filter(usable) {
            by.extend(field.group_columns().map(str::to_owned));
            if field.of == SummaryOf::Sum {
                summed.push(field.column.clone());
            }
        }
        for columns in [&mut by, &mut summed] {
            columns.sort();
            columns.dedup();
        }
        let plans = [
            (by.clone(), summed.clone()),
            (by.clone(), Vec::new()),
            (Vec::new(), Vec::new()),
        ];
        let mut refused = None;
        for (by, summed) in plans {
            let lost: HashSet<String> = missing
                .iter()
                .cloned()
                .chain(self.columns_lost(&by, &summed))
                .collect();
            let query = grouped(&self.entry, condition, &by, &summed)?;
            match soda.rows(&query, deadline).await {
                Ok(rows) if rows.rows.len() >= MOST_GROUPS as usize => {
                    refused = Some(Failure::Drift("a column has too many values to count by"));
                }
                Ok(rows) => return Ok((groups_of(rows)?, summed, lost)),
                Err(error @ (SodaError::NoSuchColumn { .. } | SodaError::BadQuery { .. })) => {
                    tracing::warn!(source = %self.entry.info.key, %error, "summary");
                    refused = Some(error.into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused.unwrap_or(Failure::Drift("nothing can be counted")))
    }

    /// The columns of summaries that a plan cannot give.
    fn columns_lost(&self, by: &[String], summed: &[String]) -> Vec<String> {
        self.entry
            .summary
            .iter()
            .flat_map(|field| {
                let grouped = field
                    .group_columns()
                    .map(str::to_owned)
                    .filter(|column| !by.contains(column));
                let sum = (field.of == SummaryOf::Sum && !summed.contains(&field.column))
                    .then(|| field.column.clone());
                grouped.chain(sum).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Distinct values, of the row key and where a summary wants them.
    async fn distinct(
        &self,
        condition: &Condition,
        missing: &HashSet<String>,
        deadline: Instant,
    ) -> Result<BTreeMap<String, u64>, Failure> {
        let wanted = self
            .entry
            .summary
            .iter()
            .filter(|field| field.of == SummaryOf::Distinct)
            .map(|field| field.column.as_str());
        let mut columns: Vec<&str> = wanted
            .chain(self.entry.row_key.iter().map(Column::as_str))
            .filter(|column| !missing.contains(*column))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        if columns.is_empty() {
            return Ok(BTreeMap::new());
        }
        let select = columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                Ok(Select::CountDistinct(
                    name(column)?,
                    name(&format!("distinct_{at}"))?,
                ))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let query = Query::of(self.entry.dataset.clone())
            .select(select)
            .filter(condition.clone())
            .limit(1);
        let soda = self.soda();
        match soda.rows(&query, deadline).await {
            Ok(rows) => Ok(columns
                .iter()
                .enumerate()
                .filter_map(|(at, column)| {
                    let row = rows.rows.first()?;
                    let count = whole_number(row, &format!("distinct_{at}"))?;
                    Some(((*column).to_owned(), count))
                })
                .collect()),
            Err(error @ (SodaError::NoSuchColumn { .. } | SodaError::BadQuery { .. })) => {
                tracing::warn!(source = %self.entry.info.key, %error, "distinct");
                Ok(BTreeMap::new())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The oldest date that can be believed, as published.
    async fn oldest(
        &self,
        condition: &Condition,
        today: Date,
        deadline: Instant,
    ) -> Result<Option<String>, Failure> {
        let wanted = self
            .entry
            .summary
            .iter()
            .any(|field| field.of == SummaryOf::Oldest);
        let (Some(key), Some(window), true) = (
            self.entry.order.date_column(),
            self.entry.order.window(today),
            wanted,
        ) else {
            return Ok(None);
        };
        let query = Query::of(self.entry.dataset.clone())
            .select([Select::Min(key.column.clone(), name("oldest")?)])
            .filter(condition.clone().and(window))
            .limit(1);
        let soda = self.soda();
        let rows = soda.rows(&query, deadline).await?;
        Ok(rows
            .rows
            .first()
            .and_then(|row| row.get("oldest"))
            .and_then(|raw| raw_text(raw).map(Cow::into_owned)))
    }

    /// Puts the rows of another dataset into the records they belong to.
    async fn add_children(
        &self,
        child: &Child,
        records: &mut [Record],
        deadline: Instant,
    ) -> Result<(), Failure> {
        let parents: Vec<Option<String>> = records
            .iter()
            .map(|record| record.text(&child.parent).map(plain_key))
            .collect();
        let mut wanted: Vec<&String> = parents.iter().flatten().collect();
        wanted.sort();
        wanted.dedup();
        let mut found: HashMap<String, Vec<Record>> = HashMap::new();
        for chunk in wanted.chunks(MOST_VALUES) {
            let values = chunk.iter().filter_map(|value| match child.literal {
                LiteralType::Text => Some(Literal::Text((*value).clone())),
                LiteralType::Number => value.parse().ok().map(Literal::Number),
            });
            let Some(condition) = Condition::any_of(child.column.clone(), values) else {
                continue;
            };
            let query = Query::of(child.dataset.clone()).filter(condition);
            let soda = self.soda();
            let mut rows = every(soda, &query, MOST_ROWS, deadline).await?;
            if let Some(order) = &child.order {
                rows.rows.sort_by_cached_key(|row| {
                    row.get(order.as_str()).and_then(|raw| sortable(raw))
                });
            }
            let header = rows.fields;
            for row in rows.rows {
                let record = child.shape.record(row, header.as_deref());
                if let Some(key) = record.text(child.column.as_str()).map(plain_key) {
                    found.entry(key).or_default().push(record);
                }
            }
        }
        let nothing = Vec::new();
        for (record, parent) in records.iter_mut().zip(parents) {
            let rows = parent.and_then(|key| found.get(&key)).unwrap_or(&nothing);
            let json = serde_json::value::to_raw_value(rows)?;
            record.push(child.field.as_str(), FieldValue::Json(json));
        }
        Ok(())
    }

    /// Adds the words for the codes.
    pub(crate) async fn add_texts(&self, records: &mut [Record], deadline: Instant) {
        for lookup in &self.entry.lookups {
            let table = self.shared.codes(self.entry.host, lookup, deadline).await;
            for record in &mut *records {
                let text = table
                    .as_ref()
                    .and_then(|table| table.get(record.text(&lookup.column)?.trim()))
                    .map_or(FieldValue::Null, |text| FieldValue::Text(text.clone()));
                record.push(lookup.field.as_str(), text);
            }
        }
    }
}

#[async_trait]
impl Source for SodaSource {
    fn info(&self) -> &SourceInfo {
        &self.entry.info
    }

    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        entry_of(self.key(), self.data(subject, deadline).await)
    }
}

/// Every row that meets the query's condition, or an error: never some of them.
pub(crate) async fn every(
    soda: &dyn Soda,
    query: &Query,
    most: usize,
    deadline: Instant,
) -> Result<Rows, SodaError> {
    let bounds = Bounds {
        max_rows: most,
        ..Bounds::default()
    };
    let walked = all_rows(soda, query, bounds, deadline).await?;
    if walked.complete {
        Ok(walked.rows)
    } else {
        Err(SodaError::Unavailable(format!("more than {most} rows")))
    }
}

/// Whether the publisher says that a literal's type is not its column's.
pub(crate) fn is_mismatch(error: &SodaError) -> bool {
    matches!(error, SodaError::BadQuery { code } if code.contains("type-mismatch"))
}

/// The entry for what a source found. The one place where a failure becomes `error`, and where it is logged.
pub(crate) fn entry_of(key: &str, found: Result<Option<SourceData>, Failure>) -> SourceEntry {
    let entry = found.and_then(|data| match data {
        Some(data) => Ok(SourceEntry::ok(&data)?),
        None => Ok(SourceEntry::without_data(SourceStatus::NotFound)),
    });
    entry.unwrap_or_else(|failure| {
        tracing::warn!(source = key, %failure, "no answer");
        SourceEntry::without_data(SourceStatus::Error)
    })
}

/// `data` of an entry, but for what only the source knows.
pub(crate) fn source_data(
    entry: &Entry,
    shared: &Shared,
    matched_by: MatchedBy,
    gathered: Gathered,
) -> SourceData {
    let updated = shared
        .publisher(entry.host)
        .updates
        .updated_at(&entry.dataset);
    let now = shared.deps.clock.now();
    let stale = match (updated, entry.info.cadence_days) {
        (Some(updated), Some(days)) => Some(now - updated > time::Duration::days(i64::from(days))),
        _ => None,
    };
    SourceData {
        records_truncated: gathered.count > gathered.records.len() as u64,
        records: gathered.records,
        record_count: gathered.count,
        matched_by,
        source_url: entry.info.url.clone(),
        source_updated_at: updated,
        stale,
        summary: gathered.summary,
    }
}

/// The first rule, in the catalogue's order, for which the subject has a key, and those keys.
///
/// Where the subject lacks the key (a lot's report has no BIN, a building without a lot no BBL), the city's building
/// footprints say which buildings stand on the lot or on which lot a building stands. `None`: they answered, and there
/// is none, so the publisher, who knows nothing but that key, can have nothing.
pub(crate) async fn choose<'a>(
    entry: &'a Entry,
    shared: &Shared,
    subject: &Subject,
    deadline: Instant,
) -> Result<Option<(&'a MatchRule, Keys)>, SodaError> {
    for rule in &entry.rules {
        if rule.by_bin() {
            if let Some(bin) = subject.bin {
                return Ok(Some((rule, Keys::Bins(vec![bin]))));
            }
        } else if let Some(keys) = lots(entry, shared, subject, deadline).await? {
            return Ok(Some((rule, keys)));
        }
    }
    let by_bin = entry.rules.iter().find(|rule| rule.by_bin());
    if let (Some(rule), None) = (by_bin, subject.bin) {
        let mut bins = subject.lot_bins.clone();
        if let (true, Some(bbl)) = (bins.is_empty(), subject.bbl) {
            let buildings = shared.directory.buildings_on(bbl, deadline).await?;
            bins.extend(buildings.iter().map(|building| building.bin));
        }
        return Ok((!bins.is_empty()).then_some((rule, Keys::Bins(bins))));
    }
    let by_lot = entry.rules.iter().find(|rule| !rule.by_bin());
    if let (Some(rule), Some(bin), None) = (by_lot, subject.bin, subject.bbl) {
        let building = shared.directory.building(bin, deadline).await?;
        return Ok(building.and_then(|building| building.bbl).map(|lot| {
            let lots = vec![lot];
            (rule, Keys::Lots { lots, unit: false })
        }));
    }
    Ok(None)
}

/// The lots an entry wants, of those the subject has.
async fn lots(
    entry: &Entry,
    shared: &Shared,
    subject: &Subject,
    deadline: Instant,
) -> Result<Option<Keys>, SodaError> {
    let one = |lot: Bbl, unit| Keys::Lots {
        lots: vec![lot],
        unit,
    };
    Ok(match (entry.info.lot, subject.bbl, subject.unit_bbl) {
        (LotKind::Unit, _, Some(unit)) => Some(one(unit, true)),
        (LotKind::Base, Some(bbl), _) if bbl.is_billing_lot() => {
            let lots = shared.directory.base_lots(bbl, deadline).await?;
            Some(if lots.is_empty() {
                one(bbl, false)
            } else {
                Keys::Lots { lots, unit: false }
            })
        }
        (_, Some(bbl), _) => Some(one(bbl, false)),
        (_, None, _) => None,
    })
}

/// Columns the catalogue knows and the publisher's header does not name.
fn missing_columns(entry: &Entry, rows: &Rows) -> HashSet<String> {
    let Some(header) = &rows.fields else {
        return HashSet::new();
    };
    entry
        .shape
        .names()
        .filter(|known| !header.iter().any(|column| column == known))
        .map(str::to_owned)
        .collect()
}

fn grouped(
    entry: &Entry,
    condition: &Condition,
    by: &[String],
    summed: &[String],
) -> Result<Query, Failure> {
    let by = by
        .iter()
        .map(|column| name(column))
        .collect::<Result<Vec<_>, _>>()?;
    let mut select: Vec<Select> = by.iter().cloned().map(Select::Column).collect();
    select.push(Select::Count(name("row_total")?));
    for (at, column) in summed.iter().enumerate() {
        select.push(Select::Sum(name(column)?, name(&sum_alias(at))?));
    }
    Ok(Query::of(entry.dataset.clone())
        .select(select)
        .filter(condition.clone())
        .group(by)
        .limit(MOST_GROUPS))
}

fn groups_of(rows: Rows) -> Result<Vec<Group>, Failure> {
    rows.rows
        .into_iter()
        .map(|row| {
            let count =
                whole_number(&row, "row_total").ok_or(Failure::Drift("a count is no number"))?;
            Ok(Group { count, row })
        })
        .collect()
}

fn whole_number(row: &Row, column: &str) -> Option<u64> {
    row.get(column)
        .and_then(|raw| raw_text(raw)?.trim().parse().ok())
}

/// A column name that was checked before, or is our own.
fn name(column: &str) -> Result<Column, Failure> {
    Column::new(column).map_err(|_| Failure::Drift("a column's name is no name"))
}

/// A key as it joins: without blanks and without a number's decimals.
fn plain_key(text: &str) -> String {
    match FieldValue::identifier(text.trim()) {
        FieldValue::Text(plain) => plain,
        _ => text.to_owned(),
    }
}

/// Numbers by size, then texts.
fn sortable(raw: &RawValue) -> Option<(u64, String)> {
    let text = raw_text(raw)?;
    Some((text.parse().unwrap_or(u64::MAX), text.into_owned()))
}
