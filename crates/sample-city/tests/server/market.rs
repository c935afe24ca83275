//! Sales and lots, read whole as an index builder reads them.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{city, rows};

#[tokio::test(flavor = "multi_thread")]
async fn the_sales_and_the_lots_are_read_whole_page_by_page() {
    let city = city().await;
    for (dataset, least) in [
        ("w2pb-icbu", 2_500),
        ("usep-8jbt", 500),
        ("64uk-42ks", 1_200),
    ] {
        let total = rows(&city, dataset, &[("$select", "count(*) as n")]).await;
        let total: usize = (total[0]["n"].as_str())
            .and_then(|count| count.parse().ok())
            .expect("a count");
        assert!(total > least, "{dataset}: {total}");
        let mut ids = HashSet::new();
        for offset in (0..=total).step_by(1_000) {
            let offset = offset.to_string();
            let params = [
                ("$select", ":*,*"),
                ("$order", ":id"),
                ("$limit", "1000"),
                ("$offset", &offset),
            ];
            let page = rows(&city, dataset, &params).await;
            ids.extend(page.iter().map(|row| row[":id"].to_string()));
        }
        assert_eq!(ids.len(), total, "{dataset}");
    }
    city.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condominium_s_sales_stand_on_units_of_its_own_block() {
    let city = city().await;
    let condition =
        "block = 2359 and borough = 2 and starts_with(address, '700 BROOK AVENUE') and lot > 1300";
    let sales = rows(&city, "w2pb-icbu", &[("$where", condition)]).await;
    assert!(sales.len() >= 5, "{}", sales.len());
    for sale in &sales {
        assert_eq!(sale["building_class_at_time_of"], "R4");
        assert!(sale["apartment_number"].is_string(), "{sale}");
    }
    let lot = rows(&city, "64uk-42ks", &[("$where", "bbl = 2023597501")]).await;
    let place = |row: &Value| row["latitude"].clone();
    assert_eq!((lot.len(), place(&lot[0])), (1, json!("40.81536")));
    city.stop().await;
}
