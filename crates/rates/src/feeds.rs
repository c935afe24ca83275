//! Where the series are read: FRED, with a key or without, and the survey's own file.

use std::time::Duration;

use brownstone_upstream::{Request, Response, SecretString, Upstream, UpstreamError};
use time::Date;
use tokio::time::Instant;

use crate::{
    observation::{self, Newest, Unreadable},
    series::{Feed, SERIES, Series},
};

/// How long one publisher may take, with its retries.
const WITHIN: Duration = Duration::from_secs(10);

/// How many rows FRED is asked for: the newest ones may be holidays.
const ROWS: u32 = 10;

/// How far back a download without a key goes, in days: far enough for two weeks' values and a long holiday.
const DAYS_BACK: i64 = 45;

/// Why a series was not read. The text is for the log; it holds no address and no key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FeedError {
    /// No answer.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// An answer that says no: a wrong key, an unknown series, a page that moved.
    #[error("{at}: status {status}")]
    Refused {
        /// The publisher.
        at: String,
        /// HTTP status.
        status: u16,
    },
    /// An answer that is none.
    #[error("{at}: {why}")]
    Unreadable {
        /// The publisher.
        at: String,
        /// What is wrong with it.
        why: Unreadable,
    },
}

/// One thing to fetch: each answers one or more series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// A series of FRED.
    Fred(&'static str),
    /// The survey's file, which holds all its series.
    PmmsFile,
}

impl Source {
    /// What to fetch for a series.
    pub fn of(series: &'static Series) -> Self {
        match series.feed {
            Feed::Fred => Self::Fred(series.id),
            Feed::PmmsFile { .. } => Self::PmmsFile,
        }
    }

    /// Every one, once.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::with_capacity(SERIES.len());
        for source in SERIES.iter().map(Self::of) {
            if !all.contains(&source) {
                all.push(source);
            }
        }
        all
    }

    /// The series it answers.
    pub fn series(self) -> impl Iterator<Item = &'static Series> {
        SERIES.iter().filter(move |series| Self::of(series) == self)
    }
}

/// What a fetch found: each series with its newest values.
pub type Found = Vec<(&'static Series, Newest)>;

/// The publishers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feeds {
    fred: Fred,
    pmms: Upstream,
}

/// The two ways into FRED.
#[derive(Debug, Clone)]
pub enum Fred {
    /// Its API, which wants a key.
    Api {
        /// Where it is.
        upstream: Upstream,
        /// The key; it travels in the query, so no address is logged.
        key: SecretString,
    },
    /// The download of its pages, without a key.
    Download(Upstream),
}

impl Feeds {
    /// Puts the publishers together.
    pub const fn new(fred: Fred, pmms: Upstream) -> Self {
        Self { fred, pmms }
    }

    /// Reads the newest values up to a day.
    ///
    /// # Errors
    /// [`FeedError`]: why there are none.
    pub async fn fetch(&self, source: Source, until: Date) -> Result<Found, FeedError> {
        match source {
            Source::Fred(id) => {
                let newest = self.fred(id, until).await?;
                Ok(source
                    .series()
                    .map(|series| (series, newest.clone()))
                    .collect())
            }
            Source::PmmsFile => self.pmms_file(until).await,
        }
    }

    async fn fred(&self, id: &'static str, until: Date) -> Result<Newest, FeedError> {
        let (upstream, request) = match &self.fred {
            Fred::Api { upstream, key } => (
                upstream,
                Request::get(["fred", "series", "observations"])
                    .query("series_id", id)
                    .query("file_type", "json")
                    .query("sort_order", "desc")
                    .query("limit", ROWS.to_string())
                    .query("observation_end", until.to_string())
                    .secret_query("api_key", key.clone()),
            ),
            Fred::Download(upstream) => (
                upstream,
                Request::get(["graph", "fredgraph.csv"])
                    .query("id", id)
                    .query(
                        "cosd",
                        (until - time::Duration::days(DAYS_BACK)).to_string(),
                    )
                    .query("coed", until.to_string()),
            ),
        };
        // One breaker for all: the publisher is up or down as a whole.
        let answer = ask(upstream, request.breaker("fred")).await?;
        let newest = match &self.fred {
            Fred::Api { .. } => observation::fred_json(&answer.body, until),
            Fred::Download(_) => observation::fred_csv(&answer.body, id, until),
        };
        newest.map_err(|why| unreadable(upstream, why))
    }

    async fn pmms_file(&self, until: Date) -> Result<Found, FeedError> {
        let request = Request::get(["pmms", "docs", "PMMS_history.csv"]).breaker("pmms");
        let answer = ask(&self.pmms, request).await?;
        let mut found = Found::new();
        let mut fault = Unreadable::NoValue;
        for series in Source::PmmsFile.series() {
            let Feed::PmmsFile { rate, points } = series.feed else {
                continue;
            };
            // A column that is gone takes nothing from the other.
            match observation::pmms_csv(&answer.body, rate, points, until) {
                Ok(newest) => found.push((series, newest)),
                Err(why) => fault = why,
            }
        }
        if found.is_empty() {
            return Err(unreadable(&self.pmms, fault));
        }
        Ok(found)
    }
}

async fn ask(upstream: &Upstream, request: Request) -> Result<Response, FeedError> {
    let answer = upstream.get(request, Instant::now() + WITHIN).await?;
    // What is being prepared (202) is no answer either.
    if answer.status == 200 {
        Ok(answer)
    } else {
        Err(FeedError::Refused {
            at: upstream.name().to_owned(),
            status: answer.status,
        })
    }
}

fn unreadable(upstream: &Upstream, why: Unreadable) -> FeedError {
    FeedError::Unreadable {
        at: upstream.name().to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_is_answered_by_one_fetch() {
        let all = Source::all();
        let answered: usize = all.iter().map(|source| source.series().count()).sum();
        assert_eq!(answered, SERIES.len());
        let file = all
            .iter()
            .filter(|source| **source == Source::PmmsFile)
            .count();
        assert_eq!(file, 1, "one file for both terms");
    }
}
