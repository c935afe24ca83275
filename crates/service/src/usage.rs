//! `GET /v1/usage`: counters and budgets to one answer. Pure.

use std::collections::BTreeMap;

use brownstone_accounts::{Caller, UsageCounts, UsageKey};
use brownstone_domain::{
    OPERATIONS, Surface,
    clock::from_micros,
    usage::{Counts, DayUsage, HistoryDay, KeyRef, MinuteUsage, OrderedMap, Refused, Usage},
};
use brownstone_quota::View;
use time::{Date, Duration, OffsetDateTime};

/// How many days of history an answer holds, today included.
pub const HISTORY_DAYS: i64 = 30;

/// The first day of the history.
pub fn first_day(view: &View) -> Date {
    let back = Duration::days(HISTORY_DAYS - 1);
    day_of(view).checked_sub(back).unwrap_or(Date::MIN)
}

/// The UTC day whose budget these numbers are of.
pub fn day_of(view: &View) -> Date {
    let days = Duration::days(view.day().into());
    OffsetDateTime::UNIX_EPOCH.date().saturating_add(days)
}

fn add(counts: &mut Counts, more: &UsageCounts) {
    counts.calls += more.calls;
    counts.failed += more.failed;
    counts.units += more.units;
}

/// The answer, from the account's counters of the last 30 days. Today is the budget's: units are counted on its days, whatever the
/// clock of this machine says.
pub fn usage(
    caller: &Caller,
    view: &View,
    counters: &[(UsageKey, UsageCounts)],
    now: OffsetDateTime,
) -> Usage {
    let today = day_of(view);
    let todays = || counters.iter().filter(|(key, _)| key.day == today);
    let sum = |wanted: &dyn Fn(&UsageKey) -> bool| {
        todays()
            .filter(|(key, _)| wanted(key))
            .fold(Counts::default(), |mut sum, (_, counts)| {
                add(&mut sum, counts);
                sum
            })
    };
    let by_operation = OPERATIONS
        .iter()
        .map(|row| {
            (
                row.name.to_owned(),
                sum(&|key| key.operation == row.operation),
            )
        })
        .collect();
    let by_surface = Surface::ALL
        .into_iter()
        .map(|surface| {
            (
                surface.as_str().to_owned(),
                sum(&|key| key.surface == surface),
            )
        })
        .collect();
    let mut by_key: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut refused = Refused::default();
    for (key, counts) in todays() {
        add(by_key.entry(key.key.as_str()).or_default(), counts);
        refused.rate_limited += counts.rate_limited;
        refused.permanent += counts.permanent;
    }
    let mut days: BTreeMap<Date, Counts> = BTreeMap::new();
    for (key, counts) in counters {
        add(days.entry(key.day).or_default(), counts);
    }
    let moment = |us| from_micros(us).unwrap_or(now);
    let limits = caller.limits;
    Usage {
        tier: caller.tier.as_str().to_owned(),
        environment: caller.environment.as_str().to_owned(),
        key: KeyRef {
            id: caller.key.id.as_str().to_owned(),
            name: caller.key.name.clone(),
            prefix: caller.key.prefix.clone(),
            last_four: caller.key.last_four.clone(),
        },
        minute: MinuteUsage {
            limit: limits.per_minute().into(),
            remaining: view.minute_remaining(),
            refill_per_second: f64::from(limits.per_minute()) / 60.0,
            full_at: moment(view.minute_full_at_us()),
        },
        day: DayUsage {
            limit: limits.per_day().into(),
            used: view.day_used(),
            remaining: view.daily_remaining(),
            resets_at: moment(view.day_resets_at_us()),
        },
        by_operation: OrderedMap(by_operation),
        by_surface: OrderedMap(by_surface),
        by_key: OrderedMap(
            by_key
                .into_iter()
                .map(|(key, counts)| (key.to_owned(), counts))
                .collect(),
        ),
        refused,
        history: days
            .into_iter()
            .rev()
            .filter(|(_, counts)| counts.calls > 0 || counts.units > 0)
            .map(|(date, counts)| HistoryDay {
                date,
                calls: counts.calls,
                units: counts.units,
            })
            .collect(),
        costs: OrderedMap(
            OPERATIONS
                .iter()
                .map(|row| (row.name.to_owned(), row.cost.get()))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use brownstone_accounts::{AccountId, CallerInfo, CallerKey, Environment, KeyId, Tier};
    use brownstone_domain::{Limits, Operation};
    use brownstone_quota::Record;
    use time::macros::{date, datetime};

    use super::*;

    const ACCOUNT: &str = "acc";
    const KEY: &str = "key";

    fn caller() -> Caller {
        Caller::from(CallerInfo {
            account: AccountId::from(ACCOUNT),
            tier: Tier::Pro,
            limits: Limits::default(),
            key: CallerKey {
                id: KeyId::from(KEY),
                name: "a key".to_owned(),
                prefix: "svc_test_".to_owned(),
                last_four: "abcd".to_owned(),
            },
            environment: Environment::Test,
        })
    }

    fn counted(day: Date, counts: UsageCounts) -> (UsageKey, UsageCounts) {
        let key = UsageKey {
            account: AccountId::from(ACCOUNT),
            day,
            key: KeyId::from(KEY),
            surface: Surface::Rest,
            operation: Operation::LookupProperty,
        };
        (key, counts)
    }

    #[test]
    fn today_is_the_day_of_the_budget_whatever_the_clock_says() {
        let budget = date!(2026 - 11 - 28);
        let midnight = budget.midnight().assume_utc().unix_timestamp();
        let midnight_us = u64::try_from(midnight).unwrap() * 1_000_000;
        let record = Record {
            last_us: midnight_us,
            day: brownstone_quota::record::day_of(midnight_us),
            spent: 10,
            ..Record::default()
        };
        let view = record.peek(midnight_us, Limits::default());
        assert_eq!(day_of(&view), budget);
        assert_eq!(first_day(&view), date!(2026 - 10 - 30));
        let charged = |units| UsageCounts {
            calls: 1,
            units,
            rate_limited: 1,
            ..UsageCounts::default()
        };
        let counters = [
            counted(date!(2026 - 11 - 27), charged(3)),
            counted(budget, charged(10)),
            counted(date!(2026 - 11 - 29), charged(7)),
        ];
        for now in [
            datetime!(2026-11-27 23:59:59 UTC),
            datetime!(2026-11-28 00:00 UTC),
            datetime!(2026-11-29 00:00:01 UTC),
        ] {
            let usage = usage(&caller(), &view, &counters, now);
            assert_eq!(usage.day.used, 10, "{now}");
            for sums in [&usage.by_operation, &usage.by_surface, &usage.by_key] {
                let units: u64 = sums.0.iter().map(|(_, counts)| counts.units).sum();
                assert_eq!(units, 10, "{now}");
            }
            assert_eq!(usage.refused.rate_limited, 1, "{now}");
        }
    }
}
