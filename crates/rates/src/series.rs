//! The table of published series, and which of them answers which loan.

use brownstone_domain::rates::{CreditBucket, Frequency, LoanType, LtvBucket};

/// What Optimal Blue's indices are called in an answer.
pub const OBMMI: &str = "Optimal Blue Mortgage Market Indices, via FRED";
/// What the survey is called where FRED gave it.
pub const PMMS_FRED: &str = "Freddie Mac Primary Mortgage Market Survey, via FRED";
/// What the survey is called where its publisher's own file gave it.
pub const PMMS: &str = "Freddie Mac Primary Mortgage Market Survey";

/// Where a series is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feed {
    /// FRED, under the series' own id.
    Fred,
    /// A column of the survey's file.
    PmmsFile {
        /// The column of the rate, in percent.
        rate: &'static str,
        /// The column of fees and points; it ends in November 2022.
        points: &'static str,
    },
}

/// One published series.
#[derive(Debug, PartialEq, Eq)]
pub struct Series {
    /// The publisher's name of it.
    pub id: &'static str,
    /// Our name of what it prices.
    pub product: &'static str,
    /// Programme.
    pub loan_type: LoanType,
    /// Term in years.
    pub term: u8,
    /// The class of borrowers it is of; `None`: all.
    pub bucket: Option<(LtvBucket, CreditBucket)>,
    /// How often it is published.
    pub frequency: Frequency,
    /// Who publishes it.
    pub source: &'static str,
    /// Where it is read.
    pub feed: Feed,
}

const fn obmmi(
    id: &'static str,
    product: &'static str,
    loan_type: LoanType,
    term: u8,
    bucket: Option<(LtvBucket, CreditBucket)>,
) -> Series {
    Series {
        id,
        product,
        loan_type,
        term,
        bucket,
        frequency: Frequency::Daily,
        source: OBMMI,
        feed: Feed::Fred,
    }
}

const fn bucket(id: &'static str, ltv: LtvBucket, credit: CreditBucket) -> Series {
    obmmi(
        id,
        "conforming_30_year_fixed",
        LoanType::Conventional,
        30,
        Some((ltv, credit)),
    )
}

const fn survey(
    id: &'static str,
    product: &'static str,
    term: u8,
    source: &'static str,
    feed: Feed,
) -> Series {
    Series {
        id,
        product,
        loan_type: LoanType::Conventional,
        term,
        bucket: None,
        frequency: Frequency::Weekly,
        source,
        feed,
    }
}

/// The 5/1 survey series ended in November 2022 and no index of adjustable rates is left: none is here.
pub static SERIES: [Series; 20] = {
    use CreditBucket::{Below680, From680, From700, From720, From740};
    use LoanType::{Conventional, Fha, Jumbo, Usda, Va};
    use LtvBucket::{Above80, UpTo80};
    [
        obmmi(
            "OBMMIC30YF",
            "conforming_30_year_fixed",
            Conventional,
            30,
            None,
        ),
        obmmi(
            "OBMMIC15YF",
            "conforming_15_year_fixed",
            Conventional,
            15,
            None,
        ),
        obmmi("OBMMIJUMBO30YF", "jumbo_30_year_fixed", Jumbo, 30, None),
        obmmi("OBMMIFHA30YF", "fha_30_year_fixed", Fha, 30, None),
        obmmi("OBMMIVA30YF", "va_30_year_fixed", Va, 30, None),
        obmmi("OBMMIUSDA30YF", "usda_30_year_fixed", Usda, 30, None),
        bucket("OBMMIC30YFLVLE80FGE740", UpTo80, From740),
        bucket("OBMMIC30YFLVLE80FB720A739", UpTo80, From720),
        bucket("OBMMIC30YFLVLE80FB700A719", UpTo80, From700),
        bucket("OBMMIC30YFLVLE80FB680A699", UpTo80, From680),
        bucket("OBMMIC30YFLVLE80FLT680", UpTo80, Below680),
        bucket("OBMMIC30YFLVGT80FGE740", Above80, From740),
        bucket("OBMMIC30YFLVGT80FB720A739", Above80, From720),
        bucket("OBMMIC30YFLVGT80FB700A719", Above80, From700),
        bucket("OBMMIC30YFLVGT80FB680A699", Above80, From680),
        bucket("OBMMIC30YFLVGT80FLT680", Above80, Below680),
        survey(
            "MORTGAGE30US",
            "survey_30_year_fixed",
            30,
            PMMS_FRED,
            Feed::Fred,
        ),
        survey(
            "MORTGAGE15US",
            "survey_15_year_fixed",
            15,
            PMMS_FRED,
            Feed::Fred,
        ),
        survey(
            "pmms30",
            "survey_30_year_fixed",
            30,
            PMMS,
            Feed::PmmsFile {
                rate: "pmms30",
                points: "pmms30p",
            },
        ),
        survey(
            "pmms15",
            "survey_15_year_fixed",
            15,
            PMMS,
            Feed::PmmsFile {
                rate: "pmms15",
                points: "pmms15p",
            },
        ),
    ]
};

