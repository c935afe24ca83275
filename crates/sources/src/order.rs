//! Newest first, by a parsed copy of the date. The published text is never touched.

use std::cmp::{Ordering, Reverse};

use brownstone_domain::{Dollars, Record, published::parse_day};
use brownstone_soda::{Column, Condition, Literal};
use time::{Date, Duration};

use crate::catalogue::spec::{Layout, OrderBy};

/// One key of the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderKey {
    pub(crate) column: Column,
    pub(crate) by: OrderBy,
    pub(crate) layout: Layout,
    pub(crate) descending: bool,
    /// The oldest date that is believed.
    pub(crate) oldest: Date,
    /// How far ahead of today a date is believed.
    pub(crate) ahead: Duration,
    /// Whether the column's name is known from hearsay.
    pub(crate) doubtful: bool,
}

/// How a source's records are put in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) keys: Vec<OrderKey>,
}

/// What a record is sorted by. Dates that are absent, unreadable or beyond belief come last.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    Day(Option<Date>, String),
    Number(Option<Dollars>),
    Text(Option<String>),
}

impl Order {
    /// The column whose date makes a record new or old.
    pub(crate) fn date_column(&self) -> Option<&OrderKey> {
        self.keys.first().filter(|key| key.by == OrderBy::Date)
    }

    /// The order as the publisher can be asked for it.
    pub(crate) fn asked(&self) -> Vec<(Column, bool)> {
        self.keys
            .iter()
            .map(|key| (key.column.clone(), key.descending))
            .collect()
    }

    /// Sorts, stable: what the keys do not tell apart stays as it came.
    pub(crate) fn sort(&self, records: &mut Vec<Record>, today: Date) {
        if self.keys.is_empty() {
            return;
        }
        let mut keyed: Vec<(Vec<SortKey>, Record)> = std::mem::take(records)
            .into_iter()
            .map(|record| (self.sort_key(&record, today), record))
            .collect();
        keyed.sort_by(|(a, _), (b, _)| self.compare(a, b));
        records.extend(keyed.into_iter().map(|(_, record)| record));
    }

    fn sort_key(&self, record: &Record, today: Date) -> Vec<SortKey> {
        self.keys
            .iter()
            .map(|key| {
                let text = record.text(key.column.as_str());
                match key.by {
                    OrderBy::Date => {
                        let day = text.and_then(|text| key.plausible(text, today));
                        // Within a day the time decides, where the text sorts as time does.
                        let time = match (key.layout, day, text) {
                            (Layout::Iso | Layout::Compact, Some(_), Some(text)) => text,
                            _ => "",
                        };
                        SortKey::Day(day, time.to_owned())
                    }
                    OrderBy::Number => SortKey::Number(text.and_then(|text| text.parse().ok())),
                    OrderBy::Text => SortKey::Text(text.map(str::to_owned)),
                }
            })
            .collect()
    }

    fn compare(&self, a: &[SortKey], b: &[SortKey]) -> Ordering {
        self.keys
            .iter()
            .zip(a.iter().zip(b))
            .map(|(key, (a, b))| {
                if key.descending {
                    // An absent value is the least of its kind, so it comes last.
                    Reverse(a).cmp(&Reverse(b))
                } else {
                    is_absent(a).cmp(&is_absent(b)).then_with(|| a.cmp(b))
                }
            })
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal)
    }

    /// Whether the record's date can be believed.
    pub(crate) fn is_dated(&self, record: &Record, today: Date) -> bool {
        self.date_column().is_none_or(|key| {
            record
                .text(key.column.as_str())
                .is_some_and(|text| key.plausible(text, today).is_some())
        })
    }

    /// The condition that leaves the dates beyond belief out, where the publisher's own comparison can tell them.
    pub(crate) fn window(&self, today: Date) -> Option<Condition> {
        let key = self.date_column()?;
        let (from, to) = (key.oldest, key.latest(today));
        let write = |day: Date, time: &str| {
            let (year, month, dom) = day.to_calendar_date();
            let month = u8::from(month);
            Literal::Text(match key.layout {
                Layout::Compact => format!("{year:04}{month:02}{dom:02}"),
                Layout::Iso | Layout::Mixed => format!("{year:04}-{month:02}-{dom:02}{time}"),
            })
        };
        match key.layout {
            Layout::Mixed => None,
            Layout::Compact | Layout::Iso => Some(Condition::Between(
                key.column.clone(),
                write(from, "T00:00:00.000"),
                write(to, "T23:59:59.999"),
            )),
        }
    }
}

