//! From a scenario and the last good values to an answer: pure.

use brownstone_domain::{
    PropertyType, RatesAnswer,
    rates::{LoanType, RateMatch, RateRow, RateType, Scenario},
};
use time::{Date, OffsetDateTime};

use crate::{
    observation::Observation,
    payment,
    scenario::priced_as,
    series::{self, Series},
};

/// An index value older than this, in days, gives way to the survey.
const FRESH_DAYS: i64 = 7;

/// What the numbers are not, and whose they are.
pub const DISCLAIMER: &str = "Published averages of the market, for information: not an offer, a quote, a commitment to \
lend or advice. A lender's rate depends on the borrower, the property and the day; the payment is principal and interest \
only. Optimal Blue Mortgage Market Indices are the property of Optimal Blue, the Primary Mortgage Market Survey that of \
Freddie Mac. This product uses the FRED API but is not endorsed or certified by the Federal Reserve Bank of St. Louis.";

/// The last good value of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Good {
    /// The newest value.
    pub latest: Observation,
    /// The one published before it.
    pub previous: Option<Observation>,
    /// When it was read.
    pub fetched_at: OffsetDateTime,
}

/// No series that could answer was ever read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no rate was ever read")]
pub struct NeverRead;

/// The series that may answer a scenario, the closest first, the survey's last.
pub fn candidates(scenario: &Scenario) -> impl Iterator<Item = &'static Series> {
    let (loan, term) = (priced_as(scenario), scenario.loan_term_years);
    let bucket = series::of_bucket(loan, term, scenario.ltv_bucket, scenario.credit_bucket);
    bucket
        .into_iter()
        .chain(series::of_product(loan, term))
        .chain(series::benchmarks(term))
}

/// Puts an answer together from what is known.
///
/// # Errors
/// [`NeverRead`].
pub fn compose<'a>(
    scenario: Scenario,
    good: impl Fn(&str) -> Option<&'a Good>,
    now: OffsetDateTime,
) -> Result<RatesAnswer, NeverRead> {
    let today = now.date();
    let known = |series: &'static Series| Some((series, good(series.id)?));
    let (loan, term) = (priced_as(&scenario), scenario.loan_term_years);
    let bucket =
        series::of_bucket(loan, term, scenario.ltv_bucket, scenario.credit_bucket).and_then(known);
    let product = series::of_product(loan, term).and_then(known);
    let survey = |term: u8| newest(series::benchmarks(term).filter_map(known));
    let fresh = |found: &(&'static Series, &Good)| {
        age(&found.1.latest, today).is_some_and(|days| days <= FRESH_DAYS)
    };
    let chosen = bucket
        .filter(fresh)
        .or_else(|| product.filter(fresh))
        // All that is left is old, or the survey: whatever is newest, and it says its day.
        .or_else(|| newest(survey(term).into_iter().chain(bucket).chain(product)))
        .ok_or(NeverRead)?;
    let row = |(series, value): (&'static Series, &Good), class_is_known| {
        let notes = notes(&scenario, series, value, today, class_is_known);
        row(series, value, notes, matched(series))
    };
    let class_is_known = matched(chosen.0) == RateMatch::Bucket;
    let mut rates = vec![row(chosen, class_is_known)];
    if class_is_known {
        rates.extend(product.map(|product| row(product, true)));
    }
    let benchmarks = [30, 15]
        .into_iter()
        .filter_map(survey)
        .map(|(series, value)| {
            let mut notes = vec![
                "no input of the scenario moved this rate: it is the survey's average for its term"
                    .to_owned(),
            ];
            notes.extend(aged(series, value, today));
            self::row(series, value, notes, RateMatch::Benchmark)
        })
        .collect();
    let rate = chosen.1.latest.rate_percent;
    let estimated_payment = scenario
        .loan_amount
        .map(|loan| payment::estimate(loan, rate, scenario.loan_term_years));
    Ok(RatesAnswer {
        scenario,
        rates,
        benchmarks,
        estimated_payment,
        as_of_at: now,
        disclaimer: DISCLAIMER.into(),
    })
}

/// The one whose value is of the latest day; of several, the first.
fn newest<'a>(
    found: impl Iterator<Item = (&'static Series, &'a Good)>,
) -> Option<(&'static Series, &'a Good)> {
    found.reduce(|best, next| {
        if next.1.latest.day() > best.1.latest.day() {
            next
        } else {
            best
        }
    })
}

