//! A request made whole: any two of price, down payment, loan and loan-to-value fix the rest.

use std::fmt::Write as _;

use brownstone_domain::{
    RatesRequest,
    rates::{CreditBucket, LoanType, LtvBucket, Scenario},
};

use crate::limits::{self, ConformingLimits};

/// How far a loan-to-value ratio that was sent may be from the one the amounts give, in percentage points: people round.
const LTV_SLACK: f64 = 0.05;
/// How far amounts may be apart, in dollars, for the same reason.
const DOLLAR_SLACK: i64 = 1;
/// Where the published series part, in percent; the ratio itself is on the lower side.
const LTV_BREAK: i64 = 80;

/// A request that contradicts itself or the city's bounds: a whole sentence for the caller, naming the fields.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// Amounts that do not fit together, or leave no loan.
    #[error("{0}")]
    Contradiction(String),
    /// A ZIP outside the five boroughs.
    #[error("zip_code {0} is outside the five boroughs of New York City.")]
    OutsideCity(String),
}

/// What the amounts come to. Amounts are whole dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Amounts {
    price: i64,
    loan: i64,
    ltv_percent: f64,
    bucket: LtvBucket,
}

/// Makes a request whole, for the year of the day it is asked on.
///
/// # Errors
/// [`ScenarioError`]: what contradicts what.
pub fn resolve(
    request: &RatesRequest,
    limits: &ConformingLimits,
    year: i32,
) -> Result<Scenario, ScenarioError> {
    if let Some(zip) = request.zip_code
        && limits::borough_of(zip).is_none()
    {
        return Err(ScenarioError::OutsideCity(zip.to_string()));
    }
    let mut assumptions = Vec::new();
    if request.credit_score.is_none() {
        assumptions.push(format!("credit_score: {}", RatesRequest::DEFAULT_SCORE));
    }
    let amounts = amounts(request, &mut assumptions)?;
    let (ltv_percent, ltv_bucket) = match (amounts, request.ltv_percent) {
        (Some(amounts), _) => (amounts.ltv_percent, amounts.bucket),
        (None, Some(sent)) => (sent, bucket_of_percent(sent)),
        (None, None) => {
            assumptions.push(format!(
                "ltv_percent: {}",
                RatesRequest::DEFAULT_LTV_PERCENT
            ));
            (RatesRequest::DEFAULT_LTV_PERCENT, LtvBucket::UpTo80)
        }
    };
    let limit = limits.limit(year, request.property_type, request.zip_code);
    if limit.year != year {
        assumptions.push(format!(
            "conforming_limit: the one of {}, since none of {year} is listed",
            limit.year
        ));
    }
    let above = amounts.is_some_and(|amounts| amounts.loan > limit.amount);
    let is_jumbo = match request.loan_type {
        LoanType::Jumbo => true,
        LoanType::Conventional => above,
        LoanType::Fha | LoanType::Va | LoanType::Usda => false,
    };
    let credit_score = request.credit_score.unwrap_or(RatesRequest::DEFAULT_SCORE);
    Ok(Scenario {
        loan_purpose: request.loan_purpose,
        loan_type: request.loan_type,
        loan_term_years: request.loan_term_years,
        rate_type: request.rate_type,
        home_price: amounts.map(|amounts| amounts.price),
        down_payment: amounts.map(|amounts| amounts.price - amounts.loan),
        loan_amount: amounts.map(|amounts| amounts.loan),
        ltv_percent,
        credit_score,
        property_type: request.property_type,
        occupancy: request.occupancy,
        zip_code: request.zip_code,
        conforming_limit: limit.amount,
        conforming_limit_year: limit.year,
        is_jumbo,
        credit_bucket: CreditBucket::of(credit_score),
        ltv_bucket,
        assumptions,
    })
}

/// What the loan is priced as: a conventional one above the limit is jumbo.
pub fn priced_as(scenario: &Scenario) -> LoanType {
    if scenario.is_jumbo {
        LoanType::Jumbo
    } else {
        scenario.loan_type
    }
}

