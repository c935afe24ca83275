//! The listing search for people.

use super::*;
use crate::listings_search;

async fn left(browser: &mut Browser) -> Value {
    browser.get("/dashboard/budget.json").await.json()["day_remaining"].clone()
}

fn addresses(got: &Got) -> Vec<String> {
    let cards = got.text.split("<li class=\"tile\">").skip(1);
    cards
        .map(|card| {
            let (_, rest) = card.split_once("<h3>").expect("an address");
            let (_, price) = card.split_once("class=\"figure\">").expect("a price");
            let price = price.split('<').next().unwrap_or_default().trim();
            format!("{} {price}", rest.split('<').next().unwrap_or_default())
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_paged_filtered_and_drawn_on_the_budget() {
    let server = listings_search::server("reso").await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    let form = browser.get("/search").await.is(200);
    assert!(form.text.contains("costs 2 units") && !form.text.contains("<h2>Results"));
    assert_eq!(left(&mut browser).await, "10,000", "the form alone is free");

    let query =
        "/search?location=Manhattan&listing_type=sale&sort=price_desc&min_price=%24100%2C000";
    let first = browser.get(query).await.is(200);
    assert_eq!(left(&mut browser).await, "9,998");
    assert!(first.text.contains("Results 1 to 25"), "{}", first.text);
    assert!(first.text.contains("refreshed daily"));
    let mut seen = addresses(&first);
    assert_eq!(seen.len(), 25);
    let mut page = first;
    while page.text.contains("More results") {
        let (before, _) = page.text.split_once("\">More results").expect("a link");
        let next = before.rsplit("href=\"").next().expect("its path");
        let next = next.replace("&#38;", "&").replace("&amp;", "&");
        assert!(next.contains("sort=price_desc") && next.contains("min_price=%24100%2C000"));
        page = browser.get(&next).await.is(200);
        assert!(page.text.contains("Earlier results"));
        seen.extend(addresses(&page));
    }
    let api = server
        .post(
            "/v1/search",
            &json!({"location": "Manhattan", "sort": "price_desc", "min_price": 100_000, "limit": 100}),
        )
        .await;
    let all = api.data()["results"].as_array().expect("an array").len();
    assert_eq!(seen.len(), all, "the pages are the API's");
    let usage = browser.get("/dashboard/usage").await.is(200).text;
    assert!(usage.contains("searchListings") && usage.contains("<td>WEB</td>"));

    let narrow = browser
        .get("/search?location=Manhattan&property_types=coop&property_types=condo&status=active&no_fee=true&listing_type=rental")
        .await
        .is(200);
    assert!(
        narrow.text.contains("value=\"coop\" checked")
            && narrow.text.contains("<details class=\"more\" open>")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_search_refuses_stands_on_the_form_and_costs_nothing() {
    let server = Server::sample().await;
    let mut browser = Browser::sign_up(&server, "ada@example.com").await;
    for (query, part) in [
        ("location=Wiliamsburg", "Nearest: Williamsburg"),
        ("location=Yonkers", "Yonkers"),
        ("location=Chelsea&min_price=cheap", "min_price"),
        (
            "location=Chelsea&min_price=2&max_price=1",
            "min_price must not be above max_price",
        ),
        ("location=Chelsea&sort=%3Cb%3E", "sort"),
        ("location=Chelsea&offset=-1", "offset"),
        ("location=Chelsea&no_fee=perhaps", "no_fee"),
    ] {
        let got = browser.get(&format!("/search?{query}")).await.is(400);
        assert!(
            got.between("role=\"alert\">", "</p>").contains(part),
            "{query}: {}",
            got.text
        );
        assert!(!got.text.contains("<b>"));
    }
    // Listings are not configured here: it is said, and not taken for an empty market.
    let gated = browser.get("/search?location=Chelsea").await.is(200);
    assert!(gated.text.contains("no licence"), "{}", gated.text);
    assert_eq!(
        left(&mut browser).await,
        "9,998",
        "only the answer was charged"
    );
    // Another site's link, and a browser that looks ahead, spend nothing.
    for header in [
        ("sec-fetch-site", "cross-site"),
        ("sec-purpose", "prefetch;prerender"),
    ] {
        let led = browser
            .send(
                Method::GET,
                "/search?location=Chelsea",
                &[header],
                String::new(),
            )
            .await
            .is(200);
        assert!(led.text.contains("nothing is spent"), "{}", led.text);
    }
    assert_eq!(left(&mut browser).await, "9,998");
    Browser::new(&server)
        .get("/search?location=Chelsea")
        .await
        .goes("/sign-in?next=%2Fsearch%3Flocation%3DChelsea");
}
