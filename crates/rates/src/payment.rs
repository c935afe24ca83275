//! The standard formula of a level payment.

use brownstone_domain::rates::EstimatedPayment;

/// Principal and interest a month, in US dollars to the cent, of a loan that is paid back in equal parts.
///
/// `rate_percent` is percent a year: 6.95 means 0.0695, a twelfth of which is due each month.
///
/// ```
/// use brownstone_rates::payment::monthly;
/// assert_eq!(monthly(100_000, 6.0, 30), 599.55);
/// assert_eq!(monthly(120_000, 0.0, 10), 1_000.0);
/// ```
pub fn monthly(loan_amount: i64, rate_percent: f64, term_years: u8) -> f64 {
    let months = f64::from(term_years) * 12.0;
    if months == 0.0 {
        return 0.0;
    }
    // Amounts are far below where a double stops telling dollars apart.
    let principal = loan_amount as f64;
    let rate = rate_percent / 1_200.0;
    // ln and exp in the form that stays exact where the rate is next to nothing.
    let discounted = -(-months * rate.ln_1p()).exp_m1();
    let payment = if discounted == 0.0 {
        principal / months
    } else {
        principal * rate / discounted
    };
    (payment * 100.0).round() / 100.0
}

/// A payment as it stands in an answer.
pub fn estimate(loan_amount: i64, rate_percent: f64, term_years: u8) -> EstimatedPayment {
    EstimatedPayment {
        principal_and_interest_monthly: monthly(loan_amount, rate_percent, term_years),
        rate_percent_used: rate_percent,
        loan_amount,
        loan_term_years: term_years,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    // Published payment tables: dollars a month for each 1,000 borrowed, times the loan.
    #[rstest]
    #[case(800_000, 6.95, 30, 5_295.58)]
    #[case(1_000_000, 7.0, 30, 6_653.02)]
    #[case(250_000, 5.5, 15, 2_042.71)]
    #[case(165_000, 4.5, 30, 836.03)]
    #[case(1, 6.95, 30, 0.01)]
    fn known_payments(
        #[case] loan: i64,
        #[case] rate: f64,
        #[case] term: u8,
        #[case] payment: f64,
    ) {
        assert_eq!(monthly(loan, rate, term), payment);
    }

    proptest! {
        #[test]
        fn the_payments_pay_the_loan_back(loan in 10_000_i64..100_000_000, basis_points in 1_u32..2_000, term in prop::sample::select(vec![15_u8, 30])) {
            let rate = f64::from(basis_points) / 100.0;
            let payment = monthly(loan, rate, term);
            let mut owed = loan as f64;
            for _ in 0..u32::from(term) * 12 {
                owed += owed * rate / 1_200.0 - payment;
            }
            // Half a cent a month, with its own interest.
            let growth = (1.0 + rate / 1_200.0).powi(i32::from(term) * 12);
            let slack = 0.005 * (growth - 1.0) / (rate / 1_200.0) + 0.01 + loan as f64 * 1e-9 * growth;
            prop_assert!(owed.abs() <= slack, "{owed} of {loan} is left, {slack} may be");
        }

        #[test]
        fn a_higher_rate_and_a_shorter_term_never_cost_less(loan in 1_i64..100_000_000, rate in 0.0_f64..25.0, more in 0.0_f64..5.0) {
            prop_assert!(monthly(loan, rate + more, 30) >= monthly(loan, rate, 30));
            prop_assert!(monthly(loan, rate, 15) >= monthly(loan, rate, 30));
        }
    }
}
