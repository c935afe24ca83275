//! The traps of the tax, sales, land, landmark and state sets, each by name.

use brownstone_domain::{Borough, SourceStatus};
use brownstone_soda::Condition;
use serde_json::{Value, json};

use super::{
    FakeSoda, ask, ask_ok, bbl, column,
    fake::{Table, Type},
    fixtures::fixture,
};
use crate::Subject;

async fn of(key: &str) -> Value {
    let (soda, subject) = fixture(key);
    ask_ok(key, &soda, &subject).await
}

/// The bridge of a condominium: billing lot 7501, built on lot 41.
pub(super) fn bridge(soda: &FakeSoda) -> Subject {
    soda.put(
        "p8u6-a6it",
        Table::new(
            vec![
                json!({"condo_base_bbl": "1008350041", "condo_key": "10871", "condo_billing_bbl": "1008357501"}),
            ],
            &[],
        ),
    );
    Subject::of(Some(bbl("1008357501")), None, Borough::Manhattan)
}

#[tokio::test]
async fn a_condominiums_zoning_stands_on_its_base_lots() {
    let (soda, _) = fixture("nyc_zoning_tax_lots");
    let condominium = bridge(&soda);
    let data = ask_ok("nyc_zoning_tax_lots", &soda, &condominium).await;
    assert_eq!(data["zoning_district"], "C5-3");
    assert_eq!(column(&data, "bbl"), ["1008350041"]);
}

#[tokio::test]
async fn a_condominiums_units_are_found_by_its_base_lots() {
    let (soda, _) = fixture("nyc_condominium_units");
    let condominium = bridge(&soda);
    let data = ask_ok("nyc_condominium_units", &soda, &condominium).await;
    assert_eq!(data["unit_count"], 2);
    assert_eq!(column(&data, "unit_bbl"), ["1008351001", "1008351002"]);
}

/// Two condominiums may stand on one lot. Where nothing tells their units apart there is no count.
#[tokio::test]
async fn a_neighbour_condominiums_units_do_not_count() {
    let (soda, _) = fixture("nyc_condominium_units");
    let condominium = bridge(&soda);
    soda.edit("eguu-7ie3", |table| {
        let mut row = table.rows[0].clone();
        row.insert("condo_key".into(), json!("10999"));
        row.insert("unit_bbl".into(), json!("1008351101"));
        table.rows.push(row);
    });
    let data = ask_ok("nyc_condominium_units", &soda, &condominium).await;
    assert_eq!(data["unit_count"], 2);
    assert_eq!(column(&data, "condo_key"), ["10871", "10871"]);
    for dataset in ["eguu-7ie3", "p8u6-a6it"] {
        let (soda, _) = fixture("nyc_condominium_units");
        bridge(&soda);
        soda.edit(dataset, |table| {
            table.columns.remove("condo_key");
            for row in &mut table.rows {
                row.remove("condo_key");
            }
        });
        let entry = ask("nyc_condominium_units", &soda, &condominium).await;
        assert_eq!(entry.status(), SourceStatus::Error, "{dataset}");
    }
}

#[tokio::test]
async fn a_billing_lots_zeros_are_no_values() {
    let (soda, subject) = fixture("nyc_dof_assessments");
    soda.edit("8y4t-faws", |table| {
        for row in &mut table.rows {
            row.insert("bldg_class".into(), json!("R0"));
            row.insert("curmkttot".into(), json!("0"));
        }
    });
    let data = ask_ok("nyc_dof_assessments", &soda, &subject).await;
    assert_eq!(data["market_value_total"], Value::Null);
    assert_eq!(
        data["records"][0]["curmkttot"], 0,
        "the row itself is as published"
    );
}

#[tokio::test]
async fn charges_are_never_added_up_raw() {
    let data = of("nyc_dof_charges").await;
    // The extract of August, and the lesser of two rows of one period, are gone.
    assert_eq!(data["record_count"], 5);
    assert_eq!(data["balance_total"], json!(100_086.00));
}

