use std::sync::Mutex;

use brownstone_domain::{Bbl, Bin};
use bytes::Bytes;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::geocoder::{DirectoryEntry, DirectoryError};

mod checks;

/// Answers every question with the same bytes, and remembers the questions.
struct Canned {
    status: u16,
    body: Vec<u8>,
    asked: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Fetch for Canned {
    async fn get(
        &self,
        segments: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(u16, Bytes), FetchError> {
        assert_eq!(segments, ["v2", "search"]);
        let text = query.iter().find(|(name, _)| *name == "text").unwrap().1;
        self.asked.lock().unwrap().push(text.to_owned());
        Ok((self.status, Bytes::from(self.body.clone())))
    }
}

struct Down;

#[async_trait]
impl Fetch for Down {
    async fn get(&self, _: &[&str], _: &[(&str, &str)]) -> Result<(u16, Bytes), FetchError> {
        Err(FetchError("no answer in time".to_owned()))
    }
}

fn geocoder(status: u16, body: impl Into<Vec<u8>>) -> (GeoSearchGeocoder, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let fetch = Canned {
        status,
        body: body.into(),
        asked: Arc::clone(&asked),
    };
    (GeoSearchGeocoder::new(fetch, Some(Arc::new(Lots))), asked)
}

/// A feature in GeoSearch's shape; its certainty says nothing, as in real answers.
fn feature(
    number: &str,
    street: &str,
    borough: &str,
    zip: &str,
    bbl: &str,
    bin: &str,
) -> serde_json::Value {
    let mut properties = json!({
        "id": "1", "gid": "nycpad:venue:1", "layer": "venue", "source": "nycpad", "name": format!("{number} {street}").trim(),
        "confidence": 0.8, "match_type": "fallback", "accuracy": "point", "region": "New York", "borough": borough,
        "addendum": {"pad": {"bbl": bbl, "bin": bin, "version": "26c"}},
    });
    if !number.is_empty() {
        properties["housenumber"] = json!(number);
        properties["street"] = json!(street);
    }
    if !zip.is_empty() {
        properties["postalcode"] = json!(zip);
    }
    json!({"type": "Feature", "geometry": {"type": "Point", "coordinates": [-73.98, 40.75]}, "properties": properties})
}

fn collection(features: &[serde_json::Value]) -> Vec<u8> {
    json!({"geocoding": {"version": "0.2"}, "type": "FeatureCollection", "features": features})
        .to_string()
        .into_bytes()
}

/// A directory with one lot of one building, and one of two.
struct Lots;

fn entry(bbl: &str, bins: &[&str], address: &str) -> DirectoryEntry {
    let bins: Vec<Bin> = bins.iter().map(|bin| bin.parse().unwrap()).collect();
    DirectoryEntry {
        bbl: bbl.parse().unwrap(),
        bin: (bins.len() == 1).then(|| bins[0]),
        address: Some(address.to_owned()),
        zip: Some("10118".to_owned()),
        latitude: Some(40.7),
        longitude: Some(-74.0),
        bins,
    }
}

#[async_trait]
impl LotDirectory for Lots {
    async fn by_bbl(&self, bbl: Bbl) -> Result<Option<DirectoryEntry>, DirectoryError> {
        Ok(match bbl.to_string().as_str() {
            "1008350041" => Some(entry("1008350041", &["1015862"], "350 5 AVENUE")),
            "3052960043" => Some(entry(
                "3052960043",
                &["3123204", "3340270"],
                "1279 37 STREET",
            )),
            "1000451033" => Some(entry("1000457501", &["1001000"], "28 LIBERTY STREET")),
            "5010000001" => Some(entry("5010000001", &[], "VACANT PLACE")),
            "5999990001" => return Err(DirectoryError("down".to_owned())),
            _ => None,
        })
    }

    async fn by_bin(&self, bin: Bin) -> Result<Option<DirectoryEntry>, DirectoryError> {
        let bbl = match bin.to_string().as_str() {
            "1015862" => "1008350041",
            "3340270" | "3123204" => "3052960043",
            _ => return Ok(None),
        };
        let mut entry = self.by_bbl(bbl.parse().unwrap()).await?.unwrap();
        entry.bin = Some(bin);
        Ok(Some(entry))
    }
}

fn empire(number: &str, street: &str) -> serde_json::Value {
    feature(
        number,
        street,
        "Manhattan",
        "10118",
        "1008350041",
        "1015862",
    )
}

#[tokio::test]
async fn one_building_has_one_form_whatever_was_asked() {
    let body = collection(&[
        empire("338", "5 AVENUE"),
        empire("20", "WEST 34 STREET"),
        feature(
            "",
            "EMPIRE STATE BUILDING",
            "Manhattan",
            "10118",
            "1008350041",
            "1015862",
        ),
    ]);
    let (geocoder, asked) = geocoder(200, body);
    let mut forms = Vec::new();
    for text in [
        "338 Fifth Ave Apt 4C, New York, NY 10118",
        "20 W 34th St, Manhattan",
        "Empire State Building",
        "1015862",
        "1008350041",
    ] {
        forms.push(geocoder.resolve(text).await.unwrap());
    }
    assert_eq!(
        forms[0].building.one_line(),
        "350 5 AVENUE, New York, NY 10118"
    );
    assert_eq!(forms[0].unit.as_deref(), Some("4C"));
    assert_eq!(forms[0].matched, Match::Alias);
    assert_eq!(forms[0].building.buildings_on_lot, Some(1));
    assert_eq!(forms[0].building.latitude, Some(40.75));
    for form in &forms[1..] {
        assert_eq!(form.building.one_line(), forms[0].building.one_line());
        assert_eq!(form.building.bin, forms[0].building.bin);
        assert_eq!(
            form.building.canonical_path(None),
            forms[0].building.canonical_path(None)
        );
    }
    // Neither unit nor state confuse the question; identifiers are not asked there at all.
    assert_eq!(
        *asked.lock().unwrap(),
        [
            "338 5 AVENUE, Manhattan 10118",
            "20 WEST 34 STREET, Manhattan",
            "EMPIRE STATE BUILDING"
        ]
    );
    assert!(geocoder.is_live());
}

#[rstest]
// Another number, street, borough: whatever the confidence.
#[case(
    "99999 37 street brooklyn",
    "207",
    "37 STREET",
    "Brooklyn",
    "3006950001",
    "3336906"
)]
#[case(
    "1279 zzqqxx street brooklyn",
    "1279",
    "53 STREET",
    "Brooklyn",
    "3056627501",
    "3138712"
)]
#[case(
    "52 Henry Street, Manhattan",
    "52",
    "HENRY STREET",
    "Brooklyn",
    "3002000001",
    "3001000"
)]
#[case(
    "1279 37 street brooklyn",
    "1279",
    "EAST 37 STREET",
    "Brooklyn",
    "3076370038",
    "3209116"
)]
#[case(
    "809 W 46th St, New York",
    "46",
    "WEST 46 STREET",
    "Manhattan",
    "1012600001",
    "1034001"
)]
// A made-up number has no building.
#[case(
    "336 5 Avenue, Manhattan",
    "336",
    "5 AVENUE",
    "Manhattan",
    "1008350041",
    "1000000"
)]
// Lot and building of different boroughs.
#[case(
    "680 81 Street, Brooklyn",
    "680",
    "81 STREET",
    "Brooklyn",
    "1000277502",
    "3150000"
)]
#[case(
    "1 & 5 Streets corner",
    "1",
    "5 STREET",
    "Brooklyn",
    "3010000001",
    "3010000"
)]
#[tokio::test]
async fn what_does_not_agree_is_not_found(
    #[case] text: &str,
    #[case] number: &str,
    #[case] street: &str,
    #[case] borough: &str,
    #[case] bbl: &str,
    #[case] bin: &str,
) {
    let (geocoder, _) = geocoder(
        200,
        collection(&[feature(number, street, borough, "", bbl, bin)]),
    );
    let answer = geocoder.resolve(text).await;
    assert!(
        matches!(answer, Err(ResolveError::NotFound(_))),
        "{answer:?}"
    );
}

