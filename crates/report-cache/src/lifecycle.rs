//! Whether a kept report is served, completed or made anew. Pure: no I/O, no clock.

use brownstone_domain::{CacheInfo, CacheStatus, SourceStatus};
use time::{Duration, OffsetDateTime};

/// How long a report lives, from its first assembly, whatever its status.
pub const LIFETIME: Duration = Duration::days(7);

/// How long after an attempt the sources that erred are asked again.
pub const PARTIAL_WAIT: Duration = Duration::minutes(10);

/// The registered sources as the rules need them: their keys in order, and which are gated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryView {
    sources: Vec<(String, bool)>,
    fingerprint: String,
    mark: u64,
}

impl RegistryView {
    /// The sources in registry order; `true` where this deployment holds no credential for one.
    pub fn new<K: Into<String>>(sources: impl IntoIterator<Item = (K, bool)>) -> Self {
        let sources: Vec<(String, bool)> = sources
            .into_iter()
            .map(|(key, gated)| (key.into(), gated))
            .collect();
        let fingerprint = sources
            .iter()
            .map(|(key, gated)| format!("{key}{}", if *gated { "-" } else { "+" }))
            .collect::<String>();
        Self {
            mark: mark_of(&fingerprint),
            sources,
            fingerprint,
        }
    }

    /// The same with what `gated` answers depend on besides: the areas that a licence covers, for one. Where it changes,
    /// sources that were gated are asked again.
    #[must_use]
    pub fn on_terms(mut self, terms: &str) -> Self {
        self.fingerprint.push('=');
        self.fingerprint.push_str(terms);
        self.mark = mark_of(&self.fingerprint);
        self
    }

    /// A short mark of the fingerprint, for a report to remember.
    pub const fn mark(&self) -> u64 {
        self.mark
    }

    /// Keys and gates in registry order.
    pub fn sources(&self) -> &[(String, bool)] {
        &self.sources
    }

    /// Text that changes with the set of sources, their order, their gates and their terms.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// FNV-1a, which is the same in every release. A clash would only keep a `gated` answer until its report expires.
fn mark_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What the rules need to know of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    first_assembled_at: OffsetDateTime,
    attempted_at: OffsetDateTime,
    statuses: Vec<(String, SourceStatus)>,
    /// The mark of the registry under which sources were last asked; 0 where nobody knows.
    asked_under: u64,
}

/// Moments are kept to the microsecond, so shown to the microsecond: before a restart and after.
pub(crate) fn to_micros(moment: OffsetDateTime) -> OffsetDateTime {
    moment
        .replace_nanosecond(moment.microsecond() * 1_000)
        .unwrap_or(moment)
}

/// What to do with a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Serve it as it is.
    Serve,
    /// Ask these sources, and merge.
    Rerun(Vec<String>),
    /// Ask everything anew.
    Assemble,
}

impl Life {
    /// A report first assembled at `first`, last attempted at `attempted`, with these outcomes.
    pub fn new(
        first: OffsetDateTime,
        attempted: OffsetDateTime,
        statuses: Vec<(String, SourceStatus)>,
    ) -> Self {
        Self {
            first_assembled_at: first,
            attempted_at: attempted,
            statuses,
            asked_under: 0,
        }
    }

    /// The same, with the mark of the registry under which its sources were last asked.
    #[must_use]
    pub const fn asked_under(mut self, mark: u64) -> Self {
        self.asked_under = mark;
        self
    }

    /// When the report was first assembled; a re-run does not move it.
    pub const fn first_assembled_at(&self) -> OffsetDateTime {
        self.first_assembled_at
    }

    /// When sources were last asked.
    pub const fn attempted_at(&self) -> OffsetDateTime {
        self.attempted_at
    }

    /// When the report ends.
    pub fn expires_at(&self) -> OffsetDateTime {
        self.first_assembled_at + LIFETIME
    }

    /// `cache` of the answer.
    pub fn cache_info(&self) -> CacheInfo {
        let partial = self
            .statuses
            .iter()
            .any(|(_, status)| *status == SourceStatus::Error);
        let (status, refresh_available_at) = if partial {
            let retry = self.attempted_at + PARTIAL_WAIT;
            (CacheStatus::Partial, retry.min(self.expires_at()))
        } else {
            (CacheStatus::Ok, self.expires_at())
        };
        CacheInfo {
            cached_at: self.first_assembled_at,
            refresh_available_at,
            status,
        }
    }

