//! The traps of the building, housing, court, health and energy sets, each by name.

use brownstone_domain::{Borough, SourceStatus};
use brownstone_soda::{Condition, SodaError};
use serde_json::{Value, json};

use super::{
    ask, ask_ok, bbl, bin, column,
    fake::{Fault, Table, Type, fake},
    fixtures::fixture,
};
use crate::Subject;

async fn of(key: &str) -> Value {
    let (soda, subject) = fixture(key);
    ask_ok(key, &soda, &subject).await
}

async fn of_lot(key: &str) -> Value {
    let (soda, subject) = fixture(key);
    let lot = Subject {
        bin: None,
        ..subject
    };
    ask_ok(key, &soda, &lot).await
}

#[tokio::test]
async fn a_status_may_hold_two_blanks() {
    let data = of("nyc_dob_safety_violations").await;
    assert_eq!(data["open_violations"], 1);
    assert_eq!(data["violations_by_status"]["Paid  - Pending Dismissal"], 1);
    assert_eq!(data["oldest_issue_date"], "1989-10-12T00:00:00.000");
}

#[tokio::test]
async fn work_types_are_yes_or_no_in_any_case_and_measures_are_text() {
    let data = of("nyc_dob_now_jobs").await;
    assert_eq!(data["sidewalk_shed_filings"], 1);
    assert_eq!(data["records"][0]["existing_stories"], 102);
    assert_eq!(data["records"][0]["initial_cost"], 2700);
    assert_eq!(data["records"][0]["commmunity_board"], "105");
}

#[tokio::test]
async fn a_renewal_repeats_its_permit() {
    let data = of("nyc_dob_now_permits").await;
    assert_eq!(
        (&data["record_count"], &data["permit_count"]),
        (&json!(4), &json!(3))
    );
    assert_eq!(data["sidewalk_shed_permits"], 2);
    assert_eq!(data["unexpired_sidewalk_shed_permits"], 1);
}

#[tokio::test]
async fn permits_not_yet_issued_come_last() {
    let data = of("nyc_dob_now_permits").await;
    assert_eq!(column(&data, "work_permit")[3], "Permit is not yet issued");
    assert_eq!(data["newest_issued_date"], "2026-03-01T00:00:00.000");
}

#[tokio::test]
async fn a_limited_alterations_building_is_location_bin() {
    let data = of("nyc_dob_limited_alterations").await;
    assert_eq!(data["matched_by"], "bin");
    assert!(
        column(&data, "permit_expiration_date").contains(&"1899-12-30T00:00:00.000".to_owned())
    );
}

#[tokio::test]
async fn electrical_permits_have_a_gis_bbl() {
    let data = of_lot("nyc_dob_electrical_permits").await;
    assert_eq!(data["matched_by"], "bbl");
    assert_eq!(data["amount_due_total"], json!(60.25));
}

#[tokio::test]
async fn an_issuance_text_is_no_order() {
    let data = of("nyc_dob_now_certificates").await;
    assert_eq!(
        column(&data, "c_of_o_issuance_date"),
        ["11/21/24  9:05:11 AM", "02/15/22 11:08:46 AM"]
    );
    assert_eq!(data["final_certificates"], 1);
}

#[tokio::test]
async fn a_certificate_dated_2105_comes_last() {
    let data = of("nyc_dob_certificates").await;
    assert_eq!(
        column(&data, "c_o_issue_date")[2],
        "2105-11-05T00:00:00.000"
    );
    assert_eq!(data["newest_issue_date"], "2021-04-08T00:00:00.000");
    assert_eq!(data["newest_issue_type"], "Final");
}

#[tokio::test]
async fn stalled_sites_are_daily_snapshots() {
    let data = of("nyc_dob_stalled_sites").await;
    assert_eq!(data["record_count"], 2, "a complaint counts once");
    assert_eq!(column(&data, "dobrundate")[0], "2026-11-25T00:00:00.000");
}

#[tokio::test]
async fn an_incident_date_is_iso_despite_its_name() {
    let data = of("nyc_dob_incidents").await;
    assert_eq!(data["newest_incident_date"], "2026-07-14T00:00:00.000");
    assert_eq!(
        (&data["injuries"], &data["fatalities"]),
        (&json!(2), &json!(1))
    );
}

#[tokio::test]
async fn a_boilers_building_is_the_number_bin_number() {
    let data = of_lot("nyc_dob_boilers").await;
    assert_eq!(data["matched_by"], "bin", "every building on the lot");
    assert_eq!(column(&data, "inspection_date")[0], "01/15/2026 00:00:00");
    assert_eq!(data["boiler_count"], 2);
    assert_eq!(
        data["filings_with_penalties_due"], 1,
        "a control character stands before it"
    );
}

#[tokio::test]
async fn facades_have_no_bbl_and_a_cycle_in_text() {
    let data = of_lot("nyc_dob_facades").await;
    assert_eq!(data["matched_by"], "bbl");
    assert_eq!(column(&data, "cycle"), ["10", "9"]);
    assert_eq!(data["failure_to_file_total"], json!(1000.50));
}