const fn is_absent(key: &SortKey) -> bool {
    matches!(
        key,
        SortKey::Day(None, _) | SortKey::Number(None) | SortKey::Text(None)
    )
}

impl OrderKey {
    fn latest(&self, today: Date) -> Date {
        today.saturating_add(self.ahead)
    }

    /// The day, if it can be believed: neither too old nor too far ahead.
    fn plausible(&self, text: &str, today: Date) -> Option<Date> {
        day_of(text).filter(|day| (self.oldest..=self.latest(today)).contains(day))
    }
}

/// The day a text names; the first of the month for `MM/YYYY`, which one set has.
pub(crate) fn day_of(text: &str) -> Option<Date> {
    parse_day(text).or_else(|| {
        let (month, year) = text.trim().split_once('/')?;
        if year.len() != 4 {
            return None;
        }
        parse_day(&format!("{year}-{month}-01"))
    })
}

#[cfg(test)]
mod tests {
    use brownstone_domain::FieldValue;
    use proptest::prelude::*;
    use time::macros::date;

    use super::*;

    const TODAY: Date = date!(2026 - 11 - 27);
    const OLDEST: Date = date!(1900 - 01 - 01);

    fn order(layout: Layout) -> Order {
        Order {
            keys: vec![OrderKey {
                column: Column::new("issue_date").unwrap(),
                by: OrderBy::Date,
                layout,
                descending: true,
                oldest: OLDEST,
                ahead: Duration::days(1),
                doubtful: false,
            }],
        }
    }

    fn records(dates: &[&str]) -> Vec<Record> {
        dates
            .iter()
            .map(|date| {
                let mut record = Record::default();
                record.push(
                    "issue_date",
                    if date.is_empty() {
                        FieldValue::Null
                    } else {
                        FieldValue::Text((*date).to_owned())
                    },
                );
                record
            })
            .collect()
    }

    fn sorted(layout: Layout, dates: &[&str]) -> Vec<String> {
        let mut records = records(dates);
        order(layout).sort(&mut records, TODAY);
        records
            .iter()
            .map(|record| record.text("issue_date").unwrap_or("").to_owned())
            .collect()
    }

    #[test]
    fn text_dates_do_not_sort() {
        assert_eq!(
            sorted(
                Layout::Mixed,
                &["12/31/2019", "01/15/2024", "2021-06-05 ", "06/01/2022"]
            ),
            ["01/15/2024", "06/01/2022", "2021-06-05 ", "12/31/2019"]
        );
    }

    #[test]
    fn rubbish_dates_come_last() {
        assert_eq!(
            sorted(
                Layout::Compact,
                &["Y9990120", "20240131", "", "000000", "20991231", "19991231"]
            ),
            ["20240131", "19991231", "Y9990120", "", "000000", "20991231"]
        );
    }

    #[test]
    fn within_a_day_the_time_decides() {
        assert_eq!(
            sorted(
                Layout::Iso,
                &["2024-01-31T08:00:00.000", "2024-01-31T17:30:00.000"]
            ),
            ["2024-01-31T17:30:00.000", "2024-01-31T08:00:00.000"]
        );
    }

    #[test]
    fn rising_orders_keep_the_absent_last_too() {
        let mut rising = order(Layout::Iso);
        rising.keys[0].descending = false;
        let mut rows = records(&["", "2024-01-31", "2020-01-31"]);
        rising.sort(&mut rows, TODAY);
        let dates: Vec<_> = rows.iter().map(|row| row.text("issue_date")).collect();
        assert_eq!(dates, [Some("2020-01-31"), Some("2024-01-31"), None]);
    }

    proptest! {
        #[test]
        fn sorting_keeps_every_record(dates in proptest::collection::vec("[0-9Y/-]{0,10}", 0..40)) {
            let texts: Vec<&str> = dates.iter().map(String::as_str).collect();
            let mut out = sorted(Layout::Mixed, &texts);
            let days: Vec<Option<Date>> = out
                .iter()
                .map(|text| order(Layout::Mixed).keys[0].plausible(text, TODAY))
                .collect();
            prop_assert!(days.windows(2).all(|pair| pair[0] >= pair[1]), "{out:?}");
            let mut all = dates.clone();
            all.sort();
            out.sort();
            prop_assert_eq!(out, all);
        }
    }
}
