use proptest::prelude::*;
use rstest::rstest;
use time::macros::date;

use super::*;

const UNTIL: Date = date!(2026 - 11 - 27);

fn dated(newest: &Newest) -> (&str, f64) {
    (newest.latest.date.as_str(), newest.latest.rate_percent)
}

fn json(rows: &[(&str, &str)]) -> Vec<u8> {
    let observations: Vec<_> = rows
        .iter()
        .map(|(date, value)| {
            serde_json::json!({"realtime_start": "2026-11-27", "realtime_end": "2026-11-27", "date": date, "value": value})
        })
        .collect();
    serde_json::json!({
        "realtime_start": "2026-11-27", "realtime_end": "2026-11-27",
        "observation_start": "1776-07-04", "observation_end": "9999-12-31",
        "units": "lin", "output_type": 1, "file_type": "json", "order_by": "observation_date", "sort_order": "desc",
        "count": 2_300, "offset": 0, "limit": 10, "observations": observations,
    })
    .to_string()
    .into_bytes()
}

#[test]
fn the_first_number_is_taken_where_the_newest_row_is_a_full_stop() {
    let body = json(&[
        ("2026-11-26", "."),
        ("2026-11-25", "6.951"),
        ("2026-11-24", "."),
        ("2026-11-23", "6.9"),
    ]);
    let newest = fred_json(&body, UNTIL).unwrap();
    assert_eq!(dated(&newest), ("2026-11-25", 6.951));
    assert_eq!(newest.previous.unwrap().rate_percent, 6.9);
}

#[rstest]
#[case(&[])]
#[case(&[("2026-11-26", ".")])]
#[case(&[("2026-11-26", "")])]
#[case(&[("2026-11-26", "NaN")])]
#[case(&[("2026-11-26", "695")])]
#[case(&[("2026-11-26", "-1")])]
#[case(&[("2026-11-26", "0")])]
#[case(&[("26 Nov", "6.9")])]
#[case(&[("2027-01-04", "6.9")])]
fn what_is_no_rate_of_a_day_up_to_today_is_no_value(#[case] rows: &[(&str, &str)]) {
    assert_eq!(fred_json(&json(rows), UNTIL), Err(Unreadable::NoValue));
}

#[rstest]
#[case("")]
#[case("<html><body>Scheduled maintenance</body></html>")]
#[case("<?xml version=\"1.0\"?><error code=\"400\" message=\"Bad Request.\"/>")]
#[case(r#"{"error_code":400,"error_message":"Bad Request."}"#)]
#[case(r#"{"observations": "none"}"#)]
#[case(r#"{"observations": [{"date": "2026-11-25", "value": 6.9}]}"#)]
fn what_is_no_answer_of_fred_is_said_to_be_none(#[case] body: &str) {
    assert!(matches!(
        fred_json(body.as_bytes(), UNTIL),
        Err(Unreadable::Form(_))
    ));
}

#[rstest]
#[case("DATE,MORTGAGE30US\n2026-11-19,6.8\n2026-11-26,6.9\n")]
#[case("observation_date,MORTGAGE30US\r\n2026-11-19,6.8\r\n2026-11-26,6.9\r\n")]
#[case("whatever,MORTGAGE30US\n2026-11-26,6.9\n2026-11-19,6.8\n")]
#[case(
    "observation_date,MORTGAGE30US\n2026-11-19,6.8\n2026-11-20,\n2026-11-26,6.9\n2026-11-27,.\n"
)]
fn the_download_is_read_by_position_and_its_dates(#[case] body: &str) {
    let newest = fred_csv(body.as_bytes(), "MORTGAGE30US", UNTIL).unwrap();
    assert_eq!(dated(&newest), ("2026-11-26", 6.9));
    assert_eq!(newest.previous.unwrap().rate_percent, 6.8);
}

#[rstest]
#[case("observation_date,MORTGAGE15US\n2026-11-26,6.9\n")]
#[case("<html><body>Not found</body></html>")]
#[case("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")]
#[case("")]
fn another_series_and_another_file_are_refused(#[case] body: &str) {
    assert!(matches!(
        fred_csv(body.as_bytes(), "MORTGAGE30US", UNTIL),
        Err(Unreadable::Form(_))
    ));
    assert!(matches!(
        pmms_csv(body.as_bytes(), "pmms30", "pmms30p", UNTIL),
        Err(Unreadable::Form(_))
    ));
}

