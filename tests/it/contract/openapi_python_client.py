"""Each operation through the client that openapi-python-client generates, with typed answers."""

import sys

from city import AuthenticatedClient, Client
from city.api.account import get_usage
from city.api.listings import get_listing_updates, search_listings
from city.api.market import get_comps, get_mortgage_rates, get_rental_estimates
from city.api.properties import lookup_property
from city.api.service import get_version
from city.models import (
    ErrorBody,
    ErrorCode,
    GetCompsRequest,
    GetCompsRequestMode,
    GetListingUpdatesRequest,
    GetMortgageRatesRequest,
    GetRentalEstimatesRequest,
    LookupPropertyRequest,
    SearchListingsRequest,
    SourceStatus,
)

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key, timeout=60.0)

report = lookup_property.sync(client=client, body=LookupPropertyRequest(address="350 5th Ave, Manhattan"))
assert report.data.bbl == "1008350041", report
assert report.meta.units_charged == 10
assert report.data.sources.nyc_ecb.status == SourceStatus.OK
violations = report.data.sources.nyc_ecb.data
assert violations.ecb_total_violations == violations.record_count
assert len(violations.records[0].issue_date) == 8

listings = search_listings.sync(client=client, body=SearchListingsRequest(location="Manhattan"))
assert listings.meta.operation.value == "searchListings", listings
comps = get_comps.sync(client=client, body=GetCompsRequest(address="1000477501", mode=GetCompsRequestMode.VALUATION))
assert comps.data.valuation.value > 0, comps
rentals = get_rental_estimates.sync_detailed(client=client, body=GetRentalEstimatesRequest(address="1000477501"))
assert rentals.status_code in (200, 502), rentals
updates = get_listing_updates.sync(client=client, body=GetListingUpdatesRequest(location="Manhattan"))
assert updates.data.truncated is False, updates
rates = get_mortgage_rates.sync(client=client, body=GetMortgageRatesRequest(home_price=900000, down_payment=180000))
assert rates.data.scenario.ltv_percent == 80, rates
usage = get_usage.sync(client=client)
assert usage.data.day.used >= 19, usage

failure = lookup_property.sync(client=client, body=LookupPropertyRequest(address="10 Main Street, Hoboken, NJ"))
assert isinstance(failure, ErrorBody) and failure.code == ErrorCode.OUTSIDE_COVERAGE, failure
assert get_version.sync(client=Client(base_url=url)).sample is True
print("7 calls")