/// The series with this id.
pub fn by_id(id: &str) -> Option<&'static Series> {
    SERIES.iter().find(|series| series.id == id)
}

/// The series of a scenario's own class; `None` where the product has none: only conforming 30-year loans are told apart.
///
/// `loan_type` is what the loan is priced as: jumbo above the limit.
pub fn of_bucket(
    loan_type: LoanType,
    term: u8,
    ltv: LtvBucket,
    credit: CreditBucket,
) -> Option<&'static Series> {
    SERIES.iter().find(|series| {
        (series.loan_type, series.term) == (loan_type, term) && series.bucket == Some((ltv, credit))
    })
}

/// The series of the product. The programme comes before the term: of a programme that has one term only, that one.
pub fn of_product(loan_type: LoanType, term: u8) -> Option<&'static Series> {
    let mut whole = SERIES.iter().filter(|series| {
        series.bucket.is_none()
            && series.loan_type == loan_type
            && series.frequency == Frequency::Daily
    });
    let first = whole.clone().next();
    whole.find(|series| series.term == term).or(first)
}

/// The survey's series of a term: FRED's copy and the publisher's own file.
pub fn benchmarks(term: u8) -> impl Iterator<Item = &'static Series> {
    SERIES
        .iter()
        .filter(move |series| series.frequency == Frequency::Weekly && series.term == term)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rstest::rstest;

    use super::*;

    #[test]
    fn no_id_stands_twice() {
        let ids: HashSet<_> = SERIES.iter().map(|series| series.id).collect();
        assert_eq!(ids.len(), SERIES.len());
    }

    #[test]
    fn a_bucket_s_name_says_what_it_is_of() {
        for series in &SERIES {
            let Some((ltv, credit)) = series.bucket else {
                assert!(
                    !series.id.contains("80F"),
                    "{} is of a class of borrowers",
                    series.id
                );
                continue;
            };
            let ltv = match ltv {
                LtvBucket::UpTo80 => "LVLE80",
                LtvBucket::Above80 => "LVGT80",
            };
            let credit = match credit {
                CreditBucket::From740 => "FGE740",
                CreditBucket::From720 => "FB720A739",
                CreditBucket::From700 => "FB700A719",
                CreditBucket::From680 => "FB680A699",
                CreditBucket::Below680 => "FLT680",
            };
            assert_eq!(series.id, format!("OBMMIC30YF{ltv}{credit}"));
        }
    }

    #[test]
    fn every_class_of_a_conforming_30_year_loan_has_its_series() {
        let mut found = HashSet::new();
        for ltv in LtvBucket::ALL {
            for credit in CreditBucket::ALL {
                let series = of_bucket(LoanType::Conventional, 30, *ltv, *credit);
                found.insert(series.expect("every class has one").id);
            }
        }
        assert_eq!(found.len(), 10);
    }

    #[rstest]
    #[case(LoanType::Conventional, 30, "OBMMIC30YF")]
    #[case(LoanType::Conventional, 15, "OBMMIC15YF")]
    #[case(LoanType::Jumbo, 30, "OBMMIJUMBO30YF")]
    #[case(LoanType::Fha, 30, "OBMMIFHA30YF")]
    #[case(LoanType::Va, 30, "OBMMIVA30YF")]
    #[case(LoanType::Usda, 30, "OBMMIUSDA30YF")]
    // The programme comes first: there is no 15-year series of these.
    #[case(LoanType::Fha, 15, "OBMMIFHA30YF")]
    #[case(LoanType::Jumbo, 15, "OBMMIJUMBO30YF")]
    fn a_product_has_one_series(#[case] loan: LoanType, #[case] term: u8, #[case] id: &str) {
        assert_eq!(of_product(loan, term).map(|series| series.id), Some(id));
    }

    #[test]
    fn only_conforming_30_year_loans_are_told_apart() {
        for loan in LoanType::ALL {
            for term in [15, 30] {
                let series = of_bucket(*loan, term, LtvBucket::UpTo80, CreditBucket::From740);
                let wanted = (*loan, term) == (LoanType::Conventional, 30);
                assert_eq!(series.is_some(), wanted, "{loan} {term}");
            }
        }
    }

    #[test]
    fn the_survey_has_two_ways_to_each_term() {
        for (term, ids) in [
            (30, ["MORTGAGE30US", "pmms30"]),
            (15, ["MORTGAGE15US", "pmms15"]),
        ] {
            let found: Vec<_> = benchmarks(term).map(|series| series.id).collect();
            assert_eq!(found, ids);
        }
        assert_eq!(benchmarks(20).count(), 0);
    }

    #[test]
    fn there_is_no_adjustable_series() {
        assert!(by_id("MORTGAGE5US").is_none());
        assert_eq!(by_id("OBMMIC30YF").unwrap().term, 30);
    }
}