    /// `cache` of one answer in which sources that the report has are `error`, since they could not be had `now`.
    pub fn cache_info_of_partial(&self, now: OffsetDateTime) -> CacheInfo {
        let kept = self.cache_info();
        CacheInfo {
            status: CacheStatus::Partial,
            refresh_available_at: (to_micros(now) + PARTIAL_WAIT).min(kept.refresh_available_at),
            ..kept
        }
    }

    /// Whether any source answered: a report in which none did is not kept.
    pub fn any_answered(&self) -> bool {
        self.statuses
            .iter()
            .any(|(_, status)| matches!(status, SourceStatus::Ok | SourceStatus::NotFound))
    }

    fn status_of(&self, key: &str) -> Option<SourceStatus> {
        self.statuses
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, status)| *status)
    }
}

/// The rules.
///
/// A source that the report lacks, or that is no longer gated, is asked at the next lookup; one that erred when the
/// report's wait is over; one that answered never, until the report expires. One that is not gated and said so of this
/// building, since its licence does not cover it, has answered, until the registry or its terms change.
pub fn lifecycle(report: &Life, registry: &RegistryView, now: OffsetDateTime) -> Step {
    if now >= report.expires_at() {
        return Step::Assemble;
    }
    let wait_is_over = now >= report.cache_info().refresh_available_at;
    let due: Vec<String> = registry
        .sources()
        .iter()
        .filter(|(key, gated)| match report.status_of(key) {
            None => true,
            Some(SourceStatus::Gated) => !gated && report.asked_under != registry.mark(),
            Some(SourceStatus::Error) => wait_is_over,
            Some(SourceStatus::Ok | SourceStatus::NotFound) => false,
        })
        .map(|(key, _)| key.clone())
        .collect();
    if due.is_empty() {
        Step::Serve
    } else {
        Step::Rerun(due)
    }
}

