//! Deeds, mortgages and other recorded documents: three joined queries.
//!
//! The lot's legals name its documents, the master has each document's own data, the parties say who signed. Documents
//! are counted from the legals, so the count never depends on the cap.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use brownstone_domain::{FieldValue, Record, SourceData, SourceEntry};
use brownstone_soda::{Column, Condition, DatasetId, Query, Row, Rows, Select, SodaError};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use tokio::time::Instant;

use crate::{
    FieldInfo, FieldKind, Source, SourceInfo, Subject,
    catalogue::{Entry, spec::SummaryOf},
    deps::Shared,
    generic::{CAP, Failure, SodaSource, entry_of, every, source_data},
    keys::{Choice, choose},
    summary::raw_text,
};

/// Legals of a lot at most.
const MOST_LEGALS: usize = 50_000;
/// Documents whose data is read at most. Beyond it the newest by number are, and what is said of all is not known.
const MOST_DOCUMENTS: usize = 5_000;
/// The column of a document's kind, which is ours.
const CLASS: &str = "document_class";
/// Requests of one step at a time.
const AT_ONCE: usize = 8;

/// A class of document, what its party 1 and party 2 are, and the register's codes for it.
type Class = (
    &'static str,
    [Option<&'static str>; 2],
    &'static [&'static str],
);

/// The kinds of document; what stands in none is `other`.
const CLASSES: &[Class] = &[
    (
        "deed",
        [Some("seller"), Some("buyer")],
        &[
            "DEED", "DEEDO", "DEEDP", "DEED, LE", "DEED, TS", "DEED, RC", "DEED COR", "CONDEED",
            "CORRD", "IDED", "REIT", "ASTU",
        ],
    ),
    (
        "mortgage",
        [Some("borrower"), Some("lender")],
        &[
            "MTGE", "CMTG", "M&CON", "SMTG", "SPRD", "CORRM", "ASPM", "DEMM",
        ],
    ),
    (
        "mortgage",
        [Some("assignor"), Some("assignee")],
        &["ASST", "AL&R", "AALR"],
    ),
    ("mortgage", [None, None], &["AGMT", "SUBM"]),
    (
        "satisfaction",
        [Some("borrower"), Some("lender")],
        &["SAT", "PSAT", "WSAT", "CERR"],
    ),
    ("satisfaction", [None, None], &["PREL", "REL"]),
    (
        "lien",
        [Some("debtor"), Some("secured party")],
        &["FL", "RFL", "FTL", "RFTL", "PRFL", "CNFL", "AMFL", "LOCC"],
    ),
    (
        "lien",
        [None, None],
        &["TLS", "ATL", "DTL", "AMTL", "JUDG", "TOLCC", "NTXL"],
    ),
    (
        "lease",
        [Some("landlord"), Some("tenant")],
        &["LEAS", "MLEA", "TERL"],
    ),
    ("lease", [None, None], &["ASSTO", "SUBL"]),
    (
        "easement",
        [Some("grantor"), Some("grantee")],
        &["EASE", "AIRRIGHT"],
    ),
    ("easement", [None, None], &["DEVR", "ZONE", "DECL"]),
    (
        "transfer_tax",
        [Some("seller"), Some("buyer")],
        &["RPTT", "RETT", "RPTT&RET"],
    ),
];

/// The source of recorded documents.
pub(crate) struct Acris {
    base: SodaSource,
    master: DatasetId,
    parties: DatasetId,
    columns: Columns,
    info: SourceInfo,
}

struct Columns {
    document: Column,
    lots: Column,
}

