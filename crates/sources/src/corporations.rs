//! The owner's company in the state's register: two steps, the lot's owner, then the companies of that name.

use std::sync::Arc;

use async_trait::async_trait;
use brownstone_domain::{MatchedBy, SourceData, SourceEntry};
use brownstone_soda::{Column, Condition, Query};
use serde_json::value::to_raw_value;
use tokio::time::Instant;

use crate::{
    FieldInfo, FieldKind, Source, SourceInfo, Subject,
    catalogue::Entry,
    deps::Shared,
    generic::{Failure, SodaSource, entry_of, every, source_data},
};

/// Companies of one name at most.
const MOST: usize = 5_000;

/// Words that make a name a company's, and how the register writes each.
const KINDS: &[(&[&str], &[&str])] = &[
    (&["LLC", "L L C"], &[" LLC", ", LLC", " L.L.C.", ", L.L.C."]),
    (
        &["INC", "INCORPORATED"],
        &[" INC.", ", INC.", " INC", ", INC", " INCORPORATED"],
    ),
    (
        &["CORP", "CORPORATION"],
        &[" CORP.", ", CORP.", " CORP", " CORPORATION"],
    ),
    (&["LP", "L P"], &[" L.P.", ", L.P.", " LP", ", LP"]),
    (&["LLP", "L L P"], &[" LLP", ", LLP", " L.L.P.", ", L.L.P."]),
    (&["LTD", "LIMITED"], &[" LTD.", ", LTD.", " LTD", ", LTD"]),
];

/// The source of companies.
pub(crate) struct Corporations {
    base: SodaSource,
    name: Column,
    info: SourceInfo,
}

impl Corporations {
    /// The source of `entry`; a text that says what is wrong with it.
    pub(crate) fn new(entry: Entry, shared: Arc<Shared>) -> Result<Self, String> {
        let mut info = entry.info.clone();
        info.matched_by = vec![MatchedBy::Bbl];
        info.summary.push(FieldInfo {
            name: "owner_name".to_owned(),
            kind: FieldKind::Text,
            tells: "The lot's owner, whose name was looked for.".to_owned(),
        });
        Ok(Self {
            name: Column::new("current_entity_name").map_err(|error| error.to_string())?,
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
        let Some(bbl) = subject.bbl else {
            return Ok(None);
        };
        let lot = shared.directory.lot(bbl, deadline).await?;
        let Some(owner) = lot.and_then(|lot| lot.owner) else {
            return Ok(None);
        };
        // People are in no register of companies, and are not looked for.
        let names = company_names(&owner);
        let Some(condition) = Condition::any_of(self.name.clone(), names) else {
            return Ok(None);
        };
        let soda = &shared.publisher(entry.host).soda;
        let query = Query::of(entry.dataset.clone()).filter(condition);
        let rows = every(soda.as_ref(), &query, MOST, deadline).await?;
        if rows.rows.is_empty() {
            return Ok(None);
        }
        let mut gathered = self.base.all_of(rows)?;
        gathered
            .summary
            .push(("owner_name".to_owned(), to_raw_value(&owner)?));
        Ok(Some(source_data(entry, shared, MatchedBy::Bbl, gathered)))
    }
}

#[async_trait]
impl Source for Corporations {
    fn info(&self) -> &SourceInfo {
        &self.info
    }

    async fn fetch(&self, subject: &Subject, deadline: Instant) -> SourceEntry {
        entry_of(self.key(), self.data(subject, deadline).await)
    }
}

/// The ways the register may write a company's name; empty for a name that is no company's.
fn company_names(owner: &str) -> Vec<String> {
    let plain: String = owner
        .to_uppercase()
        .chars()
        .map(|c| if matches!(c, '.' | ',') { ' ' } else { c })
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    for (endings, written) in KINDS {
        for ending in *endings {
            let Some(stem) = plain
                .strip_suffix(ending)
                .and_then(|stem| stem.strip_suffix(' '))
            else {
                continue;
            };
            if stem.is_empty() {
                return Vec::new();
            }
            return written.iter().map(|end| format!("{stem}{end}")).collect();
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::company_names;

    #[test]
    fn a_companys_name_is_looked_for_as_the_register_may_write_it() {
        let names = company_names("Example Tower, L.L.C.");
        assert!(names.contains(&"EXAMPLE TOWER LLC".to_owned()));
        assert!(names.contains(&"EXAMPLE TOWER, LLC".to_owned()));
        assert!(company_names("SAMPLE  REALTY CORP").contains(&"SAMPLE REALTY CORP.".to_owned()));
    }

    #[test]
    fn people_and_agencies_are_not_looked_for() {
        for owner in ["A PERSON", "NYC DEPARTMENT OF PARKS", "LLC", "", "WELLCO"] {
            assert!(company_names(owner).is_empty(), "{owner}");
        }
    }
}
