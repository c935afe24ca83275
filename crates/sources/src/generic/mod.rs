//! The one source that runs every catalogue entry without code of its own.

mod ask;
mod count;
mod extra;

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, atomic::AtomicU8},
};

use async_trait::async_trait;
use brownstone_domain::{MatchedBy, Record, SourceData, SourceEntry, SourceStatus};
use brownstone_soda::{Row, Rows, SodaError};
use serde_json::value::RawValue;
use time::Date;
use tokio::time::Instant;

use crate::{
    Source, SourceInfo, Subject,
    catalogue::{
        Entry,
        spec::{Fetch, SummaryOf},
    },
    deps::Shared,
    keys::{Choice, choose},
    matching::{Keys, MatchRule},
    order::day_of,
    summary::{GroupFacts, Whole, summarise},
};

use self::ask::Ask;
pub(crate) use self::ask::{every, is_mismatch};

/// Records shown at most.
pub(crate) const CAP: usize = 100;
/// One more than shown tells whether there are more.
const ASK: u32 = 101;
/// Rows asked for when rubbish dates crowd the top: the newest hundred and a margin for rubbish inside the window.
const ASK_WINDOW: u32 = 200;
/// Rows of one building at most; far above the largest.
const MOST_ROWS: usize = 50_000;

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

/// A catalogue entry and what it is run with.
pub(crate) struct SodaSource {
    entry: Entry,
    shared: Arc<Shared>,
    /// For each rule, which key columns the publisher gave another type than the catalogue states.
    writings: Vec<AtomicU8>,
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
            writings: entry.rules.iter().map(|_| AtomicU8::new(0)).collect(),
            entry,
            shared,
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
        let choice = choose(&self.entry, &self.shared, subject, deadline).await?;
        let Some(Choice {
            rule,
            mut keys,
            otherwise,
        }) = choice
        else {
            return Ok(None);
        };
        let mut gathered = self.gathered(rule, &keys, deadline).await?;
        if let (0, Some(otherwise)) = (gathered.count, otherwise) {
            keys = otherwise;
            gathered = self.gathered(rule, &keys, deadline).await?;
        }
        if gathered.count == 0 {
            return Ok(None);
        }
        let tables = self.code_tables(deadline).await;
        self.add_texts(&mut gathered.records, &tables);
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

    async fn gathered(
        &self,
        rule: &MatchRule,
        keys: &Keys,
        deadline: Instant,
    ) -> Result<Gathered, Failure> {
        match self.entry.fetch {
            Fetch::Newest => self.newest(rule, keys, deadline).await,
            Fetch::All => self.all(rule, keys, deadline).await,
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
        self.tells_apart(&missing)?;
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
        let mut records = self.records(rows)?;
        records.retain(|record| rule.admits(record, keys));
        self.keep_own(&mut records, keys, &missing)?;
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
        let mut rows = Rows::default();
        let mut seen: HashSet<BTreeMap<String, String>> = HashSet::new();
        let parts = keys.in_parts();
        let several = parts.len() > 1;
        for part in parts {
            let (mut more, _) = self.ask(rule, &part, Ask::All { most }, deadline).await?;
            if several {
                // What a row says decides which parts it is in: one like a row of an earlier part came with that part.
                more.rows.retain(|row| !seen.contains(&content(row)));
                seen.extend(more.rows.iter().map(content));
            }
            rows.fields = rows.fields.or(more.fields);
            rows.rows.extend(more.rows);
        }
        let missing = missing_columns(&self.entry, &rows);
        Ok((rows, missing))
    }

    /// What is known of all rows, fetched otherwise.
    pub(crate) fn all_of(&self, rows: Rows) -> Result<Gathered, Failure> {
        let missing = missing_columns(&self.entry, &rows);
        let records = self.records(rows)?;
        self.whole(records, &missing)
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
            && !key.doubtful
            && missing.contains(key.column.as_str())
        {
            return Err(Failure::Drift("the date to sort by is gone"));
        }
        self.tells_apart(missing)?;
        self.keep_latest(&mut records)?;
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
            if enough && stated.all(|text| day_of(text).is_none()) {
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

    /// Refuses an answer without the columns that tell extracts and repeated rows apart: each of them would count.
    fn tells_apart(&self, missing: &HashSet<String>) -> Result<(), Failure> {
        let mut telling = self.entry.row_key.iter().chain(&self.entry.latest_by);
        match telling.any(|column| missing.contains(column.as_str())) {
            true => Err(Failure::Drift("what tells repeated rows apart is gone")),
            false => Ok(()),
        }
    }

    /// Leaves the records of the condominium that is asked for, where others may stand on the same lot.
    fn keep_own(
        &self,
        records: &mut Vec<Record>,
        keys: &Keys,
        missing: &HashSet<String>,
    ) -> Result<(), Failure> {
        let (Some(column), Keys::Lots { condominiums, .. }) = (&self.entry.condominium, keys)
        else {
            return Ok(());
        };
        if condominiums.is_empty() {
            return Ok(());
        }
        if missing.contains(column.as_str()) {
            return Err(Failure::Drift("what tells condominiums apart is gone"));
        }
        records.retain(|record| {
            let key = record.text(column.as_str()).map(str::trim);
            key.is_none_or(|key| condominiums.iter().any(|own| own == key))
        });
        Ok(())
    }

    /// Leaves the records of the newest extract, where the publisher stacks extracts.
    fn keep_latest(&self, records: &mut Vec<Record>) -> Result<(), Failure> {
        let Some(column) = &self.entry.latest_by else {
            return Ok(());
        };
        let extract = |record: &Record| {
            let text = record.text(column.as_str())?.trim();
            Some((day_of(text), text.to_owned()))
        };
        let latest = records.iter().filter_map(extract).max();
        if latest.is_none() && !records.is_empty() {
            return Err(Failure::Drift("no row says which extract it is of"));
        }
        records.retain(|record| extract(record) == latest);
        Ok(())
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

/// A row's values, as published.
fn content(row: &Row) -> BTreeMap<String, String> {
    row.iter()
        .map(|(name, value)| (name.clone(), value.get().to_owned()))
        .collect()
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
