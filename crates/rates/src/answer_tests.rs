use std::collections::HashMap;

use brownstone_domain::{PublishedDate, RatesRequest, rates::Occupancy};
use rstest::rstest;
use time::macros::datetime;

use super::*;
use crate::{limits::ConformingLimits, scenario::resolve};

const NOW: OffsetDateTime = datetime!(2026-11-27 12:00 UTC);

type Known = HashMap<&'static str, Good>;

fn value(date: &str, rate_percent: f64, before: Option<f64>) -> Good {
    let observation = |date: &str, rate_percent| Observation {
        date: PublishedDate::from(date),
        rate_percent,
        points: None,
    };
    Good {
        latest: observation(date, rate_percent),
        previous: before.map(|rate| observation("2026-11-01", rate)),
        fetched_at: NOW,
    }
}

/// Every series has a value of its own: its place in the table, in hundredths above 6 percent.
fn all(date: &str) -> Known {
    let rates = series::SERIES.iter().enumerate();
    rates
        .map(|(at, series)| {
            let rate = 6.0 + at as f64 / 100.0;
            (series.id, value(date, rate, Some(6.0)))
        })
        .collect()
}

fn answer(request: &RatesRequest, known: &Known) -> Result<RatesAnswer, NeverRead> {
    let limits = ConformingLimits::built_in().unwrap();
    let scenario = resolve(request, &limits, 2026).unwrap();
    compose(scenario, |id| known.get(id), NOW)
}

fn first(request: &RatesRequest, known: &Known) -> RateRow {
    answer(request, known).unwrap().rates.swap_remove(0)
}

fn conventional(credit_score: u16, ltv_percent: f64) -> RatesRequest {
    RatesRequest {
        credit_score: Some(credit_score),
        ltv_percent: Some(ltv_percent),
        ..RatesRequest::default()
    }
}

#[rstest]
#[case(850, 80.0, "OBMMIC30YFLVLE80FGE740")]
#[case(740, 80.0, "OBMMIC30YFLVLE80FGE740")]
#[case(739, 80.0, "OBMMIC30YFLVLE80FB720A739")]
#[case(720, 60.0, "OBMMIC30YFLVLE80FB720A739")]
#[case(719, 60.0, "OBMMIC30YFLVLE80FB700A719")]
#[case(700, 60.0, "OBMMIC30YFLVLE80FB700A719")]
#[case(699, 60.0, "OBMMIC30YFLVLE80FB680A699")]
#[case(680, 60.0, "OBMMIC30YFLVLE80FB680A699")]
#[case(679, 60.0, "OBMMIC30YFLVLE80FLT680")]
#[case(300, 0.01, "OBMMIC30YFLVLE80FLT680")]
#[case(740, 80.01, "OBMMIC30YFLVGT80FGE740")]
#[case(720, 95.0, "OBMMIC30YFLVGT80FB720A739")]
#[case(700, 95.0, "OBMMIC30YFLVGT80FB700A719")]
#[case(680, 95.0, "OBMMIC30YFLVGT80FB680A699")]
#[case(679, 100.0, "OBMMIC30YFLVGT80FLT680")]
fn a_conforming_30_year_loan_goes_to_its_class(
    #[case] score: u16,
    #[case] ltv: f64,
    #[case] id: &str,
) {
    let row = first(&conventional(score, ltv), &all("2026-11-25"));
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        (id, RateMatch::Bucket)
    );
}

#[rstest]
#[case(LoanType::Fha, 30, "OBMMIFHA30YF")]
#[case(LoanType::Va, 30, "OBMMIVA30YF")]
#[case(LoanType::Usda, 30, "OBMMIUSDA30YF")]
#[case(LoanType::Jumbo, 30, "OBMMIJUMBO30YF")]
#[case(LoanType::Conventional, 15, "OBMMIC15YF")]
fn one_series_whatever_the_score_says_so(
    #[case] loan_type: LoanType,
    #[case] loan_term_years: u8,
    #[case] id: &str,
) {
    let request = RatesRequest {
        loan_type,
        loan_term_years,
        ..conventional(600, 97.0)
    };
    let row = first(&request, &all("2026-11-25"));
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        (id, RateMatch::Product)
    );
    for field in ["credit_score", "ltv_percent", "loan_purpose"] {
        let named = row.match_notes.iter().any(|note| note.starts_with(field));
        assert!(named, "{field}: {:?}", row.match_notes);
    }
}

