//! When a publisher is asked again: pure.

use brownstone_domain::rates::Frequency;
use time::{Date, Duration, OffsetDateTime, Weekday};

use crate::{answer::Good, series::Series};

/// The shortest time between two questions, where something is known.
const AT_MOST_HOURLY: Duration = Duration::HOUR;
/// How often that time doubles while nothing new is found: 1, 2, then 4 hours.
const DOUBLINGS: u32 = 2;
/// The shortest time between two questions, where nothing is known: callers get an error until then.
const WHILE_NOTHING_IS_KNOWN: Duration = Duration::seconds(30);
/// New York's clock is behind UTC by four or five hours; the greater keeps us from asking too early.
const BEHIND_UTC: Duration = Duration::hours(5);
/// The survey comes out on Thursdays at noon.
const NOON: Duration = Duration::hours(12);

/// The last time a source was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// When.
    pub at: OffsetDateTime,
    /// How often in a row it had nothing new, failures included.
    pub fruitless: u32,
}

impl Attempt {
    /// The attempt that follows one.
    pub fn after(before: Option<Self>, at: OffsetDateTime, news: bool) -> Self {
        let fruitless = match before {
            _ if news => 0,
            None => 1,
            Some(before) => before.fruitless.saturating_add(1),
        };
        Self { at, fruitless }
    }
}

/// Whether a source should be asked now, by what is known of its series and when it was last asked.
pub fn is_due<'a>(
    values: impl Iterator<Item = (&'static Series, Option<&'a Good>)>,
    last: Option<&Attempt>,
    now: OffsetDateTime,
) -> bool {
    let (mut known, mut current) = (true, true);
    let mut read_at: Option<OffsetDateTime> = None;
    for (series, value) in values {
        match value {
            None => known = false,
            Some(value) => {
                current &= value.latest.day() >= Some(expected(series.frequency, now));
                read_at = read_at.max(Some(value.fetched_at));
            }
        }
    }
    if known && current {
        // Nothing newer can be out.
        return false;
    }
    let (at, wait) = match (last, read_at) {
        (Some(last), _) if !known => (last.at, WHILE_NOTHING_IS_KNOWN),
        (Some(last), _) => {
            let doublings = last.fruitless.saturating_sub(1).min(DOUBLINGS);
            (last.at, AT_MOST_HOURLY * (1_i32 << doublings))
        }
        // Read by another process, or before a restart.
        (None, Some(read_at)) if known => (read_at, AT_MOST_HOURLY),
        (None, _) => return true,
    };
    // A wall clock that was put back is no reason to wait for it.
    now >= at + wait || now < at
}

/// The day of the newest value that can be out: an index's of the last business day before today, a survey's of the last
/// Thursday noon. Holidays are not known here: they cost a few questions.
pub fn expected(frequency: Frequency, now: OffsetDateTime) -> Date {
    match frequency {
        Frequency::Daily => {
            let mut day = (now - BEHIND_UTC).date() - Duration::DAY;
            while matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday) {
                day -= Duration::DAY;
            }
            day
        }
        Frequency::Weekly => {
            let mut day = (now - BEHIND_UTC - NOON).date();
            while day.weekday() != Weekday::Thursday {
                day -= Duration::DAY;
            }
            day
        }
    }
}

#[cfg(test)]
mod tests {
    use brownstone_domain::PublishedDate;
    use rstest::rstest;
    use time::macros::{date, datetime};

    use super::*;
    use crate::{observation::Observation, series};

