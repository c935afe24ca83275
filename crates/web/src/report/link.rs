//! Links to the publisher's own page of a record or of the building, where an address can be made from what is known.

use brownstone_domain::Bbl;
use serde_json::Value;

/// Source, column of its records, and the address with `{}` in the place of the column's value.
const RECORDS: [(&str, &str, &str); 8] = [
    (
        "nyc_acris",
        "document_id",
        "https://a836-acris.nyc.gov/DS/DocumentSearch/DocumentDetail?doc_id={}",
    ),
    (
        "nyc_ecb",
        "ecb_violation_number",
        "https://a810-bisweb.nyc.gov/bisweb/ECBQueryByNumberServlet?ecbin={}",
    ),
    (
        "nyc_dob_jobs",
        "job__",
        "https://a810-bisweb.nyc.gov/bisweb/JobsQueryByNumberServlet?passjobnumber={}",
    ),
    (
        "nyc_dob_permits",
        "job__",
        "https://a810-bisweb.nyc.gov/bisweb/JobsQueryByNumberServlet?passjobnumber={}",
    ),
    (
        "nyc_hpd_violations",
        "buildingid",
        "https://hpdonline.nyc.gov/hpdonline/building/{}",
    ),
    (
        "nyc_hpd_complaints",
        "building_id",
        "https://hpdonline.nyc.gov/hpdonline/building/{}",
    ),
    (
        "nyc_hpd_registrations",
        "buildingid",
        "https://hpdonline.nyc.gov/hpdonline/building/{}",
    ),
    (
        "nyc_hpd_litigation",
        "buildingid",
        "https://hpdonline.nyc.gov/hpdonline/building/{}",
    ),
];

/// Which column of a source's records leads to the publisher's page, and where to.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordLink {
    /// The column.
    pub(super) column: &'static str,
    address: &'static str,
}

/// The link of a source's records.
pub(super) fn of_source(source: &str) -> Option<RecordLink> {
    let found = RECORDS.iter().find(|(key, ..)| *key == source);
    found.map(|(_, column, address)| RecordLink { column, address })
}

impl RecordLink {
    /// The address of a record's page. `None` where its number is none that a publisher would give: nothing else goes into an address.
    pub(super) fn of(self, record: &Value) -> Option<String> {
        let number = match record.get(self.column)? {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        let plain = !number.is_empty()
            && number.len() <= 32
            && number.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plain.then(|| self.address.replace("{}", &number))
    }
}

/// Pages of the building itself: a name and an address each.
pub(super) fn of_building(bbl: Option<&str>, bin: Option<&str>) -> Vec<(&'static str, String)> {
    let mut links = Vec::new();
    if let Some(bbl) = bbl.and_then(|text| text.parse::<Bbl>().ok()) {
        let (borough, block, lot) = (bbl.borough().digit(), bbl.block(), bbl.lot());
        links.push((
            "Zoning and land use (ZoLa)",
            format!("https://zola.planning.nyc.gov/l/lot/{borough}/{block}/{lot}"),
        ));
        links.push((
            "Deeds and mortgages (ACRIS)",
            format!("https://a836-acris.nyc.gov/bblsearch/bblsearch.asp?borough={borough}&block={block}&lot={lot}"),
        ));
        links.push((
            "Property tax (DOF)",
            format!("https://propertyinformationportal.nyc.gov/parcels/parcel/{bbl}"),
        ));
    }
    if let Some(bin) = bin.and_then(|text| text.parse::<brownstone_domain::Bin>().ok()) {
        links.push((
            "Buildings department (BIS)",
            format!("https://a810-bisweb.nyc.gov/bisweb/PropertyProfileOverviewServlet?bin={bin}"),
        ));
    }
    links
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_building_has_its_pages() {
        let links = of_building(Some("1008350041"), Some("1015862"));
        let addresses: Vec<_> = links.iter().map(|(_, address)| address.as_str()).collect();
        assert_eq!(addresses[0], "https://zola.planning.nyc.gov/l/lot/1/835/41");
        assert!(addresses[1].ends_with("borough=1&block=835&lot=41"));
        assert!(addresses[2].ends_with("/1008350041"));
        assert!(addresses[3].ends_with("bin=1015862"));
        assert!(of_building(Some("x"), None).is_empty());
    }

    #[test]
    fn every_address_has_one_place_for_a_number() {
        for (source, _, address) in RECORDS {
            assert_eq!(address.matches("{}").count(), 1, "{source}");
            assert!(address.starts_with("https://"), "{source}");
        }
        let link = of_source("nyc_ecb").unwrap();
        let page = link.of(&json!({"ecb_violation_number": " 35784804M "}));
        assert!(page.unwrap().ends_with("ecbin=35784804M"));
        assert_eq!(link.of(&json!({"ecb_violation_number": null})), None);
        assert!(of_source("nyc_pluto").is_none());
    }

    proptest! {
        #[test]
        fn nothing_but_a_number_gets_into_an_address(text in "\\PC{0,40}") {
            let link = of_source("nyc_acris").unwrap();
            if let Some(page) = link.of(&json!({"document_id": text})) {
                let number = page.rsplit('=').next().unwrap();
                prop_assert!(!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            }
        }
    }
}