fn matched(series: &Series) -> RateMatch {
    use brownstone_domain::rates::Frequency;
    match (series.frequency, series.bucket) {
        (Frequency::Weekly, _) => RateMatch::Benchmark,
        (Frequency::Daily, Some(_)) => RateMatch::Bucket,
        (Frequency::Daily, None) => RateMatch::Product,
    }
}

fn age(observation: &Observation, today: Date) -> Option<i64> {
    Some((today - observation.day()?).whole_days())
}

fn row(
    series: &'static Series,
    value: &Good,
    match_notes: Vec<String>,
    matched: RateMatch,
) -> RateRow {
    let rate = value.latest.rate_percent;
    let previous = value.previous.as_ref().map(|before| before.rate_percent);
    RateRow {
        product: series.product.into(),
        loan_type: series.loan_type,
        loan_term_years: series.term,
        rate_type: RateType::Fixed,
        rate_percent: rate,
        apr_percent: None,
        points: value.latest.points,
        observation_date: value.latest.date.clone(),
        frequency: series.frequency,
        previous_rate_percent: previous,
        change_percentage_points: previous.map(|before| change(rate, before)),
        source: series.source.into(),
        series_id: series.id.into(),
        fetched_at: value.fetched_at,
        matched,
        match_notes,
    }
}

/// Publishers give three decimals at most: a fourth is the double's, not theirs.
fn change(rate: f64, before: f64) -> f64 {
    let change = ((rate - before) * 1_000.0).round() / 1_000.0;
    // No minus before a zero.
    if change == 0.0 { 0.0 } else { change }
}

/// Each input that did not move the number, and why. `class_is_known`: the scenario's own class has a rate in this answer.
fn notes(
    scenario: &Scenario,
    series: &Series,
    value: &Good,
    today: Date,
    class_is_known: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut unmoved = |field: &str, why: &str| {
        notes.push(format!("{field} did not move this rate: {why}"));
    };
    let priced = priced_as(scenario);
    let kind = matched(series);
    unmoved("loan_purpose", "the series is of all purposes");
    if kind != RateMatch::Bucket {
        let why = match (kind, priced, scenario.loan_term_years) {
            (RateMatch::Benchmark, ..) => {
                "no index of the last week was at hand, and the survey is one average"
            }
            (_, LoanType::Conventional, 30) if class_is_known => {
                "this index is of all classes, for comparison"
            }
            (_, LoanType::Conventional, 30) => {
                "the index of this class has no value of the last week; this one is of all classes"
            }
            (_, LoanType::Conventional, _) => {
                "no 15-year index tells classes of score and loan-to-value apart"
            }
            _ => "there is one index of this loan type, whatever score and loan-to-value",
        };
        unmoved("credit_score", why);
        unmoved("ltv_percent", why);
    }
    if series.loan_type != priced {
        unmoved("loan_type", "the survey is of conforming loans");
    }
    if series.term != scenario.loan_term_years {
        unmoved(
            "loan_term_years",
            "the only index of this loan type is of 30 years",
        );
    }
    if scenario.occupancy.is_some() {
        unmoved("occupancy", "no index tells occupancies apart");
    }
    if scenario.zip_code.is_some() {
        unmoved(
            "zip_code",
            "the series is national; the ZIP decides the conforming limit alone",
        );
    }
    match scenario.property_type {
        None => {}
        Some(PropertyType::Coop | PropertyType::Condop) => unmoved(
            "property_type",
            "a co-op loan is a loan on shares, not a mortgage, and has no index; lenders often quote it like a conforming loan",
        ),
        Some(_) => unmoved(
            "property_type",
            "the series is of all kinds of home; the number of homes decides the conforming limit alone",
        ),
    }
    if scenario.is_jumbo && scenario.loan_type == LoanType::Conventional {
        notes.push(format!(
            "priced as jumbo: loan_amount is above the conforming limit of {} US dollars",
            scenario.conforming_limit
        ));
    }
    notes.extend(aged(series, value, today));
    notes
}

/// That a value is older than its publisher's rhythm explains.
fn aged(series: &Series, value: &Good, today: Date) -> Option<String> {
    use brownstone_domain::rates::Frequency;
    let usual = match series.frequency {
        Frequency::Daily => FRESH_DAYS,
        Frequency::Weekly => 2 * FRESH_DAYS,
    };
    let days = age(&value.latest, today).filter(|days| *days > usual)?;
    Some(format!(
        "observation_date is {days} days back: no newer value could be read"
    ))
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