    #[rstest]
    // A Friday, before and after New York's midnight and noon.
    #[case(datetime!(2026-11-27 12:00 UTC), date!(2026-11-26), date!(2026-11-26))]
    #[case(datetime!(2026-11-27 04:59 UTC), date!(2026-11-25), date!(2026-11-26))]
    // A Thursday at a quarter to noon, and at noon.
    #[case(datetime!(2026-11-26 16:45 UTC), date!(2026-11-25), date!(2026-11-19))]
    #[case(datetime!(2026-11-26 17:00 UTC), date!(2026-11-25), date!(2026-11-26))]
    // A weekend, and the Monday after it.
    #[case(datetime!(2026-11-28 12:00 UTC), date!(2026-11-27), date!(2026-11-26))]
    #[case(datetime!(2026-11-29 12:00 UTC), date!(2026-11-27), date!(2026-11-26))]
    #[case(datetime!(2026-11-30 12:00 UTC), date!(2026-11-27), date!(2026-11-26))]
    fn what_can_be_out(#[case] now: OffsetDateTime, #[case] daily: Date, #[case] weekly: Date) {
        assert_eq!(expected(Frequency::Daily, now), daily);
        assert_eq!(expected(Frequency::Weekly, now), weekly);
    }

    const NOW: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

    fn of(date: &str, fetched_at: OffsetDateTime) -> Good {
        Good {
            latest: Observation {
                date: PublishedDate::from(date),
                rate_percent: 6.9,
                points: None,
            },
            previous: None,
            fetched_at,
        }
    }

    fn due(value: Option<&Good>, last: Option<Attempt>) -> bool {
        let series = series::by_id("OBMMIC30YF").unwrap();
        is_due([(series, value)].into_iter(), last.as_ref(), NOW)
    }

    fn asked(before: Duration, fruitless: u32) -> Option<Attempt> {
        Some(Attempt {
            at: NOW - before,
            fruitless,
        })
    }

    #[test]
    fn what_was_never_read_is_asked_at_once_and_again_after_thirty_seconds() {
        assert!(due(None, None));
        assert!(!due(None, asked(Duration::seconds(29), 1)));
        assert!(due(None, asked(Duration::seconds(30), 9)));
    }

    #[test]
    fn the_newest_value_there_can_be_is_left_alone() {
        let newest = of("2026-11-26", NOW - Duration::days(1));
        assert!(!due(Some(&newest), None));
        assert!(!due(Some(&newest), asked(Duration::days(1), 0)));
    }

    #[rstest]
    #[case(0, Duration::HOUR)]
    #[case(1, Duration::HOUR)]
    #[case(2, Duration::hours(2))]
    #[case(3, Duration::hours(4))]
    #[case(40, Duration::hours(4))]
    fn an_older_value_is_asked_anew_at_most_hourly_and_less_often_in_vain(
        #[case] fruitless: u32,
        #[case] wait: Duration,
    ) {
        let old = of("2026-11-25", NOW - Duration::days(1));
        assert!(!due(Some(&old), asked(wait - Duration::SECOND, fruitless)));
        assert!(due(Some(&old), asked(wait, fruitless)));
    }

    #[test]
    fn what_another_process_read_within_the_hour_is_not_asked_again() {
        let old = of("2026-11-25", NOW - Duration::minutes(59));
        assert!(!due(Some(&old), None));
        let older = of("2026-11-25", NOW - Duration::HOUR);
        assert!(due(Some(&older), None));
    }

    #[test]
    fn a_clock_that_was_put_back_stops_nothing() {
        let old = of("2026-11-25", NOW - Duration::days(1));
        assert!(due(Some(&old), asked(-Duration::days(300), 0)));
    }

    #[test]
    fn of_two_series_in_one_file_the_older_decides() {
        let thirty = series::by_id("pmms30").unwrap();
        let fifteen = series::by_id("pmms15").unwrap();
        let (newest, old) = (of("11/26/2026", NOW), of("11/19/2026", NOW));
        let last = asked(Duration::HOUR, 1);
        let both = |other| {
            let values = [(thirty, Some(&newest)), (fifteen, Some(other))];
            is_due(values.into_iter(), last.as_ref(), NOW)
        };
        assert!(!both(&newest));
        assert!(both(&old));
    }

    #[test]
    fn news_ends_the_count_of_attempts_in_vain() {
        let first = Attempt::after(None, NOW, false);
        assert_eq!(first.fruitless, 1);
        assert_eq!(Attempt::after(Some(first), NOW, false).fruitless, 2);
        assert_eq!(Attempt::after(Some(first), NOW, true).fruitless, 0);
    }
}
