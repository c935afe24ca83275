//! The listing search for people: the API's own fields as a form, one page of results, and how the listing source did.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header::HeaderName},
    web,
};
use askama::Template;
use brownstone_domain::{
    ErrorCode, Listing, ListingSort, ListingStatus, ListingType, Operation, PropertyType,
    SearchAnswer, SearchRequest, SourceStatus, Surface,
};
use brownstone_service::{Call, Failure};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::property::caller;
use crate::{
    edge::request_id,
    form::{Form, encode},
    host::Host,
    page::{Frame, Stop, show},
    text::{count, money, visible, words},
    visitor::Visitor,
};

/// Results of a page.
const PAGE: u64 = SearchRequest::DEFAULT_LIMIT as u64;

/// Two bounds, the fields that set them, and whether they are for whole dollars.
const RANGES: [(&str, &str, &str); 5] = [
    ("Price or monthly rent, $", "min_price", "max_price"),
    ("Bedrooms (0 is a studio)", "min_bedrooms", "max_bedrooms"),
    ("Bathrooms", "min_bathrooms", "max_bathrooms"),
    (
        "Living area, sq ft",
        "min_living_area_sqft",
        "max_living_area_sqft",
    ),
    ("Year built", "min_year_built", "max_year_built"),
];

/// A number of its own.
const MOST_DAYS: &str = "max_days_on_market";

/// Days between which a rental can be moved into.
const DATES: [(&str, &str); 2] = [
    ("Available from", "available_from"),
    ("Available until", "available_to"),
];

/// What may be so, not so, or either.
const SWITCHES: [(&str, &str); 6] = [
    ("Price reduced", "price_reduced"),
    ("New construction", "new_construction"),
    ("No broker’s fee", "no_fee"),
    ("Pets allowed", "pets_allowed"),
    ("Furnished", "furnished"),
    ("Open house to come", "has_open_house"),
];

/// Fields of which one value is taken as it is.
const WORDS: [&str; 2] = ["listing_type", "sort"];

/// Fields that may come several times.
const LISTS: [&str; 2] = ["status", "property_types"];

/// A value to choose.
struct Choice {
    value: &'static str,
    label: String,
    chosen: bool,
}

struct Input {
    label: &'static str,
    name: &'static str,
    value: String,
}

struct Range {
    label: &'static str,
    min: Input,
    max: Input,
}

struct Switch {
    label: &'static str,
    name: &'static str,
    choices: Vec<Choice>,
}

/// The form with what was sent in it.
struct Fields {
    location: String,
    types: Vec<Choice>,
    sorts: Vec<Choice>,
    statuses: Vec<Choice>,
    kinds: Vec<Choice>,
    ranges: Vec<Range>,
    most_days: String,
    dates: Vec<Input>,
    switches: Vec<Switch>,
    /// Whether something of what is folded away is set.
    open: bool,
}

fn choices<T: Copy>(
    all: &[T],
    name: impl Fn(T) -> &'static str,
    chosen: impl Fn(&str) -> bool,
) -> Vec<Choice> {
    let choice = |value: &T| Choice {
        value: name(*value),
        label: words(name(*value)),
        chosen: chosen(name(*value)),
    };
    all.iter().map(choice).collect()
}

