//! What the live geocoder says of what was changed, as the offline one does.

use super::*;

fn queens(number: &str, bin: &str) -> serde_json::Value {
    let zip = if bin == "4112001" { "11355" } else { "11101" };
    let bbl = if bin == "4112001" {
        "4050000001"
    } else {
        "4003000001"
    };
    feature(number, "41 AVENUE", "Queens", zip, bbl, bin)
}

/// Brooklyn's 350 5 Avenue.
fn brooklyn() -> serde_json::Value {
    feature(
        "350",
        "5 AVENUE",
        "Brooklyn",
        "11215",
        "3009100010",
        "3020001",
    )
}

/// Answers with the features of the boroughs that the question names.
struct ByBorough(Vec<serde_json::Value>);

#[async_trait]
impl Fetch for ByBorough {
    async fn get(&self, _: &[&str], query: &[(&str, &str)]) -> Result<(u16, Bytes), FetchError> {
        let text = query.iter().find(|(name, _)| *name == "text").unwrap().1;
        let named = |feature: &&serde_json::Value| {
            let borough = feature["properties"]["borough"].as_str();
            borough.is_some_and(|name| text.contains(name))
        };
        let there: Vec<_> = self.0.iter().filter(named).cloned().collect();
        Ok((200, Bytes::from(collection(&there))))
    }
}

async fn answer(text: &str, features: &[serde_json::Value]) -> Result<Resolved, ResolveError> {
    geocoder(200, collection(features)).0.resolve(text).await
}

#[tokio::test]
async fn a_number_without_its_hyphen_is_the_one_that_its_building_has() {
    let wrong = [queens("131-03", "4112001"), queens("13103", "4112001")];
    for text in ["13-103 41 Avenue, Queens", "13-103 41 Avenue, Queens 11101"] {
        let none = answer(text, &wrong).await;
        assert!(matches!(none, Err(ResolveError::NotFound(_))), "{none:?}");
    }
    assert!(answer("131-03 41 Avenue, Queens", &wrong).await.is_ok());
    let right = [queens("13-103", "4004001"), queens("13103", "4004001")];
    let both: Vec<_> = wrong.into_iter().chain(right).collect();
    let found = answer("13-103 41 Avenue, Queens", &both).await.unwrap();
    assert_eq!(found.building.bin, Some("4004001".parse().unwrap()));
}

#[tokio::test]
async fn a_missing_hyphen_is_asked_for_where_two_places_fit() {
    let both = [queens("131-03", "4112001"), queens("13-103", "4004001")];
    let asked = answer("13103 41 Avenue, Queens", &both).await;
    assert!(
        matches!(asked, Err(ResolveError::Ambiguous { .. })),
        "{asked:?}"
    );
    let zip = answer("13103 41 Avenue, Queens 11101", &both)
        .await
        .unwrap();
    assert_eq!(zip.building.bin, Some("4004001".parse().unwrap()));
}

#[tokio::test]
async fn manhattan_that_was_only_taken_is_said() {
    let both = [empire("350", "5 AVENUE"), brooklyn()];
    let state = answer("350 5 Avenue, NY", &both).await.unwrap();
    assert_eq!(state.warnings, [say::MANHATTAN_BY_STATE]);
    let city = answer("350 5 Avenue, New York, NY", &both).await.unwrap();
    assert_eq!(city.warnings, [say::MANHATTAN_BY_CITY]);
    let alone = answer("350 5 Avenue, NY", &both[..1]).await.unwrap();
    assert_eq!(alone.warnings, [""; 0]);
    let front = answer("Acme Corp, 350 5 Avenue, NY", &both).await.unwrap();
    assert_eq!(
        front.warnings,
        [
            say::MANHATTAN_BY_STATE,
            "\"ACME CORP\" is no part of the address and was ignored."
        ]
    );
}

#[tokio::test]
async fn each_of_two_boroughs_is_asked_for() {
    let named = feature(
        "",
        "EMPIRE STATE BUILDING",
        "Manhattan",
        "10118",
        "1008350041",
        "1015862",
    );
    let alone = GeoSearchGeocoder::new(
        ByBorough(vec![empire("350", "5 AVENUE"), named]),
        Some(Arc::new(Lots)),
    );
    let both = GeoSearchGeocoder::new(
        ByBorough(vec![empire("350", "5 AVENUE"), brooklyn()]),
        Some(Arc::new(Lots)),
    );
    for boroughs in ["Brooklyn, Manhattan", "Manhattan, Brooklyn"] {
        let two = both.resolve(&format!("350 5 Avenue, {boroughs}")).await;
        assert!(
            matches!(two, Err(ResolveError::Ambiguous { .. })),
            "{two:?}"
        );
        for text in ["350 5 Avenue", "Empire State Building"] {
            let one = alone.resolve(&format!("{text}, {boroughs}")).await;
            let one = one.unwrap();
            assert_eq!(one.building.bin, Some("1015862".parse().unwrap()));
            assert_eq!(one.warnings, [say::ONE_BOROUGH]);
        }
    }
}

#[tokio::test]
async fn a_zip_alone_that_proves_wrong_does_not_say_where() {
    let brooklyn = [brooklyn()];
    let Err(ResolveError::Ambiguous { candidates, .. }) =
        answer("350 5 Avenue, 11201", &brooklyn).await
    else {
        panic!("the address as typed may stand in another borough");
    };
    assert_eq!(candidates, ["350 5 AVENUE, Brooklyn, NY 11215"]);
    let right = answer("350 5 Avenue, 11215", &brooklyn).await.unwrap();
    assert_eq!(right.building.bin, Some("3020001".parse().unwrap()));
}

#[tokio::test]
async fn what_was_changed_makes_no_exact_answer() {
    let named = feature(
        "",
        "EMPIRE STATE BUILDING",
        "Manhattan",
        "10118",
        "1008350041",
        "1015862",
    );
    let all = [empire("350", "5 AVENUE"), named];
    let zip = "ZIP code 10001 was ignored: the address is in 10118.";
    let spelling = "\"MANHATTTEN\" was read as Manhattan.";
    for (text, warning) in [
        ("350 5 Avenue, Brooklyn, Manhattan", say::ONE_BOROUGH),
        ("350 5 Avenue, Manhattten", spelling),
        ("350 5 Avenue, Manhattan 10001", zip),
        ("Empire State Building, Manhattan 10001", zip),
        (
            "Empire State Building, Manhattten",
            "\"MANHATTTEN\" was read as Manhattan.",
        ),
        (
            "Block 835 Lot 41, Manhattten",
            "\"MANHATTTEN\" was read as Manhattan.",
        ),
        ("Block 835 Lot 41, Manhattan 10001", zip),
    ] {
        let resolved = answer(text, &all).await.unwrap();
        assert_eq!(resolved.matched, Match::Corrected, "{text}");
        assert_eq!(resolved.warnings, [warning], "{text}");
    }
    let outside = answer("Block 835 Lot 41, Brooklyn, CT", &all).await;
    assert!(
        matches!(outside, Err(ResolveError::OutsideCoverage(_))),
        "{outside:?}"
    );
}
