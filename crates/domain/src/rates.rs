//! Request and answer of `POST /v1/rates`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::{PropertyType, PublishedDate, Zip, listing::named};

named! {
    /// What the loan is for.
    LoanPurpose {
        /// To buy.
        Purchase = "purchase",
        /// To replace a loan.
        Refinance = "refinance",
        /// To replace a loan with a larger one and take the difference out.
        CashOutRefinance = "cash_out_refinance",
    }
}

named! {
    /// The loan's programme.
    LoanType {
        /// Without a government's insurance, within the conforming limit or, above it, jumbo.
        Conventional = "conventional",
        /// Insured by the Federal Housing Administration.
        Fha = "fha",
        /// Guaranteed by the Department of Veterans Affairs.
        Va = "va",
        /// Guaranteed by the Department of Agriculture.
        Usda = "usda",
        /// Above the conforming limit.
        Jumbo = "jumbo",
    }
}

named! {
    /// Whether the rate is fixed or adjustable.
    RateType {
        /// It is fixed.
        Fixed = "fixed",
    }
}

named! {
    /// Who lives in the home.
    Occupancy {
        /// The borrower, most of the year.
        PrimaryResidence = "primary_residence",
        /// The borrower, some of the time.
        SecondHome = "second_home",
        /// A tenant.
        Investment = "investment",
    }
}

named! {
    /// A class of credit scores that published series tell apart.
    CreditBucket {
        /// 740 and up.
        From740 = "740_and_up",
        /// 720 to 739.
        From720 = "720_to_739",
        /// 700 to 719.
        From700 = "700_to_719",
        /// 680 to 699.
        From680 = "680_to_699",
        /// Below 680.
        Below680 = "below_680",
    }
}

impl CreditBucket {
    /// The class of a score.
    ///
    /// ```
    /// use brownstone_domain::rates::CreditBucket;
    /// assert_eq!(CreditBucket::of(740), CreditBucket::From740);
    /// assert_eq!(CreditBucket::of(739), CreditBucket::From720);
    /// assert_eq!(CreditBucket::of(679), CreditBucket::Below680);
    /// ```
    pub const fn of(score: u16) -> Self {
        match score {
            740.. => Self::From740,
            720..=739 => Self::From720,
            700..=719 => Self::From700,
            680..=699 => Self::From680,
            _ => Self::Below680,
        }
    }
}

named! {
    /// A class of loan-to-value ratios that published series tell apart.
    LtvBucket {
        /// 80 percent or less, exactly 80 included.
        UpTo80 = "80_or_less",
        /// Above 80 percent.
        Above80 = "above_80",
    }
}

named! {
    /// How closely a published series answers the scenario.
    RateMatch {
        /// A series of the scenario's own class of credit score and loan-to-value.
        Bucket = "bucket",
        /// A series of the product, whatever score and loan-to-value.
        Product = "product",
        /// A survey's average.
        Benchmark = "benchmark",
    }
}

named! {
    /// How often a series is published.
    Frequency {
        /// On business days.
        Daily = "daily",
        /// Once a week.
        Weekly = "weekly",
    }
}

/// What `POST /v1/rates` accepts, read and checked field by field. Amounts are whole US dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct RatesRequest {
    /// What the loan is for.
    pub loan_purpose: LoanPurpose,
    /// Price, or value, of the home.
    pub home_price: Option<i64>,
    /// What the borrower pays at once; for a refinance, the borrower's share of the value.
    pub down_payment: Option<i64>,
    /// The loan.
    pub loan_amount: Option<i64>,
    /// Loan in percent of the price.
    pub ltv_percent: Option<f64>,
    /// FICO score, 300 to 850; `None` where it was not given, which counts as [`RatesRequest::DEFAULT_SCORE`].
    pub credit_score: Option<u16>,
    /// Programme.
    pub loan_type: LoanType,
    /// 15 or 30.
    pub loan_term_years: u8,
    /// Whether the rate is fixed or adjustable.
    pub rate_type: RateType,
    /// Kind of home.
    pub property_type: Option<PropertyType>,
    /// Who lives there.
    pub occupancy: Option<Occupancy>,
    /// Where it is.
    pub zip_code: Option<Zip>,
}

impl RatesRequest {
    /// The score of a scenario that names none.
    pub const DEFAULT_SCORE: u16 = 740;
    /// The loan-to-value ratio of a scenario that determines none, in percent.
    pub const DEFAULT_LTV_PERCENT: f64 = 80.0;
    /// The terms that there are series for, in years.
    pub const TERMS: [u8; 2] = [30, 15];
}

impl Default for RatesRequest {
    fn default() -> Self {
        Self {
            loan_purpose: LoanPurpose::Purchase,
            home_price: None,
            down_payment: None,
            loan_amount: None,
            ltv_percent: None,
            credit_score: None,
            loan_type: LoanType::Conventional,
            loan_term_years: 30,
            rate_type: RateType::Fixed,
            property_type: None,
            occupancy: None,
            zip_code: None,
        }
    }
}

/// `data` of `POST /v1/rates`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RatesAnswer {
    /// The request with all that follows from it.
    pub scenario: Scenario,
    /// The published rates that answer it, the closest first.
    pub rates: Vec<RateRow>,
    /// The weekly survey's averages, whatever the scenario.
    pub benchmarks: Vec<RateRow>,
    /// The monthly payment at the first rate; null without an amount.
    pub estimated_payment: Option<EstimatedPayment>,
    /// When this was put together.
    #[serde(with = "time::serde::rfc3339")]
    pub as_of_at: OffsetDateTime,
    /// What these numbers are not, for whoever shows them.
    pub disclaimer: Cow<'static, str>,
}