impl Fields {
    fn of(form: &Form) -> Self {
        let value = |name| visible(form.get(name));
        let either = |form: &Form, name| {
            let is = form.get(name).to_owned();
            [("", "either"), ("true", "yes"), ("false", "no")].map(|(value, label)| Choice {
                value,
                label: label.to_owned(),
                chosen: is == value,
            })
        };
        let input = |label, name| Input {
            label,
            name,
            value: value(name),
        };
        let folded = RANGES
            .iter()
            .skip(3)
            .flat_map(|(_, min, max)| [*min, *max])
            .chain(DATES.map(|(_, name)| name))
            .chain(SWITCHES.map(|(_, name)| name))
            .chain(LISTS)
            .chain([MOST_DAYS]);
        Self {
            location: value("location"),
            types: choices(ListingType::ALL, ListingType::as_str, |name| {
                form.get("listing_type") == name
            }),
            sorts: choices(ListingSort::ALL, ListingSort::as_str, |name| {
                form.get("sort") == name
            }),
            statuses: choices(&ListingStatus::SEARCHABLE, ListingStatus::as_str, |name| {
                form.all("status").any(|sent| sent == name)
            }),
            kinds: choices(PropertyType::ALL, PropertyType::as_str, |name| {
                form.all("property_types").any(|sent| sent == name)
            }),
            ranges: RANGES
                .map(|(label, min, max)| Range {
                    label,
                    min: input("at least", min),
                    max: input("at most", max),
                })
                .into(),
            most_days: value(MOST_DAYS),
            dates: DATES.map(|(label, name)| input(label, name)).into(),
            switches: SWITCHES
                .map(|(label, name)| Switch {
                    label,
                    name,
                    choices: either(form, name).into(),
                })
                .into(),
            open: folded.into_iter().any(|name| !form.get(name).is_empty()),
        }
    }
}

/// A number as typed becomes one; anything else stays text, and the search says what it expected.
fn number(typed: &str) -> Value {
    let digits: String = typed
        .chars()
        .filter(|c| !matches!(c, '$' | ',' | ' ' | '_'))
        .collect();
    let number = serde_json::from_str::<serde_json::Number>(&digits);
    number.map_or_else(|_| Value::from(typed), Value::Number)
}

fn switch(typed: &str) -> Value {
    match typed {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        other => Value::from(other),
    }
}

/// The body that the API would be sent for this form.
fn body(form: &Form) -> Map<String, Value> {
    let mut body = Map::new();
    let location = form.get("location");
    let zips: Vec<&str> = location
        .split([',', ' ', ';'])
        .filter(|part| !part.is_empty())
        .collect();
    let are_zips = zips
        .iter()
        .all(|part| part.len() == 5 && part.bytes().all(|byte| byte.is_ascii_digit()));
    if zips.len() > 1 && are_zips {
        body.insert("zip_codes".into(), json!(zips));
    } else {
        body.insert("location".into(), Value::from(location));
    }
    let mut set = |name: &'static str, value: fn(&str) -> Value| {
        let typed = form.get(name);
        if !typed.is_empty() {
            body.insert(name.into(), value(typed));
        }
    };
    WORDS
        .iter()
        .for_each(|name| set(name, |typed| typed.into()));
    for (_, min, max) in RANGES {
        set(min, number);
        set(max, number);
    }
    set(MOST_DAYS, number);
    set("offset", number);
    DATES
        .iter()
        .for_each(|(_, name)| set(name, |typed| typed.into()));
    SWITCHES.iter().for_each(|(_, name)| set(name, switch));
    for name in LISTS {
        let sent: Vec<&str> = form.all(name).collect();
        if !sent.is_empty() {
            body.insert(name.into(), json!(sent));
        }
    }
    body.insert("limit".into(), json!(PAGE));
    body
}

/// The same search from another result on. Only what the search knows is kept.
fn page_path(form: &Form, offset: u64) -> String {
    let ranges = RANGES.iter().flat_map(|(_, min, max)| [*min, *max]);
    let single = ["location", MOST_DAYS]
        .into_iter()
        .chain(WORDS)
        .chain(ranges)
        .chain(DATES.map(|(_, name)| name))
        .chain(SWITCHES.map(|(_, name)| name))
        .map(|name| (name, form.get(name)))
        .filter(|(_, value)| !value.is_empty());
    let several = LISTS
        .into_iter()
        .flat_map(|name| form.all(name).map(move |value| (name, value)));
    let mut path = String::from("/search?");
    for (name, value) in single.chain(several) {
        path.push_str(name);
        path.push('=');
        path.push_str(&encode(value));
        path.push('&');
    }
    path.push_str(&format!("offset={offset}"));
    path
}