#[tokio::test]
async fn tax_amount_has_its_cents_and_is_the_newest_fiscal_years() {
    let (soda, subject) = fixture("nyc_dof_charges");
    let entry = ask("nyc_dof_charges", &soda, &subject).await;
    let sent = entry.data().unwrap().get();
    // Three quarters at 50,000.25; neither the spring before nor other charges.
    assert!(sent.contains(r#""tax_amount":150000.75"#), "{sent}");
}

/// Other charges run ahead of the tax: its own newest year is meant. Of a lot without any tax there is none to tell.
#[tokio::test]
async fn another_charges_year_is_not_the_taxs() {
    let (soda, subject) = fixture("nyc_dof_charges");
    soda.edit("scjx-j6np", |table| {
        for row in &mut table.rows {
            if row["code"] == "SAC" {
                row.insert("dt_pd_begin".into(), json!("2027-07-01T00:00:00.000"));
            }
        }
    });
    let data = ask_ok("nyc_dof_charges", &soda, &subject).await;
    assert_eq!(data["tax_amount"], json!(150_000.75));
    soda.edit("scjx-j6np", |table| {
        table.rows.retain(|row| row["code"] == "SAC");
    });
    let data = ask_ok("nyc_dof_charges", &soda, &subject).await;
    assert_eq!(data["tax_amount"], Value::Null);
    assert_eq!(data["balance_total"], json!(85.50));
}

/// In whatever order the publisher sends them.
#[tokio::test]
async fn of_one_periods_equal_rows_the_one_changed_last_counts() {
    for at in [0, 8] {
        let (soda, subject) = fixture("nyc_dof_charges");
        soda.edit("scjx-j6np", |table| {
            let before = &mut table.rows[1];
            before.insert("up_date".into(), json!("2026-10-02T00:00:00.000"));
            let mut after = before.clone();
            after.insert("up_date".into(), json!("2026-11-02T00:00:00.000"));
            after.insert("sum_bal".into(), json!("1.00"));
            table.rows.insert(at, after);
        });
        let data = ask_ok("nyc_dof_charges", &soda, &subject).await;
        assert_eq!(data["record_count"], 5, "at {at}");
        assert_eq!(data["balance_total"], json!(100_087.00), "at {at}");
    }
}

#[tokio::test]
async fn a_billing_period_may_lie_ahead() {
    let data = of("nyc_dof_charges").await;
    assert_eq!(data["newest_period"], "2027-01-01T00:00:00.000");
}

#[tokio::test]
async fn tentative_and_final_rolls_repeat_an_exemption() {
    let data = of("nyc_dof_exemptions").await;
    assert_eq!(data["record_count"], 3);
    assert_eq!(data["newest_exempt_value"], 1_100_000);
    assert_eq!(data["records"][0]["exemption_text"], "U.S. GOVERNMENT");
}

#[tokio::test]
async fn exemptions_have_no_bbl_column() {
    let (soda, subject) = fixture("nyc_dof_exemptions");
    ask("nyc_dof_exemptions", &soda, &subject).await;
    let filter = soda.asked()[0].filter.clone();
    assert!(matches!(filter, Some(Condition::Eq(column, _)) if column.as_str() == "parid"));
}

#[tokio::test]
async fn an_abatements_key_is_padded_and_only_the_newest_extract_stands() {
    let data = of("nyc_dof_abatements").await;
    assert_eq!(data["record_count"], 2);
    assert_eq!(data["applied_abatement_total"], json!(1650.75));
    assert_eq!(data["abatements_by_code"], json!({"J51": 1, "SOLAR": 1}));
    assert_eq!(data["records"][0]["parid"].as_str().unwrap().len(), 30);
}

#[tokio::test]
async fn a_lien_notices_month_may_be_text() {
    let data = of("nyc_tax_lien_notices").await;
    assert_eq!(
        column(&data, "month"),
        ["05/2025", "02/2025", "2019-04-01T00:00:00.000"]
    );
    assert_eq!(data["newest_cycle"], "10 Days Notice");
    assert_eq!(data["water_debt_only_notices"], 1);
}

#[tokio::test]
async fn a_price_of_zero_is_no_price_and_a_row_that_repeats_no_sale() {
    let data = of("nyc_dof_rolling_sales").await;
    assert_eq!(data["record_count"], 2);
    assert_eq!(data["market_sale_count"], 1);
    assert_eq!(
        data["last_market_sale_price"], 2_385_000,
        "with commas as published"
    );
    assert_eq!(data["last_market_sale_date"], "2026-02-09T00:00:00.000");
}

#[tokio::test]
async fn a_sales_borough_is_a_digit_or_a_name() {
    let (soda, subject) = fixture("nyc_dof_rolling_sales");
    soda.edit("usep-8jbt", |table| {
        table.columns.insert("borough".into(), Type::Text);
        for row in &mut table.rows {
            row.insert("borough".into(), json!("MANHATTAN"));
        }
    });
    let data = ask_ok("nyc_dof_rolling_sales", &soda, &subject).await;
    assert_eq!(
        data["record_count"], 2,
        "one column of three has another type"
    );
}

#[tokio::test]
async fn a_co_operatives_sales_carry_the_unit_in_the_address() {
    let data = of("nyc_dof_sales").await;
    assert_eq!(
        column(&data, "address"),
        ["350 5TH AVENUE, 5D", "350 5TH AVENUE, 4C"]
    );
    assert_eq!(data["records"][1]["land_square_feet"], 91_351);
}

#[tokio::test]
async fn requests_are_always_bounded_by_their_date() {
    let (soda, subject) = fixture("nyc_311_requests");
    let data = ask_ok("nyc_311_requests", &soda, &subject).await;
    assert_eq!(data["open_requests"], 1);
    for query in soda.asked() {
        let asked = query.filter.unwrap().to_string();
        assert!(
            asked.contains("created_date between '2020-01-01T00:00:00.000'"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn designation_dates_come_in_two_writings() {
    let data = of("nyc_landmark_sites").await;
    assert_eq!(
        column(&data, "desdate"),
        ["1982-05-19T00:00:00.000", "5/19/1981"]
    );
}

#[tokio::test]
async fn landmark_permits_show_no_ones_home() {
    let data = of("nyc_landmark_permits").await;
    assert!(!data.to_string().contains("SECRET STREET"));
    assert_eq!(data["record_count"], 2);
}

#[tokio::test]
async fn landmark_sets_spell_the_borough_each_in_its_way() {
    for (key, written) in [
        ("nyc_landmark_permits", "'Manhattan'"),
        ("nyc_landmark_violations", "'MANHATTAN'"),
    ] {
        let (soda, subject) = fixture(key);
        let lot = Subject {
            bin: None,
            ..subject
        };
        ask_ok(key, &soda, &lot).await;
        let asked = soda.asked()[0].filter.clone().unwrap().to_string();
        assert!(asked.contains(written), "{key}: {asked}");
    }
}

#[tokio::test]
async fn an_e_designations_date_has_two_names_and_neither_is_asked() {
    let data = of("nyc_e_designations").await;
    assert_eq!(
        data["records"][0]["effective_date"],
        "2005-01-19T00:00:00.000"
    );
}

#[tokio::test]
async fn a_lots_zoning_applications_bring_their_projects() {
    let data = of("nyc_zoning_applications").await;
    assert_eq!(data["project_count"], 2);
    assert_eq!(
        data["records"][0]["project"][0]["project_name"],
        "350 Fifth Avenue Signage"
    );
    assert_eq!(data["records"][1]["project"], json!([]));
}

#[tokio::test]
async fn net_units_may_be_negative() {
    let data = of("nyc_housing_database").await;
    assert_eq!(data["net_units_total"], 8);
}

#[tokio::test]
async fn companies_of_the_owners_name_are_candidates() {
    let data = of("nys_corporations").await;
    assert_eq!(data["record_count"], 2, "a longer name is another company");
    assert_eq!(data["owner_name"], "EXAMPLE TOWER LLC");
    assert!(!data.to_string().contains("NOT SHOWN"));
}

#[tokio::test]
async fn a_person_who_owns_is_not_looked_for() {
    let (soda, subject) = fixture("nys_corporations");
    soda.edit("64uk-42ks", |table| {
        table.rows[0].insert("ownername".into(), json!("A PRIVATE PERSON"));
    });
    let entry = ask("nys_corporations", &soda, &subject).await;
    assert_eq!(entry.status(), SourceStatus::NotFound);
    assert!(soda.asked_of("n9v6-gdp6").is_empty());
}

#[tokio::test]
async fn a_station_has_many_entrances() {
    let (soda, subject) = fixture("nys_subway_entrances");
    let source = super::source("nys_subway_entrances", &soda);
    for _ in 0..2 {
        let data = super::data(&source.fetch(&subject, super::soon()).await);
        assert_eq!(data["record_count"], 3);
        assert_eq!(data["stations_within_a_mile"], 2);
        assert_eq!(column(&data, "distance_meters"), ["205", "215", "403"]);
    }
    assert_eq!(
        soda.asked_of("i9wp-a4ja").len(),
        1,
        "the table is kept for a day"
    );
}

#[tokio::test]
async fn a_building_without_coordinates_has_its_lots() {
    let (soda, subject) = fixture("nys_subway_entrances");
    super::fixtures::load("nyc_pluto", &soda);
    let unplaced = Subject {
        latitude: None,
        longitude: None,
        ..subject
    };
    let data = ask_ok("nys_subway_entrances", &soda, &unplaced).await;
    assert_eq!(data["nearest_station"], "34 St-Herald Sq");
}