#[tokio::test]
async fn aliases_of_one_building_are_one_answer_and_several_buildings_are_none() {
    let two = collection(&[
        empire("350", "5 AVENUE"),
        empire("350", "FIFTH AVENUE"),
        feature(
            "350",
            "5 AVENUE",
            "Brooklyn",
            "11215",
            "3009100010",
            "3020001",
        ),
    ]);
    let (geocoder, _) = geocoder(200, two);
    let Err(ResolveError::Ambiguous { candidates, .. }) = geocoder.resolve("350 5th Ave").await
    else {
        panic!("two boroughs have it");
    };
    assert_eq!(
        candidates,
        [
            "350 5 AVENUE, New York, NY 10118",
            "350 5 AVENUE, Brooklyn, NY 11215"
        ]
    );
    for text in [
        "350 5th Ave, Manhattan",
        "350 5th Ave, NYC",
        "350 5 Ave 10118",
    ] {
        let resolved = geocoder.resolve(text).await.unwrap();
        assert_eq!(resolved.building.bin, Some("1015862".parse().unwrap()));
        assert_eq!(resolved.matched, Match::Exact);
    }
}

#[tokio::test]
async fn a_wrong_zip_is_said() {
    let (geocoder, _) = geocoder(200, collection(&[empire("350", "5 AVENUE")]));
    let resolved = geocoder
        .resolve("350 5 Ave, Manhattan 10001")
        .await
        .unwrap();
    assert_eq!(resolved.matched, Match::Corrected);
    assert_eq!(
        resolved.warnings,
        ["ZIP code 10001 was ignored: the address is in 10118."]
    );
}