/// A listing as it is shown.
struct Card {
    price: String,
    per: &'static str,
    address: String,
    /// Where the public record of its building is.
    record: Option<String>,
    place: String,
    facts: Vec<String>,
    costs: Vec<String>,
    marks: Vec<String>,
    status: &'static str,
    listed: String,
    by: String,
    /// The listing's own page; only an https address becomes a link.
    url: Option<String>,
}

fn joined<'a>(parts: impl IntoIterator<Item = Option<&'a String>>, between: &str) -> String {
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .map(|part| visible(part))
        .collect();
    parts.join(between)
}

impl Card {
    fn of(listing: &Listing) -> Self {
        let asks = listing.list_price.or(listing.asking_rent);
        let plural = |n: u32, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let bedrooms = listing.bedrooms.map(|n| match n {
            0 => "studio".to_owned(),
            n => plural(n, "bedroom"),
        });
        let monthly = [
            ("common charges", listing.common_charges_monthly),
            ("maintenance", listing.maintenance_monthly),
            ("property tax", listing.property_tax_monthly),
        ];
        let mut costs: Vec<String> = monthly
            .iter()
            .filter_map(|(name, amount)| Some(format!("{name} {} a month", money((*amount)?))))
            .collect();
        costs.extend(
            listing
                .net_effective_rent
                .map(|rent| format!("net effective rent {}", money(rent))),
        );
        let yes = [
            ("no fee", listing.no_fee),
            ("furnished", listing.furnished),
            ("pets allowed", listing.pets_allowed),
            ("rent stabilised", listing.rent_stabilized),
        ];
        let mut marks: Vec<String> = yes
            .iter()
            .filter(|(_, is)| *is == Some(true))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        marks.extend(
            listing
                .price_change
                .filter(|change| change.is_negative())
                .map(|change| format!("price cut {}", money(change))),
        );
        let subject = listing
            .bin
            .map(|bin| bin.to_string())
            .or_else(|| listing.bbl.map(|bbl| bbl.to_string()));
        let facts = [
            Some(words(listing.property_type.as_str())),
            bedrooms,
            listing.bathrooms.map(|n| format!("{n} bath")),
            listing
                .living_area_sqft
                .map(|area| format!("{} sq ft", count(area.into()))),
            listing
                .price_per_sqft
                .map(|price| format!("{} a sq ft", money(price))),
            listing.year_built.map(|year| format!("built {year}")),
            listing
                .available_date
                .as_ref()
                .map(|date| format!("available {}", visible(date.as_str()))),
        ];
        let listed = listing
            .list_date
            .as_ref()
            .map(|date| visible(date.as_str()));
        Self {
            price: asks.map_or_else(|| "Price not stated".to_owned(), money),
            per: match listing.listing_type {
                ListingType::Rental if asks.is_some() => "a month",
                _ => "",
            },
            address: listing
                .address
                .as_deref()
                .map_or_else(|| "Address not stated".to_owned(), visible),
            record: subject.map(|subject| format!("/lookup?address={}", encode(&subject))),
            place: joined(
                [listing.neighborhood.as_ref(), listing.borough.as_ref()],
                ", ",
            ),
            facts: facts.into_iter().flatten().collect(),
            costs,
            marks,
            status: listing.status.as_str(),
            listed: match (listed, listing.days_on_market) {
                (Some(date), Some(days)) => {
                    format!("listed {date}, {} on the market", plural(days, "day"))
                }
                (Some(date), None) => format!("listed {date}"),
                (None, Some(days)) => format!("{} on the market", plural(days, "day")),
                (None, None) => String::new(),
            },
            by: joined(
                [listing.broker_name.as_ref(), listing.office_name.as_ref()],
                ", ",
            ),
            url: listing
                .listing_url
                .clone()
                .filter(|url| url.starts_with("https://")),
        }
    }
}

/// How the listing source did, in plain words, and whether something may be missing.
struct Said {
    text: String,
    bad: bool,
}