fn amounts(
    request: &RatesRequest,
    assumptions: &mut Vec<String>,
) -> Result<Option<Amounts>, ScenarioError> {
    let ltv = || {
        request
            .ltv_percent
            .unwrap_or(RatesRequest::DEFAULT_LTV_PERCENT)
    };
    // In the order of trust: dollars fix the rest exactly, a ratio only to the dollar.
    let (price, loan, exact) = match (
        request.home_price,
        request.down_payment,
        request.loan_amount,
    ) {
        (None, None, None) => return Ok(None),
        (Some(price), _, Some(loan)) => (price, loan, true),
        (Some(price), Some(down), None) => (price, price - down, true),
        (None, Some(down), Some(loan)) => (down.saturating_add(loan), loan, true),
        (Some(price), None, None) => (price, dollars(price as f64 * ltv() / 100.0), false),
        (None, None, Some(loan)) => (dollars(loan as f64 * 100.0 / ltv()), loan, false),
        (None, Some(down), None) => {
            let borrowed = ltv();
            if borrowed >= 100.0 {
                return Err(ScenarioError::Contradiction(format!(
                    "down_payment and ltv_percent leave the loan open; got {down} and {borrowed}: with 100 percent borrowed, send home_price or loan_amount."
                )));
            }
            let price = dollars(down as f64 * 100.0 / (100.0 - borrowed));
            (price, price - down, false)
        }
    };
    if price < 1 || loan < 1 || loan > price {
        return Err(ScenarioError::Contradiction(format!(
            "{} must leave a loan of at least 1 dollar and at most the home's price{}.",
            names(request),
            got(request),
        )));
    }
    let ltv_percent = loan as f64 * 100.0 / price as f64;
    let fits = |sent: Option<i64>, is: i64| {
        sent.is_none_or(|sent| sent.abs_diff(is) <= DOLLAR_SLACK.unsigned_abs())
    };
    let ratio_fits = request
        .ltv_percent
        .is_none_or(|sent| !exact || (sent - ltv_percent).abs() <= LTV_SLACK);
    if !fits(request.down_payment, price - loan)
        || !fits(request.loan_amount, loan)
        || !fits(request.home_price, price)
        || !ratio_fits
    {
        return Err(ScenarioError::Contradiction(format!(
            "{} contradict each other{}: any two fix the rest.",
            names(request),
            got(request),
        )));
    }
    if !exact && request.ltv_percent.is_none() {
        assumptions.push(format!(
            "ltv_percent: {}",
            RatesRequest::DEFAULT_LTV_PERCENT
        ));
    }
    // A ratio that fixed the loan is the scenario's own; the dollar it was rounded to must not move it over the break.
    let (ltv_percent, bucket) = if exact {
        let over = i128::from(loan) * 100 > i128::from(price) * i128::from(LTV_BREAK);
        let bucket = if over {
            LtvBucket::Above80
        } else {
            LtvBucket::UpTo80
        };
        (rounded(ltv_percent), bucket)
    } else {
        (ltv(), bucket_of_percent(ltv()))
    };
    Ok(Some(Amounts {
        price,
        loan,
        ltv_percent,
        bucket,
    }))
}

fn bucket_of_percent(percent: f64) -> LtvBucket {
    if percent > LTV_BREAK as f64 {
        LtvBucket::Above80
    } else {
        LtvBucket::UpTo80
    }
}

/// To the dollar. Amounts are far below where a double stops telling dollars apart.
fn dollars(amount: f64) -> i64 {
    amount.round() as i64
}

/// To the fourth decimal, which tells any dollar of an ordinary price; a ratio that would vanish stays as it is.
fn rounded(percent: f64) -> f64 {
    let short = (percent * 10_000.0).round() / 10_000.0;
    if short > 0.0 { short } else { percent }
}

