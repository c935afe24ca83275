use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::value::to_raw_value;

use super::*;
use crate::api::Metadata;
use crate::query::DatasetId;

/// How a host keeps to the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manners {
    Good,
    /// Takes `:id > ..` for no condition at all.
    IgnoresTheKey,
    /// Answers it with a 400.
    RefusesTheKey,
    /// Ignores the offset too.
    RepeatsItself,
    /// Sends no `:id`.
    Nameless,
}

/// A host with `rows` rows, whose identifiers do not sort as text.
struct Host {
    rows: usize,
    manners: Manners,
    asked: Mutex<Vec<Query>>,
}

impl Host {
    fn new(rows: usize, manners: Manners) -> Self {
        Self {
            rows,
            manners,
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<Query> {
        self.asked.lock().unwrap().clone()
    }
}

fn id(number: usize) -> String {
    format!("row-{number}'")
}

/// The identifier in the `:id > ..` of a condition.
fn key(condition: Option<&Condition>) -> Option<String> {
    match condition? {
        Condition::And(parts) => parts.iter().find_map(|part| key(Some(part))),
        Condition::Gt(column, Literal::Text(id)) if column.is_row_id() => Some(id.clone()),
        _ => None,
    }
}

#[async_trait]
impl Soda for Host {
    async fn rows(&self, query: &Query, _: Instant) -> Result<Rows, SodaError> {
        self.asked.lock().unwrap().push(query.clone());
        assert_eq!(
            query.order,
            [(Column::row_id(), false)],
            "no page without an order"
        );
        assert!(query.selects_row_id());
        let mut from = query.offset as usize;
        if let Some(last) = key(query.filter.as_ref()) {
            match self.manners {
                Manners::Good | Manners::Nameless => {
                    from = (0..self.rows).position(|n| id(n) == last).unwrap() + 1;
                }
                Manners::RefusesTheKey => {
                    return Err(SodaError::BadQuery {
                        code: "query.soql.type-mismatch".into(),
                    });
                }
                Manners::IgnoresTheKey | Manners::RepeatsItself => {}
            }
        }
        if self.manners == Manners::RepeatsItself {
            from = 0;
        }
        let rows = (from..self.rows)
            .take(query.limit as usize)
            .map(|number| {
                let mut row = Row::from([("n".to_owned(), to_raw_value(&number).unwrap())]);
                if self.manners != Manners::Nameless {
                    row.insert(ROW_ID.to_owned(), to_raw_value(&id(number)).unwrap());
                }
                row
            })
            .collect();
        Ok(Rows {
            rows,
            fields: Some(vec!["n".into(), ROW_ID.into()]),
            types: Some(vec!["number".into(), "row_identifier".into()]),
        })
    }

    async fn metadata(&self, _: &DatasetId, _: Instant) -> Result<Metadata, SodaError> {
        Err(SodaError::Throttled)
    }
}

fn query() -> Query {
    Query::of(DatasetId::new("ic3t-wcy2").unwrap())
        .filter(Condition::eq(Column::new("bin__").unwrap(), "1015862"))
        .order_desc(Column::new("pre__filing_date").unwrap())
        .limit(7)
        .offset(3)
}

fn walk(host: &Host, query: &Query, page: u32, max_rows: usize) -> Result<Walked, SodaError> {
    let deadline = Instant::now() + Duration::from_secs(10);
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(all_rows(host, query, Bounds { page, max_rows }, deadline))
}

fn numbers(walked: &Walked) -> Vec<usize> {
    walked
        .rows
        .rows
        .iter()
        .map(|row| row["n"].get().parse().unwrap())
        .collect()
}

proptest! {
    #[test]
    fn every_row_comes_once_in_order_up_to_the_bound(
        rows in 0usize..60,
        page in 1u32..20,
        max_rows in 0usize..70,
        manners in prop::sample::select(vec![Manners::Good, Manners::IgnoresTheKey, Manners::RefusesTheKey]),
    ) {
        let host = Host::new(rows, manners);
        let walked = walk(&host, &query(), page, max_rows).unwrap();
        prop_assert_eq!(numbers(&walked), (0..rows.min(max_rows)).collect::<Vec<_>>());
        prop_assert_eq!(walked.complete, rows <= max_rows);
        let full_pages = rows.min(max_rows) / page as usize;
        if manners == Manners::Good {
            prop_assert!(host.asked().len() <= full_pages + 1, "{} requests", host.asked().len());
        }
    }

    #[test]
    fn a_host_that_repeats_itself_is_found_out(rows in 1usize..60, page in 1u32..20) {
        let host = Host::new(rows, Manners::RepeatsItself);
        let walked = walk(&host, &query(), page, 100);
        if rows < page as usize {
            prop_assert_eq!(numbers(&walked.unwrap()).len(), rows);
        } else {
            prop_assert!(matches!(walked, Err(SodaError::Unavailable(_))));
        }
        prop_assert!(host.asked().len() <= 4);
    }
}

#[test]
fn rows_without_identifiers_are_taken_when_they_are_all_there_are() {
    let host = Host::new(9, Manners::Nameless);
    assert_eq!(numbers(&walk(&host, &query(), 10, 100).unwrap()).len(), 9);
    let fault = walk(&Host::new(10, Manners::Nameless), &query(), 10, 100).unwrap_err();
    assert!(matches!(fault, SodaError::Unavailable(_)), "{fault:?}");
}

#[test]
fn pages_ask_for_what_the_query_asked_and_the_identifier() {
    let host = Host::new(3, Manners::Good);
    let walked = walk(&host, &query(), 2, 100).unwrap();
    assert!(walked.complete);
    assert!(walked.rows.rows.iter().all(|row| !row.contains_key(ROW_ID)));
    assert_eq!(walked.rows.fields.unwrap(), ["n"]);
    assert_eq!(walked.rows.types.unwrap(), ["number"]);
    let pages: Vec<_> = host.asked().iter().map(Query::params).collect();
    assert_eq!(
        pages[1],
        [
            ("$select", "*,:id".to_owned()),
            ("$where", "bin__ = '1015862' and :id > 'row-1'''".to_owned()),
            ("$order", ":id asc".to_owned()),
            ("$limit", "2".to_owned()),
        ]
    );
    let host = Host::new(1, Manners::Good);
    let columns = query().select([Select::RowId, Select::Column(Column::new("n").unwrap())]);
    let walked = walk(&host, &columns, 2, 100).unwrap();
    assert!(walked.rows.rows[0].contains_key(ROW_ID), "it was asked for");
    assert_eq!(host.asked()[0].select, columns.select);
}

#[test]
fn an_aggregate_is_not_paged() {
    let host = Host::new(3, Manners::Good);
    let count = query().select([Select::Count(Column::new("n").unwrap())]);
    let fault = walk(&host, &count, 10, 100).unwrap_err();
    assert!(matches!(fault, SodaError::BadQuery { .. }), "{fault:?}");
    assert!(host.asked().is_empty());
}
