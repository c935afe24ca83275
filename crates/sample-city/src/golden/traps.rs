//! The publishers' own peculiarities, each of which some client has fallen for.

use std::collections::HashSet;

use super::{rows, texts};
use crate::city::City;

#[test]
fn traps_of_the_publishers_are_there() {
    let city = City::made_up();
    let count = |dataset: &str, condition: &str| rows(&city, dataset, condition).len();
    for (dataset, condition, trap) in [
        (
            "bs8b-p36w",
            "c_o_issue_date > '2100-01-01'",
            "a certificate of 2105",
        ),
        (
            "jz4z-kudi",
            "violation_date > '2100-01-01'",
            "a hearing of 2109",
        ),
        ("3h2n-5cm9", "issue_date = '00000000'", "a date of zeros"),
        (
            "3h2n-5cm9",
            "house_number = 'TEST' and bin is null",
            "a test record",
        ),
        (
            "xxbr-ypig",
            "permit_expiration_date < '1900-01-01'",
            "a placeholder for no date",
        ),
        (
            "xpbf-ithr",
            "order_issue_date < '1000-01-01'",
            "a damaged year",
        ),
        (
            "43nn-pn8j",
            "inspection_date = '1900-01-01'",
            "not yet inspected",
        ),
        (
            "rbx6-tga4",
            "job_filing_number = 'Permit is no'",
            "no permit yet",
        ),
        (
            "hg8x-zxpr",
            "project_name = 'CONFIDENTIAL' and bbl is null",
            "a confidential project",
        ),
        (
            "6z8x-wfk4",
            "bin is null and bbl is null",
            "an eviction that did not geocode",
        ),
        (
            "5zyy-y8am",
            "energy_star_score = 'Not Available'",
            "a word for nothing",
        ),
        (
            "5zyy-y8am",
            "nyc_borough_block_and_lot like '%;%'",
            "several lots in one text",
        ),
        (
            "9rz4-mjek",
            "cycle = '10 Days Notice'",
            "the other spelling",
        ),
        ("erm2-nwe9", "bbl is null", "a request at a crossing"),
        (
            "ic3t-wcy2",
            "latest_action_date like '____-__-__ '",
            "a second date format",
        ),
        (
            "usep-8jbt",
            "sale_price in (0, 1, 10)",
            "a price that is none",
        ),
        (
            "rgyu-ii48",
            "starts_with(parid, '1018890001') and parid != '1018890001'",
            "a padded key",
        ),
        (
            "w2pb-icbu",
            "gross_square_feet like '%,%'",
            "a thousands comma",
        ),
        ("52dp-yji6", "bin_number = 1015862", "a number for a BIN"),
        (
            "jz4z-kudi",
            "violation_location_borough = 'STATEN IS'",
            "a cut borough",
        ),
        ("8h5j-fqxa", "document_id like 'FT_%'", "a film record"),
    ] {
        assert!(count(dataset, condition) > 0, "{trap}: {dataset}");
    }
    assert_eq!(
        count("fdkv-4t4z", "bbl = 1000477501"),
        0,
        "zoning stands on base lots"
    );
    assert_eq!(count("fdkv-4t4z", "bbl = 1000470001"), 1);
    assert_eq!(
        count("scjx-j6np", "parid = '1000477501'"),
        0,
        "bills stand on unit lots"
    );
    assert!(count("scjx-j6np", "parid = '1000471002'") > 0);
    let runs = "bin = '3231074' and dobrundate = '2026-11-18'";
    assert_eq!(
        (
            count("i296-73x5", runs),
            count("i296-73x5", "bin = '3231074'")
        ),
        (1, 3)
    );
}

#[test]
fn the_keys_have_each_dataset_s_own_padding() {
    let city = City::made_up();
    let found = |dataset: &str, condition: &str| !rows(&city, dataset, condition).is_empty();
    // Five digits here, four there, none, and a number with decimals.
    assert!(found("3h2n-5cm9", "block = '00835' and lot = '00041'"));
    assert!(!found("3h2n-5cm9", "block = '00835' and lot = '0041'"));
    assert!(found("6bgk-3dad", "block = '00835' and lot = '0041'"));
    assert!(
        found("6bgk-3dad", "block = '00835' and lot = '00041'"),
        "some old rows"
    );
    assert!(found(
        "tesw-yqqr",
        "boroid = 1 and block = 835 and lot = 41"
    ));
    assert!(found("8y4t-faws", "parid = '1008350041'"));
    let pluto = rows(&city, "64uk-42ks", "bbl = 1008350041");
    assert_eq!(texts(&pluto, "bbl"), ["1008350041.00000000"]);
    assert!(found(
        "64uk-42ks",
        "bbl = 1008350041 and splitzone in (true, false)"
    ));
    let jobs = texts(&rows(&city, "ic3t-wcy2", "bbl is not null"), "bbl");
    let bins = jobs.iter().filter(|bbl| bbl.len() == 7).count();
    assert!(
        bins > 10 && bins < jobs.len() / 2,
        "{bins} of {}",
        jobs.len()
    );
}

#[test]
fn a_condominium_s_values_and_deeds_stand_on_its_units() {
    let city = City::made_up();
    let bridge = rows(
        &city,
        "eguu-7ie3",
        "unit_designation in ('4C', '5C') and unit_block = '47'",
    );
    let lots = texts(&bridge, "unit_bbl");
    assert_eq!(lots.len(), 2);
    let mut owners = HashSet::new();
    for lot in &lots {
        let values = rows(&city, "8y4t-faws", &format!("parid = '{lot}'"));
        assert_eq!(values.len(), 4, "two years of two periods");
        owners.extend(texts(&values, "curmkttot"));
        let unit = lot
            .get(6..)
            .and_then(|lot| lot.parse::<u32>().ok())
            .expect("a lot");
        let deeds = rows(
            &city,
            "8h5j-fqxa",
            &format!("borough = 1 and block = 47 and lot = {unit}"),
        );
        assert!(!deeds.is_empty(), "{lot}");
    }
    assert!(owners.len() > 1, "each unit has its own values");
    let billing = rows(&city, "8y4t-faws", "parid = '1000477501'");
    assert!(
        texts(&billing, "curmkttot")
            .iter()
            .all(|value| value == "0")
    );
    assert!(rows(&city, "64uk-42ks", "bbl = 1000471001").is_empty());
    let condominium = rows(&city, "p8u6-a6it", "condo_billing_bbl = '1000477501'");
    assert_eq!(texts(&condominium, "condo_base_bbl"), ["1000470001"]);
}