const SURVEY: &str = "date,pmms30,pmms30p,pmms15,pmms15p,pmms51,pmms51p,pmms51m,pmms51spread\r
4/2/1971,7.33, ,,,,,,\r
11/10/2022,7.08,0.8,6.38,1.1,6.06,0.2,2.78,1.02\r
\"11/17/2022\",\"6.61\",\"\",\"5.98\"\r
\"11/23/2022\",\"6.58\",\" \",\"5.9\"\r
";

#[test]
fn the_survey_s_rows_change_their_form_midway() {
    let read = |rate, points| pmms_csv(SURVEY.as_bytes(), rate, points, UNTIL).unwrap();
    let thirty = read("pmms30", "pmms30p");
    assert_eq!(dated(&thirty), ("11/23/2022", 6.58));
    assert_eq!(thirty.latest.points, None, "they end in November 2022");
    assert_eq!(thirty.previous.unwrap().rate_percent, 6.61);
    let fifteen = read("pmms15", "pmms15p");
    assert_eq!(dated(&fifteen), ("11/23/2022", 5.9));
    let arm = read("pmms51", "pmms51p");
    assert_eq!(dated(&arm), ("11/10/2022", 6.06));
    assert_eq!(arm.latest.points, Some(0.2));
    assert_eq!(arm.previous, None);
}

#[test]
fn the_newest_week_is_found_wherever_it_stands_and_columns_by_their_names() {
    let moved =
        "\u{feff}PMMS15,Date,pmms30\n6.2,11/26/2026,7.1\n6.1,11/19/2026,7.0\n5.0,1/2/2020,4.0\n";
    let newest = pmms_csv(moved.as_bytes(), "pmms30", "pmms30p", UNTIL).unwrap();
    assert_eq!(dated(&newest), ("11/26/2026", 7.1));
    assert_eq!(newest.previous.unwrap().date.as_str(), "11/19/2026");
    let fifteen = pmms_csv(moved.as_bytes(), "pmms15", "pmms15p", UNTIL).unwrap();
    assert_eq!(fifteen.latest.rate_percent, 6.2);
}

#[test]
fn of_a_day_that_stands_twice_the_later_line_counts() {
    let body = "DATE,X\n2026-11-25,6.9\n2026-11-25,6.8\n2026-11-24,7\n";
    let newest = fred_csv(body.as_bytes(), "X", UNTIL).unwrap();
    assert_eq!(dated(&newest), ("2026-11-25", 6.8));
    assert_eq!(newest.previous.unwrap().rate_percent, 7.0);
}

/// A file of the real rates; `None` where they are not at hand.
fn real(name: &str) -> Option<Vec<u8>> {
    let path = crate::at_hand::real_data(&format!("rates/{name}"))?;
    Some(std::fs::read(path).expect("the file can be read"))
}

#[test]
fn the_real_survey_is_read_to_its_last_week_and_on_any_day_of_its_history() {
    let Some(body) = real("freddie_mac_pmms_history.csv") else {
        return;
    };
    let read = |column, points, until| pmms_csv(&body, column, points, until).unwrap();
    let thirty = read("pmms30", "pmms30p", UNTIL);
    assert_eq!(dated(&thirty), ("5/16/2024", 7.02));
    assert_eq!(thirty.latest.points, None);
    assert_eq!(thirty.previous.unwrap().rate_percent, 7.09);
    assert_eq!(
        dated(&read("pmms15", "pmms15p", date!(2024 - 05 - 15))),
        ("5/9/2024", 6.38)
    );
    // The last week with all nine columns, and the first with four.
    let nine = read("pmms30", "pmms30p", date!(2022 - 03 - 10));
    assert_eq!(dated(&nine), ("3/10/2022", 3.85));
    assert_eq!(nine.latest.points, Some(0.8));
    let four = read("pmms30", "pmms30p", date!(2022 - 11 - 18));
    assert_eq!(dated(&four), ("11/17/2022", 6.61));
    assert_eq!(four.latest.points, None);
    // The 5/1 rate ended with the nine columns.
    let arm = read("pmms51", "pmms51p", UNTIL);
    assert_eq!(arm.latest.date.parse(), Some(date!(2022 - 11 - 10)));
    // Blanks as a single space, and no 15-year rate yet.
    let first = read("pmms30", "pmms30p", date!(1971 - 04 - 02));
    assert_eq!(
        (dated(&first), first.latest.points),
        (("4/2/1971", 7.33), None)
    );
    assert_eq!(
        pmms_csv(&body, "pmms15", "pmms15p", date!(1990 - 01 - 01)),
        Err(Unreadable::NoValue)
    );
}