fn sent(request: &RatesRequest) -> impl Iterator<Item = (&'static str, String)> {
    let text = |amount: Option<i64>| amount.map(|amount| amount.to_string());
    [
        ("home_price", text(request.home_price)),
        ("down_payment", text(request.down_payment)),
        ("loan_amount", text(request.loan_amount)),
        (
            "ltv_percent",
            request.ltv_percent.map(|percent| percent.to_string()),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
}

/// `a, b and c`.
fn names(request: &RatesRequest) -> String {
    joined(sent(request).map(|(name, _)| name.to_owned()).collect())
}

/// `; got 1, 2 and 3`.
fn got(request: &RatesRequest) -> String {
    let values = joined(sent(request).map(|(_, value)| value).collect());
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "; got {values}");
    text
}

fn joined(mut parts: Vec<String>) -> String {
    match parts.pop() {
        None => String::new(),
        Some(last) if parts.is_empty() => last,
        Some(last) => format!("{} and {last}", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use brownstone_domain::PropertyType;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn ask(
        price: Option<i64>,
        down: Option<i64>,
        loan: Option<i64>,
        ltv: Option<f64>,
    ) -> Result<Scenario, String> {
        let request = RatesRequest {
            home_price: price,
            down_payment: down,
            loan_amount: loan,
            ltv_percent: ltv,
            ..RatesRequest::default()
        };
        of(&request)
    }

    fn of(request: &RatesRequest) -> Result<Scenario, String> {
        resolve(request, &ConformingLimits::built_in().unwrap(), 2026)
            .map_err(|error| error.to_string())
    }

    #[rstest]
    #[case(Some(1_000_000), Some(250_000), None, None)]
    #[case(Some(1_000_000), None, Some(750_000), None)]
    #[case(Some(1_000_000), None, None, Some(75.0))]
    #[case(None, Some(250_000), Some(750_000), None)]
    #[case(None, Some(250_000), None, Some(75.0))]
    #[case(None, None, Some(750_000), Some(75.0))]
    #[case(Some(1_000_000), Some(250_000), Some(750_000), Some(75.0))]
    fn any_two_fix_the_rest(
        #[case] price: Option<i64>,
        #[case] down: Option<i64>,
        #[case] loan: Option<i64>,
        #[case] ltv: Option<f64>,
    ) {
        let scenario = ask(price, down, loan, ltv).unwrap();
        assert_eq!(
            (
                scenario.home_price,
                scenario.down_payment,
                scenario.loan_amount
            ),
            (Some(1_000_000), Some(250_000), Some(750_000))
        );
        assert_eq!(scenario.ltv_percent, 75.0);
        assert_eq!(scenario.assumptions, ["credit_score: 740"]);
    }

    #[test]
    fn without_an_amount_the_ratio_is_80_and_there_is_no_loan() {
        let scenario = ask(None, None, None, None).unwrap();
        assert_eq!((scenario.ltv_percent, scenario.loan_amount), (80.0, None));
        assert_eq!(scenario.ltv_bucket, LtvBucket::UpTo80);
        assert_eq!(
            scenario.assumptions,
            ["credit_score: 740", "ltv_percent: 80"]
        );
        assert_eq!(ask(None, None, None, Some(95.0)).unwrap().ltv_percent, 95.0);
    }

    #[rstest]
    #[case(Some(1_000_000), None, None, 800_000)]
    #[case(None, None, Some(800_000), 800_000)]
    #[case(None, Some(200_000), None, 800_000)]
    fn one_amount_alone_takes_the_default_ratio_and_says_so(
        #[case] price: Option<i64>,
        #[case] down: Option<i64>,
        #[case] loan: Option<i64>,
        #[case] wanted: i64,
    ) {
        let scenario = ask(price, down, loan, None).unwrap();
        assert_eq!(scenario.loan_amount, Some(wanted));
        assert_eq!(scenario.home_price, Some(1_000_000));
        assert!(scenario.assumptions.contains(&"ltv_percent: 80".to_owned()));
    }

    #[rstest]
    #[case(
        Some(1_000_000),
        None,
        Some(500_000),
        Some(80.0),
        "home_price, loan_amount and ltv_percent contradict each other; got 1000000, 500000 and 80: any two fix the rest."
    )]
    #[case(
        Some(1_000_000),
        Some(100_000),
        Some(500_000),
        None,
        "home_price, down_payment and loan_amount contradict each other; got 1000000, 100000 and 500000: any two fix the rest."
    )]
    #[case(
        Some(500_000),
        Some(500_000),
        None,
        None,
        "home_price and down_payment must leave a loan of at least 1 dollar and at most the home's price; got 500000 and 500000."
    )]
    #[case(
        Some(500_000),
        None,
        Some(600_000),
        None,
        "home_price and loan_amount must leave a loan of at least 1 dollar and at most the home's price; got 500000 and 600000."
    )]
    #[case(
        None,
        Some(1),
        None,
        Some(100.0),
        "down_payment and ltv_percent leave the loan open; got 1 and 100: with 100 percent borrowed, send home_price or loan_amount."
    )]
    fn a_contradiction_names_the_fields(
        #[case] price: Option<i64>,
        #[case] down: Option<i64>,
        #[case] loan: Option<i64>,
        #[case] ltv: Option<f64>,
        #[case] message: &str,
    ) {
        assert_eq!(ask(price, down, loan, ltv).unwrap_err(), message);
    }

    #[test]
    fn a_ratio_that_was_rounded_is_no_contradiction() {
        assert!(ask(Some(900_000), None, Some(300_000), Some(33.3)).is_ok());
        assert!(ask(Some(900_000), None, Some(300_000), Some(33.0)).is_err());
    }

    #[test]
    fn eighty_percent_exactly_is_in_the_lower_column_and_one_dollar_more_is_not() {
        let at = ask(Some(1_000_000), None, Some(800_000), None).unwrap();
        assert_eq!(at.ltv_bucket, LtvBucket::UpTo80);
        let above = ask(Some(1_000_000), None, Some(800_001), None).unwrap();
        assert_eq!(above.ltv_bucket, LtvBucket::Above80);
        // The loan of a price that 80 percent does not divide is rounded up; the ratio that was sent decides.
        let rounded = ask(Some(999_999), None, None, Some(80.0)).unwrap();
        assert_eq!(rounded.loan_amount, Some(799_999));
        assert_eq!(rounded.ltv_bucket, LtvBucket::UpTo80);
        let up = ask(Some(999_997), None, None, Some(80.0)).unwrap();
        assert_eq!(up.loan_amount, Some(799_998));
        assert_eq!(up.ltv_bucket, LtvBucket::UpTo80);
    }

    #[test]
    fn a_conventional_loan_above_the_limit_is_priced_as_jumbo() {
        let at = ask(Some(2_000_000), None, Some(1_249_125), None).unwrap();
        assert!(!at.is_jumbo);
        assert_eq!(priced_as(&at), LoanType::Conventional);
        let above = ask(Some(2_000_000), None, Some(1_249_126), None).unwrap();
        assert!(above.is_jumbo);
        assert_eq!(priced_as(&above), LoanType::Jumbo);
        assert_eq!(above.loan_type, LoanType::Conventional, "as asked");
    }

    #[test]
    fn the_limit_is_of_the_home_and_the_programme_decides() {
        let mut request = RatesRequest {
            home_price: Some(2_000_000),
            loan_amount: Some(1_500_000),
            property_type: Some(PropertyType::TwoFamily),
            ..RatesRequest::default()
        };
        assert!(!of(&request).unwrap().is_jumbo, "two homes");
        request.property_type = Some(PropertyType::Condo);
        assert!(of(&request).unwrap().is_jumbo);
        request.loan_type = LoanType::Va;
        assert!(!of(&request).unwrap().is_jumbo);
        request.loan_type = LoanType::Jumbo;
        request.loan_amount = Some(100_000);
        assert!(of(&request).unwrap().is_jumbo, "as asked");
    }

    #[test]
    fn a_zip_outside_the_city_is_outside() {
        let request = RatesRequest {
            zip_code: Some("07030".parse().unwrap()),
            ..RatesRequest::default()
        };
        assert_eq!(
            of(&request).unwrap_err(),
            "zip_code 07030 is outside the five boroughs of New York City."
        );
    }

    #[test]
    fn a_year_without_a_limit_says_which_it_takes() {
        let limits = ConformingLimits::built_in().unwrap();
        let scenario = resolve(&RatesRequest::default(), &limits, 2027).unwrap();
        assert_eq!(scenario.conforming_limit_year, 2026);
        assert!(
            scenario
                .assumptions
                .iter()
                .any(|text| text.contains("2027"))
        );
    }

    proptest! {
        #[test]
        fn what_one_pair_fixes_the_others_fix_too(price in 2_i64..1_000_000_000, share in 1_i64..=1_000_000) {
            let loan = (i128::from(price) * i128::from(share) / 1_000_000).max(1) as i64;
            let whole = ask(Some(price), None, Some(loan), None).unwrap();
            prop_assert_eq!(whole.loan_amount.unwrap() + whole.down_payment.unwrap(), price);
            let by_down = ask(Some(price), Some(price - loan), None, None).unwrap();
            prop_assert_eq!(&whole, &by_down);
            let by_parts = ask(None, Some(price - loan), Some(loan), None).unwrap();
            prop_assert_eq!(&whole, &by_parts);
            let all = ask(Some(price), Some(price - loan), Some(loan), Some(whole.ltv_percent)).unwrap();
            prop_assert_eq!(&whole, &all);
        }

        #[test]
        fn no_request_panics(
            price in prop::option::of(0_i64..=100_000_000_000),
            down in prop::option::of(0_i64..=100_000_000_000),
            loan in prop::option::of(0_i64..=100_000_000_000),
            ltv in prop::option::of(0.01_f64..=100.0),
        ) {
            if let Ok(scenario) = ask(price, down, loan, ltv) {
                prop_assert!(scenario.ltv_percent > 0.0 && scenario.ltv_percent <= 100.0);
                prop_assert!(scenario.loan_amount.is_none_or(|loan| loan >= 1));
                prop_assert!(scenario.down_payment.is_none_or(|down| down >= 0));
            }
        }
    }
}
