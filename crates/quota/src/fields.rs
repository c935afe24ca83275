//! The values of the fields `RateLimit-Policy`, `RateLimit` and `Retry-After`, as text.
//!
//! They follow the IETF draft on rate-limit fields in its named-item form: both policies in `RateLimit-Policy`, the
//! tighter one in `RateLimit`. Units are the product's own cost units, so `qu` is left out.

use brownstone_domain::Limits;

use crate::decision::{Budget, Decision, View};

// The draft's one-letter parameters; a later version may rename them.
const QUOTA: &str = "q";
const WINDOW: &str = "w";
const REMAINING: &str = "r";
const EFFECTIVE: &str = "t";

/// What to send about the budgets with a success or a 429.
///
/// ```
/// use brownstone_domain::{Limits, Units};
/// use brownstone_quota::{RateLimitFields, Record};
///
/// let limits = Limits::default();
/// let decision = Record::default().charge(0, Units::new(10), limits).into_decision("account");
/// let fields = RateLimitFields::from(&decision);
/// assert_eq!(fields.policy, r#""minute";q=240;w=60, "day";q=10000;w=86400"#);
/// assert_eq!(fields.rate_limit, r#""minute";r=230;t=58"#);
/// assert_eq!(fields.retry_after_seconds, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitFields {
    /// Value of `RateLimit-Policy`. It depends only on the limits.
    pub policy: String,
    /// Value of `RateLimit`: the tighter budget, or, when a call is refused for the moment, the one that keeps the caller waiting.
    pub rate_limit: String,
    /// Value of `Retry-After`, in seconds; `None` on a success and when waiting does not help.
    pub retry_after_seconds: Option<u64>,
}

impl RateLimitFields {
    /// Name of the field that lists both policies.
    pub const POLICY: &str = "ratelimit-policy";
    /// Name of the field that tells what is left.
    pub const RATE_LIMIT: &str = "ratelimit";
    /// Name of the field that tells how long to wait.
    pub const RETRY_AFTER: &str = "retry-after";
}

impl From<&Decision> for RateLimitFields {
    fn from(decision: &Decision) -> Self {
        let view = decision.view();
        let retry_after_seconds = decision.retry_after_seconds();
        let rate_limit = match decision {
            // `t` is the wait itself, so that the two cannot contradict each other.
            Decision::Short { budget, .. } => rate_limit(
                view,
                *budget,
                retry_after_seconds.unwrap_or_else(|| view.effective_seconds(*budget)),
            ),
            Decision::Admitted { .. } | Decision::TooLarge { .. } => tighter(view),
        };
        Self {
            policy: policy(view.limits()),
            rate_limit,
            retry_after_seconds,
        }
    }
}

/// For answers that charge nothing but still show the budget.
impl From<&View> for RateLimitFields {
    fn from(view: &View) -> Self {
        Self {
            policy: policy(view.limits()),
            rate_limit: tighter(view),
            retry_after_seconds: None,
        }
    }
}

/// Value of `RateLimit-Policy` under `limits`.
///
/// ```
/// use brownstone_domain::Limits;
/// use brownstone_quota::fields::policy;
/// assert_eq!(policy(Limits::new(8, 0).unwrap()), r#""minute";q=8;w=60, "day";q=0;w=86400"#);
/// ```
pub fn policy(limits: Limits) -> String {
    let mut text = String::with_capacity(64);
    for budget in Budget::ALL {
        if !text.is_empty() {
            text.push_str(", ");
        }
        name(&mut text, budget);
        parameter(&mut text, QUOTA, budget.ceiling(limits).into());
        parameter(&mut text, WINDOW, budget.window_seconds());
    }
    text
}

fn name(text: &mut String, budget: Budget) {
    text.push('"');
    text.push_str(budget.name());
    text.push('"');
}

/// `;name=value`. Every answer has five of them, so they are written without the machinery of `format!`.
fn parameter(text: &mut String, name: &str, value: u64) {
    text.push(';');
    text.push_str(name);
    text.push('=');
    text.push_str(itoa::Buffer::new().format(value));
}

/// Value of `RateLimit` where no budget is short: that of the tighter one.
pub fn tighter(view: &View) -> String {
    let budget = view.tighter();
    rate_limit(view, budget, view.effective_seconds(budget))
}

fn rate_limit(view: &View, budget: Budget, t: u64) -> String {
    let mut text = String::with_capacity(48);
    name(&mut text, budget);
    parameter(&mut text, REMAINING, view.budget(budget).remaining);
    parameter(&mut text, EFFECTIVE, t);
    text
}

#[cfg(test)]
mod tests {
    use brownstone_domain::Units;
    use proptest::prelude::*;
    use sfv::{BareItem, List, ListEntry, Parser};