#[tokio::test]
async fn harassment_is_a_finding_and_harrassment_a_case_type() {
    let data = of("nyc_hpd_litigation").await;
    assert_eq!(data["harassment_findings"], 1);
    assert_eq!(data["cases_by_type"]["Tenant Action/Harrassment"], 1);
    assert_eq!(data["open_cases"], 1);
}

#[tokio::test]
async fn an_order_without_a_rescission_stands() {
    let data = of("nyc_hpd_vacate_orders").await;
    assert_eq!(data["standing_orders"], 1);
    assert_eq!(column(&data, "postoce"), ["10118", "10118"]);
}

#[tokio::test]
async fn an_amended_bedbug_filing_replaces_its_year() {
    let data = of("nyc_hpd_bedbugs").await;
    assert_eq!(data["record_count"], 2);
    assert_eq!(column(&data, "filing_date")[1], "2025-01-20T00:00:00.000");
    assert_eq!(data["filings_with_infestation"], 1);
}

#[tokio::test]
async fn the_departments_buildings_have_no_bbl() {
    let data = of_lot("nyc_hpd_buildings").await;
    assert_eq!(data["matched_by"], "bbl");
    assert_eq!(
        data["record_count"], 2,
        "one BIN may have several building ids"
    );
}

#[tokio::test]
async fn an_award_is_no_bill_and_invoices_stand_inside_their_order() {
    let data = of("nyc_hpd_repair_orders").await;
    assert_eq!(data["award_amount_total"], json!(1456.52));
    assert_eq!(data["records"][0]["invoices"], json!([]));
    assert_eq!(
        data["records"][1]["invoices"][0]["chargeamount"],
        json!(1684.70)
    );
}

#[tokio::test]
async fn invoices_that_moved_are_not_known_and_no_error() {
    let (soda, subject) = fixture("nyc_hpd_repair_orders");
    soda.fail("emrz-5p35", Fault::Error(SodaError::Gone { status: 404 }));
    let data = ask_ok("nyc_hpd_repair_orders", &soda, &subject).await;
    assert_eq!(data["records"][1]["invoices"], Value::Null);
    soda.fail("emrz-5p35", Fault::Error(SodaError::Throttled));
    let entry = ask("nyc_hpd_repair_orders", &soda, &subject).await;
    assert_eq!(
        entry.status(),
        SourceStatus::Error,
        "silence is asked again"
    );
}

#[tokio::test]
async fn shifted_fees_are_never_added_up() {
    let data = of("nyc_hpd_fees").await;
    assert_eq!(column(&data, "feeamount"), ["200", "2038544"]);
    assert!(
        data.as_object()
            .unwrap()
            .keys()
            .all(|name| !name.contains("total"))
    );
}

#[tokio::test]
async fn a_stint_repeats_the_violations_at_the_start() {
    let data = of("nyc_hpd_alternative_enforcement").await;
    assert_eq!(data["violations_at_start"], 157);
    assert_eq!(
        (&data["record_count"], &data["active"]),
        (&json!(2), &json!(true))
    );
}

#[tokio::test]
async fn damaged_years_are_shown_and_not_sorted_by() {
    let data = of("nyc_hpd_underlying_conditions").await;
    assert_eq!(column(&data, "order_issue_date"), ["10/24/0201"]);
    assert_eq!(data["current_status"], "Discharged");
}

#[tokio::test]
async fn confidential_projects_are_on_no_building() {
    let data = of("nyc_hpd_affordable_housing").await;
    assert!(!column(&data, "project_name").contains(&"CONFIDENTIAL".to_owned()));
    assert_eq!(data["counted_units_total"], 40);
    // The column of either spelling is shown.
    assert_eq!(data["records"][0]["extended_affordability_only"], "No");
}

#[tokio::test]
async fn relocation_months_come_under_either_name() {
    let data = of("nyc_hpd_relocation_charges").await;
    assert_eq!(data["relocation_total"], json!(6000.50));
    assert_eq!(data["records"][0]["_month"], "3");
}

#[tokio::test]
async fn hearings_are_asked_by_padded_and_plain_lots() {
    let data = of("nyc_oath_hearings").await;
    assert_eq!(data["record_count"], 4);
    assert_eq!(
        column(&data, "violation_location_block_no"),
        ["00835", "00835", "835", "00835"]
    );
}

#[tokio::test]
async fn a_hearing_of_2109_comes_last() {
    let data = of("nyc_oath_hearings").await;
    assert_eq!(
        column(&data, "violation_date")[3],
        "2109-10-19T00:00:00.000"
    );
    assert_eq!(data["newest_violation_date"], "2024-01-05T00:00:00.000");
}