/// The worst of what the listing calls of a search came to.
fn said(status: &brownstone_domain::ListingSourceStatus) -> Option<Said> {
    let weight = |status: SourceStatus| match status {
        SourceStatus::Error => 3,
        SourceStatus::Gated => 2,
        SourceStatus::NotFound => 1,
        SourceStatus::Ok => 0,
    };
    let (key, worst) = status.iter().max_by_key(|(_, status)| weight(**status))?;
    let text = match (key.as_str(), worst) {
        (_, SourceStatus::Gated) => "This deployment holds no licence for listings in this area. That nothing is shown does not mean that nothing is offered.".to_owned(),
        ("not_warm", SourceStatus::Error) => "This area has not been scanned yet, so listings are missing here. Try again in a while.".to_owned(),
        ("cached", SourceStatus::Error) => "The last scan of this area did not succeed. Listings may be missing or out of date.".to_owned(),
        (source, SourceStatus::Error) => format!("The listing source {} did not answer. Listings are missing here.", visible(source)),
        (_, SourceStatus::NotFound) => "The listing source answered: nothing is listed in this area.".to_owned(),
        ("cached", SourceStatus::Ok) => "From the index, which is refreshed daily.".to_owned(),
        (source, SourceStatus::Ok) => format!("Asked just now of the listing source {}.", visible(source)),
    };
    Some(Said {
        text,
        bad: weight(*worst) >= 2,
    })
}

/// One page of results.
struct Results {
    cards: Vec<Card>,
    /// Number of the first, from 1.
    first: u64,
    last: u64,
    before: Option<String>,
    after: Option<String>,
    said: Option<Said>,
    spent: u64,
    left: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage {
    page: Frame,
    fields: Fields,
    cost: u32,
    problem: Option<String>,
    /// Why an area that was named is not searched at once.
    wait: bool,
    results: Option<Results>,
}

/// Whether the browser says that another site led here, or that nobody has asked yet: then nothing is spent.
fn is_led(req: &HttpRequest) -> bool {
    let header = |name: &'static str| {
        let value = req.headers().get(HeaderName::from_static(name));
        value
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    };
    matches!(header("sec-fetch-site"), "cross-site" | "same-site")
        || header("sec-purpose").contains("prefetch")
        || header("purpose") == "prefetch"
}

/// `GET /search`: the form; with a `location`, a page of results at the price of the API's search, by the surface `web`.
///
/// # Errors
/// Sends whoever is not signed in to sign in. What the search refuses stands on the page.
pub async fn search(req: HttpRequest, host: web::Data<Host>) -> Result<HttpResponse, Stop> {
    let visitor = Visitor::of(&req, &host).await?;
    let account = &visitor.signed(&req)?.account;
    let form = Form::parse(req.query_string().as_bytes());
    let mut page = SearchPage {
        page: Frame::of(&host, &visitor, "Search listings"),
        fields: Fields::of(&form),
        cost: Operation::SearchListings.spec().cost.get(),
        problem: None,
        wait: false,
        results: None,
    };
    let mut status = StatusCode::OK;
    let named = !form.get("location").is_empty();
    page.wait = named && is_led(&req);
    if named && !page.wait {
        let call = Call {
            surface: Surface::Web,
            operation: Operation::SearchListings,
            caller: caller(&req, &host, account)?,
            request_id: request_id(&req),
            body: Bytes::from(Value::Object(body(&form)).to_string()),
        };
        match host.service.call(call).await {
            Ok(answer) => page.results = Some(results(&req, &form, &answer)?),
            Err(failure) if is_for_the_form(&failure) => {
                status = StatusCode::from_u16(failure.code.status())
                    .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                page.problem = Some(visible(&failure.message));
            }
            Err(failure) => return Err(Stop::failure(&req, &failure)),
        }
    }
    show(&req, &host, &visitor, status, &page)
}

fn is_for_the_form(failure: &Failure) -> bool {
    matches!(
        failure.code,
        ErrorCode::InvalidRequest | ErrorCode::OutsideCoverage
    )
}