impl Acris {
    /// The source of `entry`; a text that says what the entry lacks.
    pub(crate) fn new(entry: Entry, shared: Arc<Shared>) -> Result<Self, String> {
        let also = |role: &str| {
            entry
                .also(role)
                .cloned()
                .ok_or_else(|| format!("needs the dataset of the {role}"))
        };
        let column = |name: &str| Column::new(name).map_err(|error| error.to_string());
        let mut info = entry.info.clone();
        info.fields.push(FieldInfo {
            name: "lots_in_document".to_owned(),
            kind: FieldKind::Count,
            tells: "How many lots the document is about.".to_owned(),
        });
        info.fields.push(FieldInfo {
            name: "parties".to_owned(),
            kind: FieldKind::Json,
            tells: "Who signed: name, party_type as published, and role, null where the type gives none.".to_owned(),
        });
        Ok(Self {
            master: also("master")?,
            parties: also("parties")?,
            columns: Columns {
                document: column("document_id")?,
                lots: column("lot_total")?,
            },
            base: SodaSource::new(entry, shared),
            info,
        })
    }

    async fn data(
        &self,
        subject: &Subject,
        deadline: Instant,
    ) -> Result<Option<SourceData>, Failure> {
        let (entry, shared) = (self.base.entry(), self.base.shared());
        let Some(Choice { rule, keys, .. }) = choose(entry, shared, subject, deadline).await?
        else {
            return Ok(None);
        };
        let (rows, _) = self
            .base
            .every_row(rule, &keys, MOST_LEGALS, deadline)
            .await?;
        let mut legals: HashMap<String, Row> = HashMap::new();
        for row in rows.rows {
            if let Some(id) = text(&row, "document_id") {
                legals.entry(id).or_insert(row);
            }
        }
        if legals.is_empty() {
            return Ok(None);
        }
        let total = legals.len() as u64;
        let mut ids: Vec<&str> = legals.keys().map(String::as_str).collect();
        // Numbers of the electronic register begin with the date; film and book records are older.
        ids.sort_unstable_by_key(|id| {
            std::cmp::Reverse((id.starts_with(|c: char| c.is_ascii_digit()), *id))
        });
        ids.truncate(MOST_DOCUMENTS);
        let known_all = ids.len() as u64 == total;

        let masters = self.of_documents(&self.master, &ids, deadline).await?;
        if masters.rows.is_empty() {
            return Err(Failure::Drift("no document has data of its own"));
        }
        let missing = missing_of_master(entry, masters.fields.as_deref());
        let mut records: Vec<Record> = masters
            .rows
            .into_iter()
            .map(|mut row| {
                let legal = text(&row, "document_id").and_then(|id| legals.get(&id));
                for column in ["property_type", "unit"] {
                    if let Some(value) = legal.and_then(|legal| legal.get(column)) {
                        row.insert(column.to_owned(), value.clone());
                    }
                }
                if !missing.contains(CLASS) {
                    let class = class_of(text(&row, "doc_type").as_deref());
                    row.insert(CLASS.to_owned(), to_raw_value(class)?);
                }
                Ok(entry.shape.record(row, None))
            })
            .collect::<Result<_, Failure>>()?;
        let mut seen: HashSet<String> = HashSet::new();
        records.retain(|record| {
            let id = record.text("document_id").unwrap_or_default();
            seen.insert(id.to_owned())
        });
        // A document whose own data the register does not give still counts, and is shown by its number alone.
        let mut nameless = false;
        for id in &ids {
            if seen.insert((*id).to_owned()) {
                nameless = true;
                let mut row = Row::new();
                row.insert("document_id".to_owned(), to_raw_value(id)?);
                records.push(entry.shape.record(row, None));
            }
        }

        let mut gathered = self.base.whole(records, &missing)?;
        if !known_all {
            gathered.count = total;
            forget(entry, &mut gathered.summary, &OF_ALL)?;
        }
        if nameless {
            forget(entry, &mut gathered.summary, &OF_ALL)?;
            forget(entry, &mut gathered.summary, &OF_NEWEST)?;
        }
        self.decorate(&mut gathered.records, deadline).await?;
        Ok(Some(source_data(
            entry,
            shared,
            keys.matched_by(),
            gathered,
        )))
    }