#[tokio::test]
async fn ranges_and_hyphens_are_read_as_the_city_has_them() {
    let (queens, _) = geocoder(
        200,
        collection(&[feature(
            "16031",
            "23 AVENUE",
            "Queens",
            "11357",
            "4047000001",
            "4100000",
        )]),
    );
    assert!(queens.resolve("160-31 23 Avenue, Queens").await.is_ok());
    let (range, asked) = geocoder(
        200,
        collection(&[feature(
            "10",
            "LEXINGTON AVENUE",
            "Manhattan",
            "10010",
            "1008800010",
            "1018001",
        )]),
    );
    let resolved = range
        .resolve("10-14 Lexington Avenue, Manhattan")
        .await
        .unwrap();
    assert!(resolved.warnings[0].contains("read as a range"));
    assert_eq!(asked.lock().unwrap().len(), 1);
    let (joined, _) = geocoder(
        200,
        collection(&[feature(
            "1022",
            "38 STREET",
            "Brooklyn",
            "11219",
            "3006960001",
            "3336910",
        )]),
    );
    let resolved = joined.resolve("10-22 38th Street, Brooklyn").await.unwrap();
    assert_eq!(resolved.matched, Match::Corrected);
    let americas = geocoder(
        200,
        collection(&[feature(
            "96",
            "6 AVENUE",
            "Manhattan",
            "10013",
            "1004900001",
            "1008001",
        )]),
    )
    .0;
    assert!(americas.resolve("96 avenue of the americas").await.is_ok());
}

#[tokio::test]
async fn a_building_that_shares_its_lot_says_so_in_its_path() {
    let (geocoder, _) = geocoder(
        200,
        collection(&[
            feature(
                "1279",
                "37 STREET",
                "Brooklyn",
                "11218",
                "3052960043",
                "3340270",
            ),
            feature(
                "1279 GARAGE",
                "37 STREET",
                "Brooklyn",
                "11218",
                "3052960043",
                "3123204",
            ),
        ]),
    );
    let main = geocoder.resolve("1279 37 street brooklyn").await.unwrap();
    assert_eq!(
        main.building.canonical_path(None).as_deref(),
        Some("/property/3052960043-3340270/1279-37-street-brooklyn-ny-11218")
    );
    let garage = geocoder
        .resolve("1279 garage 37 street, Brooklyn")
        .await
        .unwrap();
    assert_eq!(garage.building.bin, Some("3123204".parse().unwrap()));
}

#[rstest]
#[case(500, "{}")]
#[case(502, "<html>Bad Gateway</html>")]
#[case(503, "")]
#[case(410, r#"{"message":"gone"}"#)]
#[case(
    400,
    r#"{"geocoding":{"errors":["text"]},"type":"FeatureCollection","features":[]}"#
)]
#[case(200, "<html>maintenance</html>")]
#[case(200, r#"{"type":"Something","features":[]}"#)]
#[case(200, "[]")]
#[tokio::test]
async fn a_failed_call_is_never_not_found(#[case] status: u16, #[case] body: &str) {
    let (geocoder, _) = geocoder(status, body);
    let answer = geocoder.resolve("350 5 Avenue, Manhattan").await;
    assert!(
        matches!(answer, Err(ResolveError::Unavailable(_))),
        "{answer:?}"
    );
    let down = GeoSearchGeocoder::new(Down, None);
    assert!(matches!(
        down.resolve("350 5 Avenue, Manhattan").await,
        Err(ResolveError::Unavailable(_))
    ));
}