/// A scenario with nothing left open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Scenario {
    /// What the loan is for.
    pub loan_purpose: LoanPurpose,
    /// As asked.
    pub loan_type: LoanType,
    /// Years.
    pub loan_term_years: u8,
    /// Whether the rate is fixed or adjustable.
    pub rate_type: RateType,
    /// Price of the home in US dollars; null where no amount was given.
    pub home_price: Option<i64>,
    /// Price less loan, in US dollars.
    pub down_payment: Option<i64>,
    /// The loan in US dollars.
    pub loan_amount: Option<i64>,
    /// Loan in percent of the price.
    pub ltv_percent: f64,
    /// FICO score.
    pub credit_score: u16,
    /// Kind of home, as asked.
    pub property_type: Option<PropertyType>,
    /// Who lives there, as asked.
    pub occupancy: Option<Occupancy>,
    /// Where it is, as asked.
    pub zip_code: Option<Zip>,
    /// The largest conforming loan on such a home there, in US dollars.
    pub conforming_limit: i64,
    /// The year of the limit.
    pub conforming_limit_year: i32,
    /// Whether the loan is priced as jumbo.
    pub is_jumbo: bool,
    /// Class of the score.
    pub credit_bucket: CreditBucket,
    /// Class of the loan-to-value ratio.
    pub ltv_bucket: LtvBucket,
    /// Fields that were not sent, and what was assumed for them.
    pub assumptions: Vec<String>,
}

/// A published rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RateRow {
    /// Name of the product, such as `conforming_30_year_fixed`.
    pub product: Cow<'static, str>,
    /// Programme of the series.
    pub loan_type: LoanType,
    /// Term of the series, in years.
    pub loan_term_years: u8,
    /// Whether the rate is fixed or adjustable.
    pub rate_type: RateType,
    /// Percent per year: 6.95 means 0.0695.
    pub rate_percent: f64,
    /// Annual percentage rate. No public series has one: null.
    pub apr_percent: Option<f64>,
    /// Fees and points, in percent of the loan, where the publisher gives them.
    pub points: Option<f64>,
    /// The publisher's date of the rate, as published.
    pub observation_date: PublishedDate,
    /// How often the series is published.
    pub frequency: Frequency,
    /// The rate published before this one.
    pub previous_rate_percent: Option<f64>,
    /// This rate less the one before, in percentage points.
    pub change_percentage_points: Option<f64>,
    /// Who publishes it.
    pub source: Cow<'static, str>,
    /// The publisher's name for the series.
    pub series_id: Cow<'static, str>,
    /// When we read it.
    #[serde(with = "time::serde::rfc3339")]
    pub fetched_at: OffsetDateTime,
    /// How closely it answers the scenario.
    #[serde(rename = "match")]
    pub matched: RateMatch,
    /// Which of the scenario's inputs did not affect this number, and why.
    pub match_notes: Vec<String>,
}

/// A month's payment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EstimatedPayment {
    /// US dollars, to the cent, without taxes, insurance or common charges.
    pub principal_and_interest_monthly: f64,
    /// The first of `rates`.
    pub rate_percent_used: f64,
    /// US dollars.
    pub loan_amount: i64,
    /// Years over which it is paid back.
    pub loan_term_years: u8,
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    #[test]
    fn an_answer_has_the_keys_of_the_contract_in_order() {
        let row = RateRow {
            product: "conforming_30_year_fixed".into(),
            loan_type: LoanType::Conventional,
            loan_term_years: 30,
            rate_type: RateType::Fixed,
            rate_percent: 6.95,
            apr_percent: None,
            points: None,
            observation_date: PublishedDate::from("2026-11-25"),
            frequency: Frequency::Daily,
            previous_rate_percent: Some(6.9),
            change_percentage_points: Some(0.05),
            source: "a publisher".into(),
            series_id: "OBMMIC30YFLVLE80FGE740".into(),
            fetched_at: datetime!(2026-11-27 12:00 UTC),
            matched: RateMatch::Bucket,
            match_notes: vec!["loan_purpose: one series for all purposes".into()],
        };
        let answer = RatesAnswer {
            scenario: Scenario {
                loan_purpose: LoanPurpose::Purchase,
                loan_type: LoanType::Conventional,
                loan_term_years: 30,
                rate_type: RateType::Fixed,
                home_price: Some(1_000_000),
                down_payment: Some(200_000),
                loan_amount: Some(800_000),
                ltv_percent: 80.0,
                credit_score: 740,
                property_type: None,
                occupancy: None,
                zip_code: None,
                conforming_limit: 1_249_125,
                conforming_limit_year: 2026,
                is_jumbo: false,
                credit_bucket: CreditBucket::of(740),
                ltv_bucket: LtvBucket::UpTo80,
                assumptions: vec!["credit_score: 740".into()],
            },
            rates: vec![row],
            benchmarks: Vec::new(),
            estimated_payment: Some(EstimatedPayment {
                principal_and_interest_monthly: 5_295.58,
                rate_percent_used: 6.95,
                loan_amount: 800_000,
                loan_term_years: 30,
            }),
            as_of_at: datetime!(2026-11-27 12:00 UTC),
            disclaimer: "not an offer".into(),
        };
        insta::assert_json_snapshot!(answer);
    }
}
