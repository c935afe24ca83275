//! How prices moved: a monthly index for each segment and borough, in which no month knows a later one.
//!
//! Each sale is compared with earlier ones near it (its line, building or block), moved to its own size and to the
//! index so far; the median of a month's differences moves the index, the more of them the further. It is a filter
//! that only looks back: what it says of a month never changes with what is sold afterwards.

use super::{History, Observation, Subject, history::Shares, stats::median};
use crate::Segment;

/// Days of a month of the index: a twelfth of a year.
const MONTH_DAYS: f64 = 30.437;
const BOROUGHS: usize = 5;

/// Variance by which a month's true level moves from the last's: about 0.9 % a month.
const MONTHLY_VARIANCE: f64 = 8e-5;
/// Differences a month needs to move the index.
const FEWEST: usize = 5;
/// The same, in the segments' own order, for how many earlier sales a sale is compared with.
const EARLIER: usize = 10;

/// The logarithm of the price level, by segment, borough and month.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trend {
    first_month: i32,
    series: Vec<Vec<f64>>,
}

fn month(day: i32) -> i32 {
    // The quotient is small.
    (f64::from(day) / MONTH_DAYS).floor() as i32
}

fn series_of(subject: &Subject) -> Option<usize> {
    let borough = usize::try_from(subject.borough()).ok()?.checked_sub(1)?;
    // Too few rental buildings are sold in a month for each borough to have an index of its own.
    let series = match subject.segment() {
        Segment::FourAndMore => 0,
        _ => borough,
    };
    (borough < BOROUGHS).then_some(subject.segment() as usize * BOROUGHS + series)
}

impl Trend {
    /// The index of a history, whose groups and elasticities are ready.
    pub(crate) fn of(history: &History) -> Self {
        let observations = history.observations();
        let (Some(first), Some(last)) = (observations.first(), observations.last()) else {
            return Self::default();
        };
        let (first_month, last_month) = (month(first.date), month(last.date));
        let months = usize::try_from(last_month - first_month + 1).unwrap_or_default();
        let count = Segment::ALL.len() * BOROUGHS;
        let mut out = Self {
            first_month,
            series: vec![Vec::with_capacity(months); count],
        };
        let mut variance = vec![1.0; count];
        let mut started = vec![false; count];
        let mut rest = observations;
        for at in first_month..=last_month {
            let end = rest.partition_point(|o| month(o.date) <= at);
            let (now, later) = rest.split_at(end);
            rest = later;
            let mut differences: Vec<Vec<f64>> = vec![Vec::new(); count];
            let start = (f64::from(at) * MONTH_DAYS).ceil() as i32;
            for sale in now {
                if let Some(series) = series_of(&sale.subject)
                    && let Some(expected) = out.expected(history, sale, start)
                    && let Some(slot) = differences.get_mut(series)
                {
                    slot.push(sale.log_price - expected);
                }
            }
            let state = variance.iter_mut().zip(&mut started);
            for ((levels, differences), (variance, started)) in
                out.series.iter_mut().zip(&mut differences).zip(state)
            {
                let last = levels.last().copied().unwrap_or(0.0);
                *variance += MONTHLY_VARIANCE;
                let mut level = last;
                if differences.len() >= FEWEST
                    && let Some(middle) = median(differences)
                {
                    let mut away: Vec<f64> =
                        differences.iter().map(|d| (d - middle).abs()).collect();
                    let spread = 1.4826 * median(&mut away).unwrap_or(0.3);
                    let noise = 1.57 * spread.max(0.05).powi(2) / differences.len() as f64;
                    if *started {
                        let gain = *variance / (*variance + noise);
                        level += gain * (middle - last);
                        *variance *= 1.0 - gain;
                    } else {
                        // What is compared first has only its own past: it starts where the past is.
                        *started = true;
                        level = 0.0;
                        *variance = 0.0;
                    }
                }
                levels.push(level);
            }
        }
        out
    }

    /// What the sale would have cost at level zero, by earlier sales near it, plus nothing.
    fn expected(&self, history: &History, sale: &Observation, start: i32) -> Option<f64> {
        let subject = &sale.subject;
        let ladder: &[Shares] = if subject.segment().is_unit() {
            &[Shares::Lot, Shares::Line, Shares::Building]
        } else {
            &[Shares::Block, Shares::Neighborhood]
        };
        for shares in ladder {
            let earlier = history.before(*shares, subject, start, EARLIER);
            let least = if matches!(shares, Shares::Lot | Shares::Line) {
                1
            } else {
                3
            };
            if earlier.len() < least {
                continue;
            }
            let mut values: Vec<f64> = earlier
                .iter()
                .filter_map(|id| history.at(*id))
                .filter(|o| o.subject.segment() == subject.segment())
                .map(|o| {
                    o.log_price - self.level(&o.subject, month(o.date))
                        + history.hedonic.difference(subject, &o.subject)
                })
                .collect();
            if values.len() >= least {
                return median(&mut values);
            }
        }
        None
    }

    fn level(&self, subject: &Subject, month: i32) -> f64 {
        let levels = series_of(subject).and_then(|at| self.series.get(at));
        let Some(levels) = levels.filter(|levels| !levels.is_empty()) else {
            return 0.0;
        };
        let at = usize::try_from(month - self.first_month).unwrap_or(0);
        levels.get(at.min(levels.len() - 1)).copied().unwrap_or(0.0)
    }

    /// How far prices moved from a day to just before the cutoff, as a logarithm.
    ///
    /// The month of the cutoff is not over: the level is that of the month before it, and for a sale of the same month
    /// nothing has moved.
    pub(crate) fn between(&self, subject: &Subject, day: i32, cutoff: i32) -> f64 {
        let known = month(cutoff) - 1;
        self.level(subject, known) - self.level(subject, month(day).min(known))
    }
}
