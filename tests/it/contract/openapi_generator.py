"""Each operation through the client that openapi-generator generates for Python, with checked answers."""

import sys

import city_api
from city_api import (
    GetCompsRequest,
    GetListingUpdatesRequest,
    GetMortgageRatesRequest,
    GetRentalEstimatesRequest,
    LookupPropertyRequest,
    SearchListingsRequest,
)

url, key = sys.argv[1:]
configuration = city_api.Configuration(host=url, access_token=key)
with city_api.ApiClient(configuration) as client:
    properties = city_api.PropertiesApi(client)
    market = city_api.MarketApi(client)
    listings = city_api.ListingsApi(client)

    report = properties.lookup_property(LookupPropertyRequest(address="350 5th Ave, Manhattan"))
    assert report.data.bbl == "1008350041", report.data.bbl
    violations = report.data.sources.nyc_ecb.data
    assert violations.ecb_total_violations == violations.record_count
    assert len(violations.records[0].issue_date) == 8

    found = listings.search_listings(SearchListingsRequest(location="Manhattan"))
    assert found.meta.operation == "searchListings", found
    comps = market.get_comps(GetCompsRequest(address="1000477501", mode="valuation"))
    assert comps.data.valuation.value > 0, comps
    try:
        market.get_rental_estimates(GetRentalEstimatesRequest(address="1000477501"))
    except city_api.ApiException as error:
        assert error.status == 502, error
    updates = listings.get_listing_updates(GetListingUpdatesRequest(location="Manhattan"))
    assert updates.data.truncated is False, updates
    rates = market.get_mortgage_rates(GetMortgageRatesRequest(home_price=900000, down_payment=180000))
    assert rates.data.scenario.ltv_percent == 80, rates
    usage = city_api.AccountApi(client).get_usage()
    assert usage.data.day.used >= 19, usage

    try:
        properties.lookup_property(LookupPropertyRequest(address="10 Main Street, Hoboken, NJ"))
        raise AssertionError("an address outside the city was taken")
    except city_api.ApiException as error:
        assert error.status == 400 and error.data.code == "outside_coverage", error
print("7 calls")