    /// Rows of these documents, in chunks that a request can carry.
    async fn of_documents(
        &self,
        dataset: &DatasetId,
        ids: &[&str],
        deadline: Instant,
    ) -> Result<Rows, Failure> {
        let soda = &self.base.shared().deps.city.soda;
        let mut chunks = Vec::with_capacity(ids.len().div_ceil(Condition::MAX_IN));
        for chunk in ids.chunks(Condition::MAX_IN) {
            let chunk = chunk.iter().copied();
            if let Some(condition) = Condition::any_of(self.columns.document.clone(), chunk) {
                chunks.push(Query::of(dataset.clone()).filter(condition));
            }
        }
        let pages: Vec<Rows> = stream::iter(chunks)
            .map(|query| async move { every(soda.as_ref(), &query, MOST_LEGALS, deadline).await })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let mut all = Rows::default();
        for page in pages {
            all.fields = all.fields.or(page.fields);
            all.rows.extend(page.rows);
        }
        Ok(all)
    }

    /// Parties, the number of lots, and the type in words, for the records shown.
    async fn decorate(&self, records: &mut [Record], deadline: Instant) -> Result<(), Failure> {
        debug_assert!(records.len() <= CAP);
        let ids: Vec<String> = records
            .iter()
            .filter_map(|record| record.text("document_id").map(str::to_owned))
            .collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let (parties, lots, tables) = futures::try_join!(
            self.of_documents(&self.parties, &ids, deadline),
            self.lots_of(&ids, deadline),
            async { Ok(self.base.code_tables(deadline).await) },
        )?;
        self.base.add_texts(records, &tables);
        let mut by_document: HashMap<String, Vec<Party>> = HashMap::new();
        for row in &parties.rows {
            if let Some(id) = text(row, "document_id") {
                by_document.entry(id).or_default().push(Party {
                    name: text(row, "name"),
                    party_type: text(row, "party_type"),
                    role: None,
                });
            }
        }
        for record in &mut *records {
            let id = record.text("document_id").unwrap_or_default().to_owned();
            let mut parties = by_document.remove(&id).unwrap_or_default();
            for party in &mut parties {
                party.role = role_of(record.text("doc_type"), party.party_type.as_deref());
            }
            parties.sort_by(|a, b| (&a.party_type, &a.name).cmp(&(&b.party_type, &b.name)));
            // One name may be listed once for each of its lots.
            parties.dedup();
            let count = lots.get(&id);
            record.push(
                "lots_in_document",
                count.map_or(FieldValue::Null, |count| FieldValue::number(count)),
            );
            record.push("parties", FieldValue::Json(to_raw_value(&parties)?));
        }
        Ok(())
    }