#[tokio::test]
async fn staten_island_is_cut_short_in_hearings() {
    let (soda, _) = fixture("nyc_oath_hearings");
    let island = Subject::of(Some(bbl("5033780070")), None, Borough::StatenIsland);
    ask("nyc_oath_hearings", &soda, &island).await;
    let asked = soda.asked()[0].filter.clone().unwrap().to_string();
    assert!(asked.contains("'STATEN IS'"), "{asked}");
}

#[tokio::test]
async fn the_fire_department_has_two_names() {
    let data = of("nyc_fdny_violations").await;
    assert_eq!(
        column(&data, "issuing_agency"),
        ["FIRE DEPARTMENT OF NYC", "FIRE DEPARTMENT"]
    );
}

#[tokio::test]
async fn a_vacate_without_a_description_stands() {
    let data = of("nyc_fdny_vacates").await;
    assert_eq!(data["standing_orders"], 1);
    assert_eq!(
        column(&data, "vac_date"),
        ["2025-12-31T00:00:00.000", "03/14/2019"]
    );
}

#[tokio::test]
async fn a_rodent_row_is_a_visit_and_may_lack_its_bbl() {
    let data = of("nyc_rodent_inspections").await;
    assert_eq!(data["record_count"], 4);
    assert_eq!(data["failed_for_rats"], 1);
    assert_eq!(data["newest_result"], "Passed");
    assert_eq!(data["visits_by_type"]["BAIT"], 1);
    assert!(column(&data, "bbl").contains(&"null".to_owned()));
}

#[tokio::test]
async fn a_restaurant_not_yet_inspected_is_dated_1900() {
    let data = of("nyc_restaurants").await;
    assert_eq!(data["restaurant_count"], 2);
    assert_eq!(
        column(&data, "inspection_date")[2],
        "1900-01-01T00:00:00.000"
    );
    assert_eq!(data["oldest_inspection_date"], "2026-03-10T00:00:00.000");
}

#[tokio::test]
async fn an_asbestos_project_has_several_rows_and_some_start_in_2423() {
    let data = of("nyc_asbestos").await;
    assert_eq!(
        (&data["record_count"], &data["project_count"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(column(&data, "start_date")[2], "2423-05-01T00:00:00.000");
}

#[tokio::test]
async fn energy_rows_may_name_many_lots_and_say_not_available() {
    let data = of("nyc_energy_benchmarking").await;
    assert_eq!(column(&data, "energy_star_score"), ["78", "Not Available"]);
    assert_eq!(data["energy_star_score"], 78);
    assert_eq!(data["records"][0]["largest_property_use_type_1"], 2_600_000);
}

/// Any of the lots listed finds the property; the digits of a lot inside another number do not.
#[tokio::test]
async fn a_property_is_found_by_any_of_its_lots() {
    let (soda, subject) = fixture("nyc_energy_benchmarking");
    soda.edit("5zyy-y8am", |table| {
        for lots in [
            "1008350099; 1008350041",
            "1008350099,1008350041",
            "21008350041; 1008350099",
            "1008350099; 10083500412",
        ] {
            let mut row = table.rows[2].clone();
            row.insert("nyc_borough_block_and_lot".into(), json!(lots));
            row.insert("report_year".into(), json!("2019"));
            table.rows.push(row);
        }
    });
    let data = ask_ok("nyc_energy_benchmarking", &soda, &subject).await;
    assert_eq!(data["record_count"], 4);
    assert_eq!(
        column(&data, "nyc_borough_block_and_lot")[2..],
        ["1008350099; 1008350041", "1008350099,1008350041"]
    );
}

#[tokio::test]
async fn shapes_are_left_out() {
    for key in [
        "nyc_lead_service_lines",
        "nyc_building_footprints",
        "nyc_landmark_sites",
        "nyc_building_elevations",
    ] {
        let data = of(key).await;
        assert!(data["records"][0].get("the_geom").is_none(), "{key}");
    }
}

/// A lot with more buildings than one request can name: all are asked for, in parts.
#[tokio::test]
async fn hundreds_of_buildings_on_a_lot_are_asked_in_parts() {
    let soda = fake();
    let bins: Vec<String> = (0..450).map(|at| format!("43{at:05}")).collect();
    let rows = bins.iter().enumerate().map(|(at, bin)| {
        json!({"complaint_number": format!("4{at:06}"), "bin": bin, "status": "ACTIVE", "date_entered": "01/02/2024"})
    });
    let columns = ["disposition_code", "complaint_category"].map(|name| (name, Type::Text));
    soda.put("eabe-havv", Table::new(rows.collect(), &columns));
    let lot = Subject {
        lot_bins: bins.iter().map(|text| bin(text)).collect(),
        ..Subject::of(Some(bbl("4163400050")), None, Borough::Queens)
    };
    let data = ask_ok("nyc_dob_complaints", &soda, &lot).await;
    assert_eq!(data["record_count"], 450);
    for query in soda.asked_of("eabe-havv") {
        if let Some(Condition::In(_, values)) = &query.filter {
            assert!(values.len() <= Condition::MAX_IN);
        }
    }
}