    use super::*;
    use crate::{
        properties::strategies,
        record::{DAY_US, Record, SUB_UNITS},
    };

    /// 14:00 UTC.
    const NOW: u64 = 20_784 * DAY_US + 14 * 3_600_000_000;

    fn fields(record: Record, cost: u32, limits: Limits) -> RateLimitFields {
        RateLimitFields::from(
            &record
                .charge(NOW, Units::new(cost), limits)
                .into_decision("a"),
        )
    }

    fn used(minute: u64, day: u32) -> Record {
        Record {
            deficit: minute * SUB_UNITS,
            last_us: NOW,
            day: (NOW / DAY_US) as u32,
            spent: day,
        }
    }

    #[test]
    fn each_kind_of_answer_reads_as_documented() {
        let l = Limits::default();
        let low = Limits::new(8, 10_000).unwrap();
        // (used, cost, limits, RateLimit, Retry-After)
        let cases = [
            (used(0, 0), 10, l, r#""minute";r=230;t=58"#, None),
            (used(110, 9_955), 10, l, r#""day";r=35;t=36000"#, None),
            (used(237, 237), 10, l, r#""minute";r=3;t=2"#, Some(2)),
            (used(0, 10_000), 10, l, r#""day";r=0;t=36000"#, Some(36_000)),
            (
                used(240, 10_000),
                10,
                l,
                r#""day";r=0;t=36000"#,
                Some(36_000),
            ),
            (used(0, 0), 10, low, r#""minute";r=8;t=60"#, None),
        ];
        for (record, cost, limits, rate_limit, retry) in cases {
            let got = fields(record, cost, limits);
            assert_eq!(
                (got.rate_limit.as_str(), got.retry_after_seconds),
                (rate_limit, retry)
            );
            assert_eq!(got.policy, policy(limits));
        }
        let view = used(10, 10).peek(NOW, l);
        assert_eq!(
            RateLimitFields::from(&view).rate_limit,
            r#""minute";r=230;t=58"#
        );
    }

    type Members = Vec<(String, Vec<(String, i64)>)>;

    /// The members of a structured List of Strings with Integer parameters; anything else fails.
    fn parsed(text: &str) -> Members {
        let list: List = Parser::new(text).parse().unwrap();
        list.iter()
            .map(|entry| {
                let ListEntry::Item(item) = entry else {
                    panic!("an inner list in {text}");
                };
                let BareItem::String(name) = &item.bare_item else {
                    panic!("no String in {text}");
                };
                let parameters = item
                    .params
                    .iter()
                    .map(|(key, value)| {
                        let BareItem::Integer(value) = value else {
                            panic!("no Integer in {text}");
                        };
                        (key.as_str().to_owned(), i64::from(*value))
                    })
                    .collect();
                (name.as_str().to_owned(), parameters)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn everything_emitted_parses_back_to_the_same_numbers(
            record in strategies::record(),
            now in strategies::moment(),
            cost in strategies::cost(),
            limits in strategies::limits(),
        ) {
            let decision = record.charge(now, cost, limits).into_decision("a");
            let fields = RateLimitFields::from(&decision);
            let expected: Members = vec![
                ("minute".into(), vec![("q".into(), limits.per_minute().into()), ("w".into(), 60)]),
                ("day".into(), vec![("q".into(), limits.per_day().into()), ("w".into(), 86_400)]),
            ];
            prop_assert_eq!(parsed(&fields.policy), expected);

            let members = parsed(&fields.rate_limit);
            let [(name, parameters)] = members.as_slice() else {
                panic!("one policy expected in {}", fields.rate_limit);
            };
            let [(r_name, r), (t_name, t)] = parameters.as_slice() else {
                panic!("r and t expected in {}", fields.rate_limit);
            };
            prop_assert_eq!((r_name.as_str(), t_name.as_str()), ("r", "t"));
            let view = decision.view();
            let budget = Budget::ALL.into_iter().find(|b| b.name() == name).unwrap();
            prop_assert_eq!(u64::try_from(*r).unwrap(), view.budget(budget).remaining);
            let t = u64::try_from(*t).unwrap();
            prop_assert!(t >= 1);
            prop_assert_eq!(fields.retry_after_seconds.is_some(), matches!(decision, Decision::Short { .. }));
            if let Decision::Short { wait_us, .. } = decision {
                let retry = fields.retry_after_seconds.unwrap();
                prop_assert!(retry >= t);
                prop_assert!(retry * 1_000_000 >= wait_us, "not a moment early");
                prop_assert!(retry == 1 || (retry - 1) * 1_000_000 < wait_us, "not a second late");
            } else {
                prop_assert!(*r as u64 <= view.minute_remaining() && *r as u64 <= view.daily_remaining());
            }
        }
    }
}