fn results(
    req: &HttpRequest,
    form: &Form,
    answer: &brownstone_service::Answer,
) -> Result<Results, Stop> {
    let found: SearchAnswer = serde_json::from_slice(&answer.data.concat())
        .map_err(|error| Stop::internal(req, error))?;
    // The search took it, so it is a number.
    let offset = number(form.get("offset")).as_u64().unwrap_or_default();
    let shown = u64::try_from(found.results.len()).unwrap_or(u64::MAX);
    let after = offset.saturating_add(shown);
    Ok(Results {
        cards: found.results.iter().map(Card::of).collect(),
        first: offset.saturating_add(1),
        last: after,
        before: (offset > 0).then(|| page_path(form, offset.saturating_sub(PAGE))),
        after: found.has_more.then(|| page_path(form, after)),
        said: said(&found.source_status),
        spent: answer.meta.units_charged,
        left: count(
            answer
                .meta
                .minute_remaining
                .min(answer.meta.daily_remaining),
        ),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn form(text: &str) -> Form {
        Form::parse(text.as_bytes())
    }

    #[test]
    fn a_form_is_the_apis_body() {
        let sent = form(
            "location=Chelsea&listing_type=rental&status=active&status=pending&property_types=condo\
             &min_price=%241%2C500&max_price=&min_bathrooms=1.5&no_fee=false&furnished=&available_from=2026-12-01\
             &sort=price_asc&offset=25&unknown=1",
        );
        assert_eq!(
            Value::Object(body(&sent)),
            json!({
                "location": "Chelsea", "listing_type": "rental", "status": ["active", "pending"],
                "property_types": ["condo"], "min_price": 1500, "min_bathrooms": 1.5, "no_fee": false,
                "available_from": "2026-12-01", "sort": "price_asc", "offset": 25, "limit": 25,
            })
        );
    }

    #[test]
    fn several_zips_are_an_area_and_one_is_a_place() {
        let two = body(&form("location=10001,+10011"));
        assert_eq!(two["zip_codes"], json!(["10001", "10011"]));
        assert!(!two.contains_key("location"));
        assert_eq!(body(&form("location=10001"))["location"], "10001");
        assert_eq!(
            body(&form("location=Upper+West+Side"))["location"],
            "Upper West Side"
        );
    }

    #[test]
    fn what_is_no_number_goes_on_as_typed() {
        assert_eq!(number("$1,250,000"), json!(1_250_000));
        for typed in ["many", "1e", "0x10", "--1", "1 2 x"] {
            assert_eq!(number(typed), json!(typed));
        }
    }

    #[test]
    fn the_worst_of_the_listing_calls_is_said() {
        use SourceStatus::{Error, Gated, NotFound, Ok};
        for (status, bad, part) in [
            (vec![("cached", Ok)], false, "refreshed daily"),
            (vec![("cached", NotFound)], false, "nothing is listed"),
            (
                vec![("cached", Ok), ("not_warm", Gated)],
                true,
                "no licence",
            ),
            (vec![("not_warm", Error)], true, "not been scanned"),
            (vec![("cached", Error)], true, "last scan"),
            (
                vec![("cached", Ok), ("reso", Error)],
                true,
                "reso did not answer",
            ),
            (vec![("reso", Ok)], false, "just now"),
        ] {
            let map = status
                .iter()
                .map(|(key, status)| ((*key).to_owned(), *status));
            let said = said(&map.collect()).unwrap();
            assert_eq!(said.bad, bad, "{}", said.text);
            assert!(said.text.contains(part), "{}", said.text);
        }
        assert!(said(&[].into()).is_none());
    }

    proptest! {
        #[test]
        fn another_page_is_the_same_search(location in "\\PC{1,20}", price in "[0-9]{1,7}", kinds in prop::collection::vec("[a-z&=% ]{1,6}", 0..3), offset in 0_u64..1000) {
            let mut text = format!("location={}&min_price={price}", encode(&location));
            for kind in &kinds {
                text.push_str(&format!("&property_types={}", encode(kind)));
            }
            let first = form(&text);
            let path = page_path(&first, offset);
            let mut expected = body(&first);
            expected.insert("offset".into(), json!(offset));
            let (_, query) = path.split_once('?').unwrap();
            prop_assert_eq!(body(&form(query)), expected);
        }
    }
}