#[test]
fn a_term_that_a_programme_has_no_series_of_is_noted_and_the_payment_keeps_the_term() {
    let request = RatesRequest {
        loan_type: LoanType::Fha,
        loan_term_years: 15,
        home_price: Some(500_000),
        ..RatesRequest::default()
    };
    let answer = answer(&request, &all("2026-11-25")).unwrap();
    let row = &answer.rates[0];
    assert_eq!(
        (row.series_id.as_ref(), row.loan_term_years),
        ("OBMMIFHA30YF", 30)
    );
    assert!(
        row.match_notes
            .iter()
            .any(|note| note.starts_with("loan_term_years"))
    );
    assert_eq!(answer.estimated_payment.unwrap().loan_term_years, 15);
}

#[test]
fn a_loan_above_the_limit_is_priced_as_jumbo_and_says_so() {
    let request = RatesRequest {
        home_price: Some(2_000_000),
        ..RatesRequest::default()
    };
    let answer = answer(&request, &all("2026-11-25")).unwrap();
    assert!(answer.scenario.is_jumbo);
    let row = &answer.rates[0];
    assert_eq!(row.series_id.as_ref(), "OBMMIJUMBO30YF");
    assert!(row.match_notes.iter().any(|note| note.contains("1249125")));
}

#[test]
fn a_class_without_a_value_of_the_last_week_gives_way_to_the_product_and_that_to_the_survey() {
    let mut known = all("2026-11-25");
    let old = value("2026-11-19", 6.5, None);
    let bucket = "OBMMIC30YFLVLE80FGE740";
    known.insert(bucket, old.clone());
    let row = first(&conventional(740, 80.0), &known);
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        ("OBMMIC30YF", RateMatch::Product)
    );

    known.insert("OBMMIC30YF", old);
    let row = first(&conventional(740, 80.0), &known);
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        ("MORTGAGE30US", RateMatch::Benchmark)
    );
    assert_eq!(row.observation_date.as_str(), "2026-11-25");

    // A week old is not over a week old.
    known.insert(bucket, value("2026-11-20", 6.5, None));
    assert_eq!(
        first(&conventional(740, 80.0), &known).series_id.as_ref(),
        bucket
    );
}

#[test]
fn the_survey_of_fifteen_years_stands_in_for_fifteen_years() {
    let known: Known = all("2026-11-25")
        .into_iter()
        .filter(|(id, _)| !id.starts_with("OBMMI"))
        .collect();
    let request = RatesRequest {
        loan_term_years: 15,
        ..RatesRequest::default()
    };
    let row = first(&request, &known);
    assert_eq!(
        (row.series_id.as_ref(), row.loan_term_years),
        ("MORTGAGE15US", 15)
    );
    let jumbo = RatesRequest {
        loan_type: LoanType::Jumbo,
        ..RatesRequest::default()
    };
    let row = first(&jumbo, &known);
    assert_eq!(row.series_id.as_ref(), "MORTGAGE30US");
    assert!(
        row.match_notes
            .iter()
            .any(|note| note.starts_with("loan_type"))
    );
}

#[test]
fn the_survey_comes_from_whoever_has_the_newer_week() {
    let mut known = all("2026-11-25");
    known.insert("pmms30", value("11/26/2026", 7.1, Some(7.25)));
    let answer = answer(&RatesRequest::default(), &known).unwrap();
    let [thirty, fifteen] = answer.benchmarks.as_slice() else {
        panic!("one row a term: {:?}", answer.benchmarks);
    };
    assert_eq!(
        (thirty.series_id.as_ref(), thirty.source.as_ref()),
        ("pmms30", series::PMMS)
    );
    assert_eq!(
        thirty.observation_date.as_str(),
        "11/26/2026",
        "as published"
    );
    assert_eq!(thirty.change_percentage_points, Some(-0.15));
    assert_eq!(
        (fifteen.series_id.as_ref(), fifteen.loan_term_years),
        ("MORTGAGE15US", 15)
    );
}

