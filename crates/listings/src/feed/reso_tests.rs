use brownstone_domain::ListingStatus;
use serde_json::json;
use time::macros::datetime;

use super::*;

const NOW: OffsetDateTime = datetime!(2026-11-28 6:00 UTC);

fn read(row: Value) -> (Row, Dropped) {
    let Value::Object(row) = row else { panic!() };
    let mut dropped = Dropped::new();
    (map(&row, NOW, &mut dropped).unwrap(), dropped)
}

/// An invented sale with every field we read.
fn sale() -> Value {
    json!({
        "ListingKey": "K1", "ListingId": "RX-1",
        "StandardStatus": "Active Under Contract", "PropertyType": "Residential",
        "PropertySubType": "Stock Cooperative", "UnparsedAddress": "120 Broadway 4C",
        "StreetNumber": "120", "StreetName": "Broadway", "UnitNumber": "4C",
        "PostalCode": "10271", "Latitude": 40.7086, "Longitude": -74.0106,
        "ListPrice": 950_000.00, "OriginalListPrice": 1_000_000, "PreviousListPrice": 1_000_000,
        "PriceChangeTimestamp": "2026-11-20T09:30:00Z", "ListingContractDate": "2026-10-01",
        "DaysOnMarket": 58, "BedroomsTotal": 2, "BathroomsFull": 1, "BathroomsHalf": 1, "RoomsTotal": 4,
        "LivingArea": 92.9, "LivingAreaUnits": "Square Meters", "LotSizeAcres": 0.25, "YearBuilt": 1915,
        "EntryLevel": 4, "AssociationFee": 6000, "AssociationFeeFrequency": "Quarterly",
        "TaxAnnualAmount": 12_000, "PetsAllowed": ["Cats OK", "Dogs OK"], "NewConstructionYN": false,
        "Media": [
            {"MediaURL": "https://photos.example/2.jpg", "Order": 2},
            {"MediaURL": "https://photos.example/1.jpg", "Order": 1},
            {"MediaURL": "javascript:alert(1)", "Order": 0}
        ],
        "OpenHouse": [{"OpenHouseDate": "2026-12-05", "OpenHouseStartTime": "2026-12-05T17:00:00Z"}],
        "ListOfficeName": "Sample Realty", "PublicRemarks": "Two bedrooms.",
        "ModificationTimestamp": "2026-11-20T09:30:00.123Z"
    })
}

#[test]
fn a_sale_is_mapped_and_its_units_converted() {
    let (row, dropped) = read(sale());
    let listing = row.listing;
    assert_eq!(dropped, Dropped::new());
    assert_eq!(listing.source_listing_id, "RX-1");
    assert_eq!(listing.sources["reso"].listing_id, "K1");
    assert_eq!(listing.status, ListingStatus::ActiveUnderContract);
    assert_eq!(listing.property_type, PropertyType::Coop);
    assert_eq!(
        listing.property_type_raw.as_deref(),
        Some("Residential / Stock Cooperative")
    );
    assert_eq!(listing.list_price.unwrap().to_string(), "950000");
    assert_eq!(listing.price_change.unwrap().to_string(), "-50000");
    assert_eq!(listing.living_area_sqft, Some(1000));
    assert_eq!(listing.lot_size_sqft, Some(10_890));
    assert_eq!(listing.bathrooms, Some(1.5));
    assert_eq!(listing.maintenance_monthly.unwrap().to_string(), "2000");
    assert_eq!(listing.common_charges_monthly, None);
    assert_eq!(listing.property_tax_monthly.unwrap().to_string(), "1000");
    assert_eq!(listing.pets_allowed, Some(true));
    assert_eq!(
        listing.photo_urls,
        [
            "https://photos.example/1.jpg",
            "https://photos.example/2.jpg"
        ]
    );
    assert_eq!(listing.open_houses.len(), 1);
    assert_eq!(row.new_construction, Some(false));
}

#[test]
fn what_who_offers_a_home_withholds_is_not_read() {
    use Display::{Whole, Withheld, WithoutAddress};
    let (entire, address) = ("InternetEntireListingDisplayYN", "InternetAddressDisplayYN");
    for (field, value, expected) in [
        (entire, json!(false), Withheld),
        (entire, json!("N"), Withheld),
        (entire, json!("No"), Withheld),
        (entire, json!(0), Withheld),
        (entire, json!("ask the seller"), Withheld),
        (entire, json!(true), Whole),
        (entire, json!("Y"), Whole),
        (entire, json!(null), Whole),
        (entire, json!(""), Whole),
        (address, json!(false), WithoutAddress),
        (address, json!("false"), WithoutAddress),
        (address, json!(true), Whole),
        (address, json!(null), Whole),
        ("MlgCanView", json!(false), Withheld),
        ("MlgCanView", json!(true), Whole),
    ] {
        let mut sale = sale();
        sale[field] = value.clone();
        sale["ListingURL"] = "https://sample.example/120-broadway-4c".into();
        let (row, _) = read(sale);
        assert_eq!(row.display, expected, "{field} {value}");
        let text = serde_json::to_string(&row.listing).unwrap();
        let address = ["120", "Broadway", "broadway", "4C", "40.7086", "74.0106"];
        let told = address.iter().filter(|part| text.contains(**part)).count();
        match expected {
            Whole => assert_eq!(told, 6, "{text}"),
            _ => assert_eq!(told, 0, "{text}"),
        }
        assert_eq!(text.contains("950000"), expected != Withheld, "{text}");
        assert_eq!(row.listing.zip_code.is_some(), expected != Withheld);
    }
    // Both say no: the wider one counts.
    let mut both = sale();
    both[address] = false.into();
    both[entire] = false.into();
    assert_eq!(read(both).0.display, Withheld);
}