#[test]
fn every_real_week_of_the_survey_is_a_rate() {
    let Some(body) = real("freddie_mac_pmms_history.csv") else {
        return;
    };
    let text = std::str::from_utf8(&body).expect("the file is text");
    let weeks: Vec<Date> = text
        .lines()
        .skip(1)
        .filter_map(|line| PublishedDate::from(line.split(',').next()?.trim_matches('"')).parse())
        .collect();
    assert!(weeks.len() > 2_700, "{} weeks", weeks.len());
    for week in weeks.iter().step_by(97) {
        let newest = pmms_csv(&body, "pmms30", "pmms30p", *week).unwrap();
        assert_eq!(newest.latest.day(), Some(*week));
    }
}

#[test]
fn the_real_download_of_fred_agrees_with_the_real_survey() {
    let (Some(fred), Some(survey)) = (
        real("fred_MORTGAGE30US.csv"),
        real("freddie_mac_pmms_history.csv"),
    ) else {
        return;
    };
    let until = date!(2022 - 07 - 14);
    let fred = fred_csv(&fred, "MORTGAGE30US", until).unwrap();
    assert_eq!(dated(&fred), ("2022-07-14", 5.51));
    let survey = pmms_csv(&survey, "pmms30", "pmms30p", until).unwrap();
    assert_eq!(fred.latest.day(), survey.latest.day());
    assert_eq!(fred.latest.rate_percent, survey.latest.rate_percent);
    assert_eq!(
        fred.previous.unwrap().rate_percent,
        survey.previous.unwrap().rate_percent
    );
}

#[test]
fn a_real_answer_of_fred_has_the_form_and_its_values_are_no_rates() {
    let Some(body) = real("fred_api_series_observations_GDPC1_first5.json") else {
        return;
    };
    // Billions of dollars: no mortgage rate is taken from the wrong series.
    assert_eq!(fred_json(&body, UNTIL), Err(Unreadable::NoValue));
    let text = String::from_utf8(body).expect("JSON is text");
    let scaled = text
        .replace("\"2182.681\"", "\"2.182\"")
        .replace("\"2239.682\"", "\"2.239\"");
    let newest = fred_json(scaled.as_bytes(), UNTIL).unwrap();
    assert_eq!(dated(&newest), ("1948-01-01", 2.239));
}

proptest! {
    #[test]
    fn no_answer_panics(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = fred_json(&body, UNTIL);
        let _ = fred_csv(&body, "X", UNTIL);
        let _ = pmms_csv(&body, "pmms30", "pmms30p", UNTIL);
    }

    #[test]
    fn the_order_of_the_lines_does_not_matter(
        days in prop::collection::btree_map(0_i64..2_000, 1_u32..2_000, 1..20),
        shift in any::<prop::sample::Index>(),
    ) {
        let mut lines: Vec<String> = days
            .iter()
            .map(|(day, rate)| {
                let day = date!(2020 - 01 - 01) + time::Duration::days(*day);
                format!("{}/{}/{},{}", u8::from(day.month()), day.day(), day.year(), f64::from(*rate) / 100.0)
            })
            .collect();
        let straight = format!("date,pmms30\n{}\n", lines.join("\n"));
        let by = shift.index(lines.len());
        lines.rotate_left(by);
        let turned = format!("date,pmms30\n{}\n", lines.join("\n"));
        let read = |text: &str| pmms_csv(text.as_bytes(), "pmms30", "pmms30p", UNTIL).unwrap();
        prop_assert_eq!(read(&straight), read(&turned));
    }
}
