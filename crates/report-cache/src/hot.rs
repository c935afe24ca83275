//! Reports that are ready in memory, up to a number of bytes.

use std::sync::Arc;

use brownstone_domain::ReportKey;
use foldhash::fast::RandomState;
use quick_cache::{
    Weighter,
    sync::{Cache, DefaultLifecycle},
};
use time::OffsetDateTime;

use crate::ready::ReadyReport;

/// What a report takes in memory beside its bytes, roughly.
const OVERHEAD: u64 = 1024;

/// A large report's bytes. The cache is made of parts, each with room for 32 of what it is told to expect: where it expects large ones,
/// the largest of all fit into a part.
const LARGE: u64 = 512 * 1024;

/// A report in memory, and until when the rules say that it is served: worked out once, not for every call.
#[derive(Clone)]
pub(crate) struct Hot {
    pub(crate) report: Arc<ReadyReport>,
    pub(crate) until: Option<OffsetDateTime>,
}

/// Bytes as weight.
#[derive(Clone)]
pub(crate) struct Size;

impl Weighter<ReportKey, Hot> for Size {
    fn weight(&self, _: &ReportKey, hot: &Hot) -> u64 {
        (hot.report.tail.len() + hot.report.packed.len()) as u64 + OVERHEAD
    }
}

/// The reports.
pub(crate) type HotReports = Cache<ReportKey, Hot, Size, RandomState>;

/// Room for `bytes` of reports.
pub(crate) fn reports(bytes: u64) -> HotReports {
    let expected = usize::try_from(bytes / LARGE).unwrap_or(usize::MAX);
    Cache::with(
        expected,
        bytes,
        Size,
        RandomState::default(),
        DefaultLifecycle::default(),
    )
}

#[cfg(test)]
mod tests {
    use brownstone_domain::{Borough, Building};
    use bytes::Bytes;
    use time::macros::datetime;

    use super::*;
    use crate::{RegistryView, StoredReport};

    const MB: u64 = 1024 * 1024;

    fn key(n: u32) -> ReportKey {
        ReportKey {
            bbl: Some(format!("1{:09}", 10_001 + n).parse().unwrap()),
            bin: None,
            unit_bbl: None,
        }
    }

    /// A report of so many bytes; all share one memory.
    fn report(key: &ReportKey, bytes: &Bytes) -> Hot {
        let at = datetime!(2026-11-27 12:00 UTC);
        let stored = StoredReport {
            building: Building {
                bbl: key.bbl,
                bin: None,
                house_number: None,
                street: None,
                borough: Borough::Manhattan,
                city: "New York".into(),
                zip: None,
                neighborhood: None,
                latitude: None,
                longitude: None,
                buildings_on_lot: None,
            },
            first_assembled_at: at,
            attempted_at: at,
            entries: Vec::new(),
            asked_under: 0,
        };
        let registry = RegistryView::new::<String>([]);
        let mut report = ReadyReport::of(&stored, key, &registry).unwrap();
        report.tail = bytes.clone();
        Hot {
            report: Arc::new(report),
            until: None,
        }
    }

    #[test]
    fn memory_holds_as_many_bytes_as_it_may_whatever_a_report_takes() {
        for (room, size, many) in [(64 * MB, 2 * MB, 100), (MB, 200_000, 20), (MB, 50, 5_000)] {
            let hot = reports(room);
            let bytes = Bytes::from(vec![0; usize::try_from(size).unwrap()]);
            for n in 0..many {
                hot.insert(key(n), report(&key(n), &bytes));
                assert!(hot.weight() <= room, "{n} of {size}: {}", hot.weight());
            }
            assert!(hot.weight() > room * 3 / 5, "{size}: {}", hot.weight());
            let found = (0..many).filter(|n| hot.get(&key(*n)).is_some()).count();
            assert_eq!(found, hot.len());
        }
    }

    #[test]
    fn a_report_larger_than_the_memory_is_not_held_and_pushes_nothing_out() {
        let hot = reports(MB);
        hot.insert(key(0), report(&key(0), &Bytes::from(vec![0; 50_000])));
        let larger = Bytes::from(vec![0; usize::try_from(2 * MB).unwrap()]);
        hot.insert(key(1), report(&key(1), &larger));
        assert!(hot.get(&key(1)).is_none());
        assert!(hot.get(&key(0)).is_some());
    }
}
