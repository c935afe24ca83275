//! The mortgage rates: the body's fields, and the answer's bytes.

use brownstone_domain::{
    ErrorCode, PropertyType, RatesRequest, Zip,
    rates::{LoanPurpose, LoanType, Occupancy, RateType},
};
use brownstone_rates::{Rates, RatesError, scenario::ScenarioError};
use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{
    Failure,
    body::{BodyFault, kind},
    fields::Fields,
};

/// The names of an enumeration's values, for [`Fields::one_of`].
macro_rules! names {
    ($kind:ty) => {
        <$kind>::ALL
            .iter()
            .map(|value| (value.as_str(), *value))
            .collect::<Vec<_>>()
    };
}

/// Reads the request.
///
/// # Errors
/// Names the first field that is wrong.
pub fn fields(object: &Map<String, Value>) -> Result<RatesRequest, BodyFault> {
    let fields = Fields(object);
    let defaults = RatesRequest::default();
    Ok(RatesRequest {
        loan_purpose: fields
            .one_of("loan_purpose", &names!(LoanPurpose))?
            .unwrap_or(defaults.loan_purpose),
        home_price: fields.dollars("home_price")?,
        down_payment: fields.dollars("down_payment")?,
        loan_amount: fields.dollars("loan_amount")?,
        ltv_percent: fields.number("ltv_percent", 0.01..=100.0)?,
        credit_score: fields
            .integer("credit_score", 300..=850)?
            .and_then(|score| u16::try_from(score).ok()),
        loan_type: fields
            .one_of("loan_type", &names!(LoanType))?
            .unwrap_or(defaults.loan_type),
        loan_term_years: term(&fields)?.unwrap_or(defaults.loan_term_years),
        rate_type: fields
            .one_of("rate_type", &names!(RateType))?
            .unwrap_or(defaults.rate_type),
        property_type: fields.one_of("property_type", &names!(PropertyType))?,
        occupancy: fields.one_of("occupancy", &names!(Occupancy))?,
        zip_code: zip(&fields)?,
    })
}

fn term(fields: &Fields<'_>) -> Result<Option<u8>, BodyFault> {
    let Some(value) = fields.get("loan_term_years") else {
        return Ok(None);
    };
    let found = RatesRequest::TERMS
        .into_iter()
        .find(|term| value.as_f64() == Some(f64::from(*term)));
    found.map(Some).ok_or_else(|| {
        BodyFault(format!(
            "loan_term_years must be 30 or 15; got {}.",
            kind(value)
        ))
    })
}

fn zip(fields: &Fields<'_>) -> Result<Option<Zip>, BodyFault> {
    let Some(value) = fields.get("zip_code") else {
        return Ok(None);
    };
    let found = value.as_str().and_then(|text| text.parse().ok());
    found.map(Some).ok_or_else(|| {
        BodyFault(format!(
            "zip_code must be a string of five digits, such as \"10118\"; got {}.",
            kind(value)
        ))
    })
}

/// Answers the operation.
///
/// # Errors
/// 400 for a request that contradicts itself or is of a place outside the city, 502 where no rate was ever read.
pub async fn answer(rates: &Rates, request: &RatesRequest) -> Result<Vec<Bytes>, Failure> {
    let answer = rates.answer(request).await?;
    let data = serde_json::to_vec(&answer).map_err(Failure::internal)?;
    Ok(vec![data.into()])
}

impl From<RatesError> for Failure {
    fn from(error: RatesError) -> Self {
        match error {
            RatesError::Scenario(ScenarioError::Contradiction(message)) => {
                Self::new(ErrorCode::InvalidRequest, message)
            }
            RatesError::Scenario(ScenarioError::OutsideCity(_)) => {
                Self::new(ErrorCode::OutsideCoverage, error.to_string())
            }
            RatesError::NeverRead => Self::new(
                ErrorCode::UpstreamError,
                "No mortgage rate could be read from its publishers yet. Nothing was charged; it is safe to retry later.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<RatesRequest, String> {
        let Value::Object(object) = value else {
            panic!("an object is wanted")
        };
        fields(&object).map_err(|fault| fault.0)
    }

    #[test]
    fn everything_is_optional() {
        assert_eq!(read(json!({})), Ok(RatesRequest::default()));
    }

    #[test]
    fn every_field_is_read() {
        let request = read(json!({
            "loan_purpose": "cash_out_refinance", "home_price": 1_000_000, "down_payment": 0, "loan_amount": 1_000_000.0,
            "ltv_percent": 100, "credit_score": 300, "loan_type": "va", "loan_term_years": 15.0, "rate_type": "fixed",
            "property_type": "two_family", "occupancy": "investment", "zip_code": "11201",
        }))
        .unwrap();
        assert_eq!(
            request,
            RatesRequest {
                loan_purpose: LoanPurpose::CashOutRefinance,
                home_price: Some(1_000_000),
                down_payment: Some(0),
                loan_amount: Some(1_000_000),
                ltv_percent: Some(100.0),
                credit_score: Some(300),
                loan_type: LoanType::Va,
                loan_term_years: 15,
                rate_type: RateType::Fixed,
                property_type: Some(PropertyType::TwoFamily),
                occupancy: Some(Occupancy::Investment),
                zip_code: Some("11201".parse().unwrap()),
            }
        );
    }

    #[test]
    fn each_fault_names_its_field_what_came_and_what_is_allowed() {
        for (body, message) in [
            (
                json!({"loan_type": "arm"}),
                "loan_type must be one of conventional, fha, va, usda, jumbo; got the string \"arm\".",
            ),
            (
                json!({"rate_type": "adjustable"}),
                "rate_type must be \"fixed\"; got the string \"adjustable\".",
            ),
            (
                json!({"loan_term_years": 20}),
                "loan_term_years must be 30 or 15; got the number 20.",
            ),
            (
                json!({"credit_score": 299}),
                "credit_score must be a whole number from 300 to 850; got the number 299.",
            ),
            (
                json!({"ltv_percent": 101}),
                "ltv_percent must be a number from 0.01 to 100; got the number 101.",
            ),
            (
                json!({"home_price": "1,000,000"}),
                "home_price must be whole US dollars from 0 to 100000000000; got the string \"1,000,000\".",
            ),
            (
                json!({"zip_code": 10118}),
                "zip_code must be a string of five digits, such as \"10118\"; got the number 10118.",
            ),
            (
                json!({"occupancy": null}),
                "occupancy must be one of primary_residence, second_home, investment; got null.",
            ),
        ] {
            assert_eq!(read(body).unwrap_err(), message);
        }
    }

    #[test]
    fn a_contradiction_is_the_callers_a_place_outside_is_outside_and_silence_is_the_publishers() {
        let cases = [
            (
                RatesError::Scenario(ScenarioError::Contradiction("x".into())),
                ErrorCode::InvalidRequest,
            ),
            (
                RatesError::Scenario(ScenarioError::OutsideCity("07030".into())),
                ErrorCode::OutsideCoverage,
            ),
            (RatesError::NeverRead, ErrorCode::UpstreamError),
        ];
        for (error, code) in cases {
            assert_eq!(Failure::from(error).code, code);
        }
    }
}