#[tokio::test]
async fn rubbish_among_the_features_is_passed_over() {
    let body = collection(&[
        json!(null),
        json!({"type": "Feature", "properties": {"layer": "borough", "name": "Manhattan"}}),
        json!({"properties": {"housenumber": 350, "addendum": {"pad": {"bbl": 1}}}}),
        empire("350", "5 AVENUE"),
    ]);
    let (geocoder, _) = geocoder(200, body);
    assert!(geocoder.resolve("350 5 Avenue, Manhattan").await.is_ok());
}

#[tokio::test]
async fn identifiers_go_through_the_directory() {
    let (geocoder, asked) = geocoder(200, collection(&[]));
    let lot = geocoder.resolve("3052960043").await.unwrap();
    assert_eq!(lot.building.bin, None);
    assert_eq!(lot.building.street, None);
    assert_eq!(
        lot.warnings,
        ["The lot has 2 buildings; ask for one by its BIN: 3123204, 3340270."]
    );
    let unit = geocoder.resolve("1000451033").await.unwrap();
    assert_eq!(unit.unit_bbl, Some("1000451033".parse().unwrap()));
    assert_eq!(unit.building.bbl, Some("1000457501".parse().unwrap()));
    let vacant = geocoder.resolve("5-01000-0001").await.unwrap();
    assert_eq!(vacant.building.bin, None);
    assert_eq!(
        geocoder
            .resolve("Block 835 Lot 41")
            .await
            .unwrap()
            .building
            .bin,
        Some("1015862".parse().unwrap())
    );
    assert!(matches!(
        geocoder.resolve("1999999").await,
        Err(ResolveError::NotFound(_))
    ));
    assert!(matches!(
        geocoder.resolve("5999990001").await,
        Err(ResolveError::Unavailable(_))
    ));
    assert!(matches!(
        GeoSearchGeocoder::new(Down, None).resolve("1015862").await,
        Err(ResolveError::Unavailable(_))
    ));
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn outside_and_invalid_texts_ask_nothing() {
    let (geocoder, asked) = geocoder(200, collection(&[]));
    assert!(matches!(
        geocoder
            .resolve("693 Henderson Street, Jersey City, NJ 07302")
            .await,
        Err(ResolveError::OutsideCoverage(_))
    ));
    assert!(matches!(
        geocoder.resolve("").await,
        Err(ResolveError::Invalid(_))
    ));
    assert!(matches!(
        geocoder.resolve("Broadway & W 100 St").await,
        Err(ResolveError::NotFound(_))
    ));
    assert!(asked.lock().unwrap().is_empty());
    assert!(matches!(
        geocoder.resolve("2400 Marcus Ave, New Hyde Park, NY").await,
        Err(ResolveError::OutsideCoverage(_))
    ));
}

/// Answers recorded from the service in September 2026.
#[rstest]
#[case(
    "v2_search_1279_37_street_size3.json",
    "1279 37 street brooklyn",
    Some("3340270")
)]
#[case(
    "v2_search_1279_37_street_size3.json",
    "1279 garage 37 street brooklyn",
    Some("3123204")
)]
#[case(
    "v2_search_1279_37_street_size3.json",
    "1279 east 37 street brooklyn",
    Some("3209116")
)]
#[case(
    "v2_search_1279_37th_street_size1.json",
    "1279 37th street brooklyn",
    Some("3340270")
)]
#[case(
    "v2_search_3622_13_avenue_size1.json",
    "3622 13 avenue brooklyn",
    Some("3340270")
)]
#[case(
    "v2_search_house_number_out_of_range.json",
    "99999 37 street brooklyn",
    None
)]
#[case("v2_search_no_such_street.json", "1279 zzqqxx street brooklyn", None)]
#[case("v2_autocomplete_1279_37_st.json", "1279 37 st", Some("3340270"))]
#[case(
    "v1_search_50_broad_2019.json",
    "50 broad street, manhattan 10004",
    None
)]
#[tokio::test]
async fn recorded_answers(#[case] file: &str, #[case] text: &str, #[case] bin: Option<&str>) {
    let Some(path) = crate::at_hand::real_data(&format!("geosearch/{file}")) else {
        return;
    };
    let (geocoder, _) = geocoder(200, std::fs::read(path).unwrap());
    let answer = geocoder.resolve(text).await;
    match bin {
        Some(bin) => assert_eq!(answer.unwrap().building.bin, Some(bin.parse().unwrap())),
        None => assert!(
            matches!(answer, Err(ResolveError::NotFound(_))),
            "{answer:?}"
        ),
    }
}