    /// How many lots each document is about.
    async fn lots_of(
        &self,
        ids: &[&str],
        deadline: Instant,
    ) -> Result<HashMap<String, String>, Failure> {
        let Some(condition) = Condition::any_of(self.columns.document.clone(), ids.iter().copied())
        else {
            return Ok(HashMap::new());
        };
        let query = Query::of(self.base.entry().dataset.clone())
            .select([
                Select::Column(self.columns.document.clone()),
                Select::Count(self.columns.lots.clone()),
            ])
            .filter(condition)
            .group([self.columns.document.clone()])
            .limit(Query::DEFAULT_LIMIT);
        let soda = &self.base.shared().deps.city.soda;
        match soda.rows(&query, deadline).await {
            Ok(rows) => Ok(rows
                .rows
                .iter()
                .filter_map(|row| Some((text(row, "document_id")?, text(row, "lot_total")?)))
                .collect()),
            // Beside the document itself this is a detail: where the publisher cannot count, it is not known.
            Err(error @ (SodaError::NoSuchColumn { .. } | SodaError::BadQuery { .. })) => {
                tracing::warn!(source = %self.info.key, %error, "lots of documents");
                Ok(HashMap::new())
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl Source for Acris {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        entry_of(self.key(), self.data(subject, deadline).await)
    }
}

/// A party of a document. Addresses are left out: they are people's homes.
#[derive(Debug, PartialEq, Serialize)]
struct Party {
    name: Option<String>,
    party_type: Option<String>,
    role: Option<&'static str>,
}

fn class_of(doc_type: Option<&str>) -> &'static str {
    let doc_type = doc_type.unwrap_or_default().trim();
    CLASSES
        .iter()
        .find(|(_, _, types)| types.contains(&doc_type))
        .map_or("other", |(class, _, _)| class)
}

/// What a party is, by the document's type: party 1 of a deed sells, party 1 of a mortgage borrows.
fn role_of(doc_type: Option<&str>, party_type: Option<&str>) -> Option<&'static str> {
    let doc_type = doc_type?.trim();
    let (_, roles, _) = CLASSES
        .iter()
        .find(|(_, _, types)| types.contains(&doc_type))?;
    match party_type?.trim() {
        "1" => roles[0],
        "2" => roles[1],
        _ => None,
    }
}

/// Columns of a record that the master no longer has, and what is worked out from them.
fn missing_of_master(entry: &Entry, header: Option<&[String]>) -> HashSet<String> {
    /// Not the master's own.
    const ADDED: [&str; 3] = [CLASS, "property_type", "unit"];
    let Some(header) = header else {
        return HashSet::new();
    };
    let mut missing: HashSet<String> = entry
        .shape
        .names()
        .filter(|name| !ADDED.contains(name) && !header.iter().any(|column| column == name))
        .map(str::to_owned)
        .collect();
    if missing.contains("doc_type") {
        missing.insert(CLASS.to_owned());
    }
    missing
}

/// What is known only where every document's own data was read.
const OF_ALL: [SummaryOf; 3] = [SummaryOf::Count, SummaryOf::CountBy, SummaryOf::Oldest];
/// What is known where the newest documents' was.
const OF_NEWEST: [SummaryOf; 2] = [SummaryOf::First, SummaryOf::Newest];

/// Sets summaries of these kinds to null: what they are made of was not read.
fn forget(
    entry: &Entry,
    summary: &mut [(String, Box<RawValue>)],
    kinds: &[SummaryOf],
) -> Result<(), serde_json::Error> {
    for (field, (_, value)) in entry.summary.iter().zip(summary) {
        if kinds.contains(&field.of) {
            *value = to_raw_value(&())?;
        }
    }
    Ok(())
}

fn text(row: &Row, column: &str) -> Option<String> {
    row.get(column)
        .and_then(|raw| raw_text(raw))
        .map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn party_one_of_a_deed_sells() {
        assert_eq!(role_of(Some("DEED"), Some("1")), Some("seller"));
        assert_eq!(role_of(Some("DEED"), Some("2")), Some("buyer"));
        assert_eq!(role_of(Some("MTGE"), Some("1")), Some("borrower"));
        assert_eq!(role_of(Some("MTGE"), Some("2")), Some("lender"));
        assert_eq!(role_of(Some("ASST"), Some("1")), Some("assignor"));
        assert_eq!(role_of(Some("AGMT"), Some("1")), None);
        assert_eq!(role_of(Some("DEED, LE"), Some("3")), None);
        assert_eq!(role_of(Some("NEW TYPE"), Some("1")), None);
    }

    #[test]
    fn a_partial_release_of_a_mortgage_is_no_preliminary() {
        assert_eq!(class_of(Some("PREL")), "satisfaction");
        assert_eq!(class_of(Some("M&CON")), "mortgage");
        assert_eq!(class_of(Some("NEW TYPE")), "other");
        assert_eq!(class_of(None), "other");
    }

    #[test]
    fn no_type_stands_in_two_classes() {
        let mut seen = HashSet::new();
        for (_, _, types) in CLASSES {
            for doc_type in *types {
                assert!(seen.insert(*doc_type), "{doc_type}");
            }
        }
    }
}
