//! The ordered set of sources, and the fan-out that asks them all.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    sync::Arc,
    time::Duration,
};

use brownstone_domain::{SourceEntry, SourceStatus};
use tokio::{
    task::{Id, JoinSet},
    time::{Instant, timeout_at},
};
use tracing::{Instrument as _, field::Empty};

use crate::{LotKind, Source, SourceInfo, Subject};

/// How long a source and the whole report may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// One source, its retries and its chain of requests included.
    pub source: Duration,
    /// All of them together.
    pub report: Duration,
}

impl Default for Deadlines {
    /// 10 s for a source, 15 s for the report.
    fn default() -> Self {
        Self {
            source: Duration::from_secs(10),
            report: Duration::from_secs(15),
        }
    }
}

/// All sources of a deployment, in the order of the report.
#[derive(Clone)]
pub struct Registry {
    sources: Arc<[Arc<dyn Source>]>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

impl Registry {
    /// A registry of `sources`, in this order. Of two with one key the first stays: an entry has one owner.
    pub fn new(sources: Vec<Arc<dyn Source>>) -> Self {
        let mut seen = HashSet::new();
        let sources = sources
            .into_iter()
            .filter(|source| seen.insert(source.key().to_owned()))
            .collect();
        Self { sources }
    }

    /// This registry with `source` behind the others.
    #[must_use]
    pub fn with(&self, source: Arc<dyn Source>) -> Self {
        Self::new(self.sources.iter().cloned().chain([source]).collect())
    }

    /// Keys of all sources, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.key())
    }

    /// Keys of the sources for which this deployment lacks the credential or licence.
    pub fn gated_keys(&self) -> impl Iterator<Item = &str> {
        self.sources
            .iter()
            .filter(|source| source.gated())
            .map(|source| source.key())
    }

    /// Keys of the sources that know a condominium's unit by its own lot: bills, deeds, values. They cannot be asked
    /// for a unit whose lot is not known.
    pub fn unit_lot_keys(&self) -> impl Iterator<Item = &str> {
        self.sources
            .iter()
            .filter(|source| source.info().lot == LotKind::Unit)
            .map(|source| source.key())
    }

    /// How many sources.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// A text that changes when a source comes, goes, moves, or is gated or freed. A stored report carries it.
    ///
    /// It is readable: keys in order, a `!` before a gated one.
    pub fn fingerprint(&self) -> String {
        let mut text = String::new();
        for source in self.sources.iter() {
            let mark = if source.gated() { "!" } else { "" };
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a String cannot fail.
            let _ = write!(text, "{comma}{mark}{}", source.key());
        }
        text
    }

    /// What each source is, in order.
    pub fn describe(&self) -> Vec<SourceInfo> {
        self.sources
            .iter()
            .map(|source| source.info().clone())
            .collect()
    }

    /// Asks the sources about `subject`, all at once; with `only`, just those.
    ///
    /// There is exactly one entry for each asked source, in registry order, whatever happens: a source that is late,
    /// silent or panics is `error`, and none of it touches the others. Nothing here outlives the call: dropping the
    /// future stops the sources.
    pub async fn assemble(
        &self,
        subject: Arc<Subject>,
        only: Option<&HashSet<String>>,
        limits: Deadlines,
    ) -> Vec<(String, SourceEntry)> {
        let start = Instant::now();
        let end = start + limits.report;
        let deadline = end.min(start + limits.source);
        let asked = |source: &dyn Source| only.is_none_or(|only| only.contains(source.key()));

        let mut entries: Vec<Option<SourceEntry>> = vec![None; self.sources.len()];
        let mut running: JoinSet<SourceEntry> = JoinSet::new();
        let mut places: HashMap<Id, usize> = HashMap::new();
        // The slow ones first: they decide when the report is ready.
        let (slow, quick): (Vec<_>, Vec<_>) = self
            .sources
            .iter()
            .enumerate()
            .filter(|(_, source)| asked(source.as_ref()))
            .partition(|(_, source)| source.info().slow);
        for (place, source) in slow.into_iter().chain(quick) {
            if source.gated() {
                entries[place] = Some(SourceEntry::without_data(SourceStatus::Gated));
                continue;
            }
            let (source, subject) = (Arc::clone(source), Arc::clone(&subject));
            // A child of the call's span, for whoever collects them; the log has a line of its own.
            let span = tracing::debug_span!("source", source = source.key(), status = Empty);
            let task = async move {
                let entry = timeout_at(deadline, source.fetch(&subject, deadline))
                    .await
                    .unwrap_or_else(|_| SourceEntry::without_data(SourceStatus::Error));
                tracing::Span::current().record("status", tracing::field::debug(entry.status()));
                entry
            };
            let handle = running.spawn(task.instrument(span).in_current_span());
            places.insert(handle.id(), place);
        }

        // All began together, so the last to answer took longest.
        let mut last = None;
        // A source that never yields cannot be timed out from inside; the report does not wait for it.
        while let Ok(Some(ended)) = timeout_at(end, running.join_next_with_id()).await {
            let (id, entry) = match ended {
                Ok((id, entry)) => (id, entry),
                Err(broken) => (broken.id(), SourceEntry::without_data(SourceStatus::Error)),
            };
            if let Some(&place) = places.get(&id) {
                note_outcome(self.sources[place].key(), entry.status(), start);
                last = Some(place);
                entries[place] = Some(entry);
            }
        }
        tracing::info!(
            sources = places.len(),
            millis = millis_since(start),
            last = last.map(|place| self.sources[place].key()),
            "assembled"
        );

        self.sources
            .iter()
            .zip(entries)
            .filter(|(source, _)| asked(source.as_ref()))
            .map(|(source, entry)| {
                let entry = entry.unwrap_or_else(|| {
                    note_outcome(source.key(), SourceStatus::Error, start);
                    SourceEntry::without_data(SourceStatus::Error)
                });
                (source.key().to_owned(), entry)
            })
            .collect()
    }
}

/// One line a source, and its count. Never the address, never a record.
fn note_outcome(key: &str, status: SourceStatus, start: Instant) {
    crate::metrics::answered(key, status, start.elapsed());
    let millis = millis_since(start);
    if status == SourceStatus::Error {
        tracing::warn!(source = key, ?status, millis, "source");
    } else {
        tracing::debug!(source = key, ?status, millis, "source");
    }
}

fn millis_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
