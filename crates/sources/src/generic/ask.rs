//! How a publisher is asked for a building's rows.

use std::sync::atomic::Ordering::Relaxed;

use brownstone_soda::{Bounds, Condition, Query, Rows, Soda, SodaError, all_rows};
use tokio::time::Instant;

use super::{ASK, Failure, SodaSource};
use crate::matching::{Keys, MatchRule};

/// Which of the building's rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    Newest,
    All { most: usize },
}

impl SodaSource {
    /// Asks with the types the catalogue states or the publisher last took, and, where the publisher says that a
    /// literal's type is not its column's, with the others.
    pub(super) async fn ask(
        &self,
        rule: &MatchRule,
        keys: &Keys,
        how: Ask,
        deadline: Instant,
    ) -> Result<(Rows, Condition), Failure> {
        let at = self.entry.rules.iter().position(|own| own == rule);
        let learnt = at.and_then(|at| self.writings.get(at));
        let last = learnt.map_or(0, |writing| writing.load(Relaxed));
        let mut writings = rule.writings();
        writings.retain(|writing| *writing != last);
        writings.insert(0, last);
        let mut refused = Failure::Drift("no condition for the keys");
        let mut tried: Vec<Condition> = Vec::new();
        for writing in writings {
            let Some(condition) = rule.condition(keys, writing) else {
                continue;
            };
            // Columns that these keys are not asked by change nothing.
            if tried.contains(&condition) {
                continue;
            }
            tried.push(condition.clone());
            let condition = self.narrowed(condition);
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
                    if writing != last {
                        tracing::warn!(source = %self.entry.info.key, "key columns have other types than stated");
                        if let Some(learnt) = learnt {
                            learnt.store(writing, Relaxed);
                        }
                    }
                    return Ok((rows, condition));
                }
                Err(error) if is_mismatch(&error) => refused = error.into(),
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused)
    }

    /// The condition, within what the entry is about.
    fn narrowed(&self, condition: Condition) -> Condition {
        let window = match self.entry.bounded {
            true => self.entry.order.window(self.today()),
            false => None,
        };
        self.entry
            .only
            .iter()
            .cloned()
            .chain(window)
            .fold(condition, Condition::and)
    }

    pub(super) fn soda(&self) -> &dyn Soda {
        self.shared.publisher(self.entry.host).soda.as_ref()
    }

    pub(super) fn newest_query(&self, condition: Condition) -> Query {
        Query {
            order: self.entry.order.asked(),
            ..Query::of(self.entry.dataset.clone())
                .filter(condition)
                .limit(ASK)
        }
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
