//! All rows of a query, page by page, none twice and none missed.

use std::collections::HashSet;

use tokio::time::Instant;

use crate::api::{Row, Rows, Soda, SodaError};
use crate::query::{Column, Condition, Literal, Query, ROW_ID, Select};

/// How far a walk goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Rows a page.
    pub page: u32,
    /// Rows in all.
    pub max_rows: usize,
}

impl Default for Bounds {
    /// Pages of 1,000, up to 50,000 rows: more than any one building has.
    fn default() -> Self {
        Self {
            page: 1_000,
            max_rows: 50_000,
        }
    }
}

/// What a walk brought.
#[derive(Debug, Clone, Default)]
pub struct Walked {
    /// The rows, in the order of their `:id`, which says nothing: sort them by what matters.
    pub rows: Rows,
    /// Whether these are all. If not, [`Bounds::max_rows`] ended the walk.
    pub complete: bool,
}

/// Fetches all rows that meet `query`'s condition; its own order, limit and offset are not used.
///
/// Each page goes on behind the last `:id` of the one before (`:id > 'last'`), which stays right while rows are added.
/// A host that refuses that condition, or repeats rows under it, is walked by offset, ordered by `:id`, and repeated rows
/// are left out.
///
/// # Errors
/// Those of [`Soda::rows`]; [`SodaError::BadQuery`] for an aggregate, which has no row identifiers;
/// [`SodaError::Unavailable`] when the host's pages cannot be told apart. Never part of the rows as if it were all.
pub async fn all_rows<S: Soda + ?Sized>(
    soda: &S,
    query: &Query,
    bounds: Bounds,
    deadline: Instant,
) -> Result<Walked, SodaError> {
    if query.is_aggregate() {
        return Err(SodaError::BadQuery {
            code: "client.paged-aggregate".to_owned(),
        });
    }
    let mut base = query.clone();
    if base.select.is_empty() {
        base.select.push(Select::All);
    }
    if !query.selects_row_id() {
        base.select.push(Select::RowId);
    }
    base.order = vec![(Column::row_id(), false)];
    base.offset = 0;
    let mut walk = Walk {
        base,
        bounds,
        found: Rows::default(),
        seen: HashSet::new(),
    };
    let complete = match walk.by_key(soda, deadline).await? {
        Some(complete) => complete,
        None => {
            tracing::warn!(dataset = %query.dataset, "pages by row identifier are not to be had; paging by offset");
            walk.by_offset(soda, deadline).await?
        }
    };
    let mut rows = walk.found;
    if !query.selects_row_id() {
        without_row_id(&mut rows);
    }
    Ok(Walked { rows, complete })
}

struct Walk {
    base: Query,
    bounds: Bounds,
    found: Rows,
    seen: HashSet<String>,
}

/// A page, as far as the walk cares.
struct Page {
    rows: usize,
    asked: u32,
    last_id: Option<String>,
    /// How many rows had no identifier.
    nameless: usize,
    repeated: usize,
}

impl Page {
    /// A page that is not full is the last.
    fn is_last(&self) -> bool {
        u32::try_from(self.rows).is_ok_and(|rows| rows < self.asked)
    }
}

impl Walk {
    /// Rows that may still be taken, and one to see whether there are more.
    fn limit(&self) -> u32 {
        let room = self.bounds.max_rows.saturating_sub(self.found.rows.len());
        u32::try_from(room.saturating_add(1))
            .unwrap_or(u32::MAX)
            .min(self.bounds.page.max(1))
    }

    async fn page<S: Soda + ?Sized>(
        &mut self,
        soda: &S,
        query: &Query,
        deadline: Instant,
    ) -> Result<Page, SodaError> {
        let answer = soda.rows(query, deadline).await?;
        let mut page = Page {
            rows: answer.rows.len(),
            asked: query.limit,
            last_id: None,
            nameless: 0,
            repeated: 0,
        };
        if self.found.fields.is_none() {
            self.found.fields = answer.fields;
            self.found.types = answer.types;
        }
        for row in answer.rows {
            match row_id(&row) {
                Some(id) if self.seen.contains(&id) => page.repeated += 1,
                Some(id) => {
                    page.last_id = Some(id.clone());
                    self.seen.insert(id);
                    self.found.rows.push(row);
                }
                None => {
                    page.nameless += 1;
                    self.found.rows.push(row);
                }
            }
        }
        if page.nameless > 0 && !page.is_last() {
            return Err(unmoved("rows came without their :id"));
        }
        Ok(page)
    }

    /// Whether the bound ended the walk; rows past it are dropped.
    fn is_full(&mut self) -> bool {
        let full = self.found.rows.len() > self.bounds.max_rows;
        self.found.rows.truncate(self.bounds.max_rows);
        full
    }

    /// Walks by `:id`; `None` when the host does not play along.
    async fn by_key<S: Soda + ?Sized>(
        &mut self,
        soda: &S,
        deadline: Instant,
    ) -> Result<Option<bool>, SodaError> {
        let mut last: Option<String> = None;
        loop {
            let mut query = self.base.clone().limit(self.limit());
            if let Some(last) = &last {
                query = query.filter(Condition::Gt(Column::row_id(), Literal::Text(last.clone())));
            }
            let page = match self.page(soda, &query, deadline).await {
                Err(SodaError::BadQuery { .. }) if last.is_some() => return Ok(None),
                page => page?,
            };
            // Compared with what came before, not by size: the host orders identifiers by a number behind the text.
            if page.repeated > 0 {
                return Ok(None);
            }
            if self.is_full() {
                return Ok(Some(false));
            }
            if page.is_last() {
                return Ok(Some(true));
            }
            last = page.last_id;
        }
    }

    /// Walks by offset from the start, leaving out rows that came before.
    async fn by_offset<S: Soda + ?Sized>(
        &mut self,
        soda: &S,
        deadline: Instant,
    ) -> Result<bool, SodaError> {
        self.found.rows.clear();
        self.seen.clear();
        let mut offset = 0_u32;
        loop {
            let query = self.base.clone().limit(self.limit()).offset(offset);
            let page = self.page(soda, &query, deadline).await?;
            if self.is_full() {
                return Ok(false);
            }
            if page.is_last() {
                return Ok(true);
            }
            if page.repeated == page.rows {
                return Err(unmoved("a page came again"));
            }
            offset = offset.saturating_add(u32::try_from(page.rows).unwrap_or(u32::MAX));
        }
    }
}

fn unmoved(why: &str) -> SodaError {
    SodaError::Unavailable(format!("the pages cannot be told apart: {why}"))
}

fn row_id(row: &Row) -> Option<String> {
    serde_json::from_str(row.get(ROW_ID)?.get()).ok()
}

fn without_row_id(rows: &mut Rows) {
    for row in &mut rows.rows {
        row.remove(ROW_ID);
    }
    let at = rows
        .fields
        .as_ref()
        .and_then(|fields| fields.iter().position(|field| field == ROW_ID));
    if let Some(at) = at {
        for list in [&mut rows.fields, &mut rows.types].into_iter().flatten() {
            if at < list.len() {
                list.remove(at);
            }
        }
    }
}

#[cfg(test)]
#[path = "paging_tests.rs"]
mod tests;