/// Until when a report that is to be served stays so, for whoever asks often: at every moment from `now` to there the rules say
/// [`Step::Serve`], and there they say something else. `None` where they say something else now.
pub fn serves_until(
    report: &Life,
    registry: &RegistryView,
    now: OffsetDateTime,
) -> Option<OffsetDateTime> {
    if lifecycle(report, registry, now) != Step::Serve {
        return None;
    }
    let erred = registry
        .sources()
        .iter()
        .any(|(key, _)| report.status_of(key) == Some(SourceStatus::Error));
    Some(if erred {
        report.cache_info().refresh_available_at
    } else {
        report.expires_at()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use time::macros::datetime;

    use super::*;

    const START: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

    /// The marks are stored beside reports, so the hash must stay what it is: FNV-1a of 64 bits, with its published vectors.
    #[test]
    fn a_mark_is_the_same_in_every_release() {
        for (text, mark) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(mark_of(text), mark, "{text:?}");
        }
    }

    #[test]
    fn a_source_that_has_nothing_answered_and_one_that_failed_or_was_not_asked_did_not() {
        let cases = [
            (vec![], false),
            (vec![SourceStatus::Error, SourceStatus::Gated], false),
            (vec![SourceStatus::Error, SourceStatus::NotFound], true),
            (vec![SourceStatus::Gated, SourceStatus::Ok], true),
        ];
        for (statuses, answered) in cases {
            let named = statuses.iter().map(|status| ("s".to_owned(), *status));
            let life = Life::new(START, START, named.collect());
            assert_eq!(life.any_answered(), answered, "{statuses:?}");
        }
    }

    fn statuses() -> impl Strategy<Value = Vec<(String, SourceStatus)>> {
        proptest::collection::vec(
            prop_oneof![
                Just(SourceStatus::Ok),
                Just(SourceStatus::NotFound),
                Just(SourceStatus::Error),
                Just(SourceStatus::Gated)
            ],
            1..12,
        )
        .prop_map(|all| {
            all.into_iter()
                .enumerate()
                .map(|(i, status)| (format!("s{i}"), status))
                .collect()
        })
    }

    fn registry_of(statuses: &[(String, SourceStatus)]) -> RegistryView {
        RegistryView::new(
            statuses
                .iter()
                .map(|(key, status)| (key.clone(), *status == SourceStatus::Gated)),
        )
    }

    proptest! {
        #[test]
        fn what_answered_is_never_asked_again_before_expiry(all in statuses(), first in 0i64..600_000, later in 0i64..700_000) {
            let registry = registry_of(&all);
            let life = Life::new(START, START + Duration::seconds(first), all.clone());
            match lifecycle(&life, &registry, START + Duration::seconds(later)) {
                Step::Rerun(due) => {
                    for key in due {
                        let status = all.iter().find(|(k, _)| *k == key).unwrap().1;
                        prop_assert_eq!(status, SourceStatus::Error);
                    }
                    prop_assert!(later < 604_800);
                    prop_assert!(later >= first + 600);
                }
                Step::Assemble => prop_assert!(later >= 604_800),
                Step::Serve => prop_assert!(later < 604_800),
            }
        }

        #[test]
        fn a_report_serves_until_the_moment_that_is_said(
            all in statuses(), missing in any::<bool>(), attempt in 0i64..604_800, now in 0i64..700_000, later in 0i64..700_000,
        ) {
            let registry = registry_of(&all);
            let known = if missing { all[1..].to_vec() } else { all };
            let life = Life::new(START, START + Duration::seconds(attempt), known);
            let now = START + Duration::seconds(now);
            let step = |at| lifecycle(&life, &registry, at);
            match serves_until(&life, &registry, now) {
                None => prop_assert_ne!(step(now), Step::Serve),
                Some(until) => {
                    prop_assert!(now < until);
                    prop_assert_eq!(step(until - Duration::MICROSECOND), Step::Serve);
                    prop_assert_ne!(step(until), Step::Serve);
                    let between = now + Duration::seconds(later);
                    prop_assert_eq!(step(between) == Step::Serve, between < until);
                }
            }
        }

        #[test]
        fn refresh_is_never_later_than_expiry_and_ok_means_seven_days(all in statuses(), attempt in 0i64..604_800) {
            let erred = all.iter().any(|(_, s)| *s == SourceStatus::Error);
            let life = Life::new(START, START + Duration::seconds(attempt), all);
            let info = life.cache_info();
            prop_assert_eq!(info.cached_at, START);
            prop_assert!(info.refresh_available_at <= life.expires_at());
            if erred {
                prop_assert_eq!(info.status, CacheStatus::Partial);
                prop_assert!(info.refresh_available_at <= START + Duration::seconds(attempt + 600));
            } else {
                prop_assert_eq!(info.status, CacheStatus::Ok);
                prop_assert_eq!(info.refresh_available_at, START + LIFETIME);
            }
        }
    }

    #[test]
    fn a_new_source_is_asked_at_the_next_lookup_alone() {
        let life = Life::new(
            START,
            START,
            vec![
                ("a".into(), SourceStatus::Ok),
                ("b".into(), SourceStatus::Error),
            ],
        );
        let registry = RegistryView::new([("a", false), ("b", false), ("c", false)]);
        assert_eq!(
            lifecycle(&life, &registry, START),
            Step::Rerun(vec!["c".into()])
        );
        assert_eq!(
            lifecycle(&life, &registry, START + PARTIAL_WAIT),
            Step::Rerun(vec!["b".into(), "c".into()])
        );
    }

    #[test]
    fn a_building_outside_a_licence_is_not_asked_after_again_until_the_terms_change() {
        let statuses = vec![
            ("a".to_owned(), SourceStatus::Ok),
            ("b".to_owned(), SourceStatus::Gated),
        ];
        let life = Life::new(START, START, statuses);
        let registry = RegistryView::new([("a", false), ("b", false)]).on_terms("10001");
        let asked = life.clone().asked_under(registry.mark());
        assert_eq!(lifecycle(&asked, &registry, START), Step::Serve);
        let later = START + LIFETIME;
        assert_eq!(lifecycle(&asked, &registry, later), Step::Assemble);
        // Nobody knows what it was asked under, or it was something else.
        let wider = RegistryView::new([("a", false), ("b", false)]).on_terms("10001,10002");
        for (life, registry) in [(&life, &registry), (&asked, &wider)] {
            let due = Step::Rerun(vec!["b".to_owned()]);
            assert_eq!(lifecycle(life, registry, START), due);
        }
    }

    #[test]
    fn a_source_no_longer_gated_is_asked_at_the_next_lookup() {
        let life = Life::new(START, START, vec![("a".into(), SourceStatus::Gated)]);
        let gated = RegistryView::new([("a", true)]);
        let open = RegistryView::new([("a", false)]);
        assert_eq!(lifecycle(&life, &gated, START), Step::Serve);
        assert_eq!(
            lifecycle(&life, &open, START),
            Step::Rerun(vec!["a".into()])
        );
    }

    #[test]
    fn a_partial_report_is_served_until_its_wait_is_over_to_the_microsecond() {
        let life = Life::new(START, START, vec![("a".into(), SourceStatus::Error)]);
        let registry = RegistryView::new([("a", false)]);
        let over = START + PARTIAL_WAIT;
        assert_eq!(
            lifecycle(&life, &registry, over - Duration::MICROSECOND),
            Step::Serve
        );
        assert_eq!(
            lifecycle(&life, &registry, over),
            Step::Rerun(vec!["a".into()])
        );
    }
}