#[test]
fn where_all_is_old_the_newest_is_given_with_its_age() {
    let mut known = all("2026-09-01");
    let bucket = "OBMMIC30YFLVLE80FGE740";
    known.insert(bucket, value("2026-10-28", 6.5, None));
    let row = first(&conventional(740, 80.0), &known);
    assert_eq!(
        (row.series_id.as_ref(), row.matched),
        (bucket, RateMatch::Bucket)
    );
    assert!(
        row.match_notes
            .iter()
            .any(|note| note.contains("30 days back"))
    );
}

#[test]
fn what_was_never_read_is_no_rate() {
    assert_eq!(
        answer(&RatesRequest::default(), &Known::new()),
        Err(NeverRead)
    );
    // Neither is another loan's.
    let known = Known::from([("OBMMIFHA30YF", value("2026-11-25", 6.1, None))]);
    assert_eq!(answer(&RatesRequest::default(), &known), Err(NeverRead));
}

#[test]
fn a_rate_carries_its_date_its_source_and_what_it_was_before() {
    let bucket = "OBMMIC30YFLVLE80FGE740";
    let known = Known::from([(bucket, value("2026-11-25", 6.951, Some(6.9)))]);
    let request = RatesRequest {
        home_price: Some(1_000_000),
        ..RatesRequest::default()
    };
    let answer = answer(&request, &known).unwrap();
    let row = &answer.rates[0];
    assert_eq!(
        (row.rate_percent, row.previous_rate_percent),
        (6.951, Some(6.9))
    );
    assert_eq!(row.change_percentage_points, Some(0.051));
    assert_eq!((row.source.as_ref(), row.fetched_at), (series::OBMMI, NOW));
    assert_eq!((row.apr_percent, row.points), (None, None));
    let payment = answer.estimated_payment.unwrap();
    assert_eq!(payment.rate_percent_used, 6.951);
    assert_eq!(payment.loan_amount, 800_000);
    assert_eq!(payment.principal_and_interest_monthly, 5_296.12);
    assert_eq!(answer.as_of_at, NOW);
    assert!(answer.benchmarks.is_empty());
}

#[test]
fn the_class_stands_first_and_the_product_behind_it() {
    let answer = answer(&RatesRequest::default(), &all("2026-11-25")).unwrap();
    let found: Vec<_> = answer
        .rates
        .iter()
        .map(|row| (row.series_id.as_ref(), row.matched))
        .collect();
    assert_eq!(
        found,
        [
            ("OBMMIC30YFLVLE80FGE740", RateMatch::Bucket),
            ("OBMMIC30YF", RateMatch::Product)
        ]
    );
    assert_eq!(answer.estimated_payment, None, "no amount, no payment");
}

#[test]
fn a_co_op_is_labelled_and_inputs_that_were_not_sent_are_not_named() {
    let plain = first(&RatesRequest::default(), &all("2026-11-25"));
    assert_eq!(plain.match_notes.len(), 1, "{:?}", plain.match_notes);
    let request = RatesRequest {
        property_type: Some(PropertyType::Coop),
        occupancy: Some(Occupancy::SecondHome),
        zip_code: Some("10024".parse().unwrap()),
        ..RatesRequest::default()
    };
    let row = first(&request, &all("2026-11-25"));
    let notes = row.match_notes.join("\n");
    for part in ["loan on shares", "occupancy did not", "zip_code did not"] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[rstest]
#[case(6.95, 6.9, 0.05)]
#[case(6.9, 6.95, -0.05)]
#[case(0.3, 0.1 + 0.2, 0.0)]
fn a_change_has_the_publishers_decimals(#[case] rate: f64, #[case] before: f64, #[case] by: f64) {
    assert_eq!(change(rate, before), by);
    assert!(change(rate, before) != 0.0 || change(rate, before).is_sign_positive());
}
