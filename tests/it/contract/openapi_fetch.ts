// Each operation through openapi-fetch, with the types that openapi-typescript makes of the document: what is not typed does not compile.

import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [url, key] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });

function must<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`);
  return value;
}

function same<T>(got: T, wanted: T): void {
  if (got !== wanted) throw new Error(`${got} instead of ${wanted}`);
}

const report = await client.POST("/v1/lookup", { body: { address: "350 5th Ave, Manhattan" } });
const data = must(report.data, "the report").data;
same(data.bbl, "1008350041");
const violations: components["schemas"]["NycEcbData"] = must(data.sources.nyc_ecb.data, "the violations");
const total: number = must(violations.ecb_total_violations, "the count");
same(total, violations.record_count);
const issued: string = must(violations.records[0]?.issue_date, "the date");
same(issued.length, 8);

const found = await client.POST("/v1/search", { body: { location: "Manhattan", sort: "price_asc" } });
same(must(found.data, "the listings").meta.operation, "searchListings");
const comps = await client.POST("/v1/comps", { body: { address: "1000477501", mode: "valuation" } });
const value: number = must(must(comps.data, "the sales").data.valuation?.value, "the value");
if (value <= 0) throw new Error("a value of nothing");
const rentals = await client.POST("/v1/rentals", { body: { address: "1000477501" } });
if (![200, 502].includes(rentals.response.status)) throw new Error(`status ${rentals.response.status}`);
const updates = await client.POST("/v1/updates", { body: { location: "Manhattan" } });
same(must(updates.data, "the digest").data.truncated, false);
const rates = await client.POST("/v1/rates", { body: { home_price: 900000, down_payment: 180000 } });
same(must(rates.data, "the rates").data.scenario.ltv_percent, 80);
const usage = await client.GET("/v1/usage");
if (must(usage.data, "the usage").data.day.used < 19) throw new Error("units are missing");

const failure = await client.POST("/v1/lookup", { body: { address: "10 Main Street, Hoboken, NJ" } });
const code: components["schemas"]["ErrorCode"] = must(failure.error, "the failure").code;
same(code, "outside_coverage");
console.log("7 calls");