#[test]
fn a_lease_is_by_the_month() {
    let (row, _) = read(json!({
        "ListingKey": "K2", "StandardStatus": "Active", "PropertyType": "ResidentialLease",
        "PropertySubType": "Apartment", "ListPrice": 42_000, "LeaseAmountFrequency": "Annually",
        "Furnished": "Unfurnished", "LeaseTerm": "12 Months", "AvailabilityDate": "2026-12-01"
    }));
    let listing = row.listing;
    assert_eq!(listing.listing_type, ListingType::Rental);
    assert_eq!(listing.asking_rent.unwrap().to_string(), "3500");
    assert_eq!((listing.list_price, listing.furnished), (None, Some(false)));
    assert_eq!(listing.lease_term_months, Some(12));
}

#[test]
fn what_cannot_be_is_not_known_and_counted() {
    let (row, dropped) = read(json!({
        "ListingKey": "K3", "StandardStatus": "Sleeping", "PropertyType": "Residential",
        "PropertySubType": "Houseboat", "ListPrice": 2_147_483_647, "LivingArea": 2184.207862,
        "BathroomsTotalDecimal": 2.3738608579684373, "YearBuilt": 9999, "BedroomsTotal": 2.5,
        "Latitude": 0.0, "Longitude": 0.0, "ListingContractDate": "2026-05-02", "CloseDate": "2026-05-01",
        "OffMarketDate": "not a date"
    }));
    let listing = row.listing;
    assert_eq!(listing.status, ListingStatus::Other);
    assert_eq!(listing.property_type, PropertyType::Other);
    assert_eq!(
        listing.property_type_raw.as_deref(),
        Some("Residential / Houseboat")
    );
    assert_eq!((listing.list_price, listing.living_area_sqft), (None, None));
    assert_eq!((listing.bathrooms, listing.bedrooms), (None, None));
    assert_eq!((listing.list_date, listing.off_market_date), (None, None));
    let expected: Dropped = [
        "list_price",
        "living_area_sqft",
        "bathrooms",
        "year_built",
        "bedrooms",
        "latitude",
        "list_date",
    ]
    .into_iter()
    .map(|field| (field, 1))
    .collect();
    assert_eq!(dropped, expected);
}

#[test]
fn a_row_without_an_identifier_is_no_listing() {
    let mut dropped = Dropped::new();
    let rows = [json!({"ListPrice": 1}), json!(5)];
    let mapped = map_rows(&rows, &mut dropped, |row, dropped| map(row, NOW, dropped));
    assert_eq!((mapped.len(), dropped["listing"]), (0, 2));
}

#[test]
fn pages_hold_as_many_rows_as_were_counted() {
    let place = |next: &str, counted, given| Place {
        next: next.to_owned(),
        counted,
        given,
    };
    let link = || Some("?b".to_owned());
    let started = place("?a", Some(250), 100);
    for (before, counted, rows, next, expected) in [
        (
            None,
            Some(250),
            100,
            link(),
            Ok(Some(place("?b", Some(250), 100))),
        ),
        (None, None, 100, link(), Ok(Some(place("?b", None, 100)))),
        // Only the first page's count counts.
        (
            Some(&started),
            Some(9),
            100,
            link(),
            Ok(Some(place("?b", Some(250), 200))),
        ),
        (Some(&started), None, 150, None, Ok(None)),
        // Some came meanwhile.
        (Some(&started), None, 153, None, Ok(None)),
        (None, Some(0), 0, None, Ok(None)),
        (None, None, 3, None, Ok(None)),
        (
            Some(&started),
            None,
            149,
            None,
            Err(FeedError::Short {
                counted: 250,
                given: 249,
            }),
        ),
        (
            None,
            Some(100),
            50,
            None,
            Err(FeedError::Short {
                counted: 100,
                given: 50,
            }),
        ),
    ] {
        let case = format!("{before:?} {counted:?} {rows} {next:?}");
        assert_eq!(after(before, counted, rows, next), expected, "{case}");
    }
    let circle = after(Some(&started), None, 5, Some("?a".into()));
    assert!(matches!(circle, Err(FeedError::Unreadable(_))));
    // A cursor is read as it was written; one of another release is a link.
    assert_eq!(Place::parse(&started.cursor().unwrap()), started);
    assert_eq!(
        Place::parse("Property?$skiptoken=7"),
        place("Property?$skiptoken=7", None, 0)
    );
}

#[test]
fn a_next_link_gives_its_query_and_nothing_else() {
    for link in [
        "https://elsewhere.example/other/Property?$skiptoken=a%20b&$filter=x",
        "Property?$skiptoken=a%20b&$filter=x",
    ] {
        let query = query_of(link).unwrap();
        assert_eq!(query[0], ("$skiptoken".to_owned(), "a b".to_owned()));
        assert_eq!(query.len(), 2);
    }
    assert!(query_of("https://elsewhere.example/").is_err());
}
