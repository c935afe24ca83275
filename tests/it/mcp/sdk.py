"""Lists and calls every tool with the Python SDK, in each mode of it: sdk.py URL KEY.

Says `half` when half of the calls are done, and goes on when it is sent a line. Ends with `done`, the calls it made, and those that shared
budgets did not answer in time: they were made again, and may have been charged.
"""

import asyncio
import json
import sys

import httpx2
import jsonschema
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

URL, KEY = sys.argv[1:]
ADDRESS = {"address": "350 5th Ave, Manhattan"}
CALLS = {
    "lookup_property": ADDRESS,
    "search_listings": {"location": "11215"},
    "get_comps": ADDRESS | {"mode": "valuation"},
    "get_rental_estimates": ADDRESS,
    "get_listing_updates": {"location": "11215"},
    "get_mortgage_rates": {},
}
MODES = ("auto", "legacy", "2026-07-28")


async def call(client, name, arguments):
    doubtful = 0
    while True:
        result = await client.call_tool(name, arguments)
        if not result.is_error or json.loads(result.content[0].text)["code"] != "quota_unavailable":
            return result, doubtful
        doubtful += 1


async def in_mode(mode, made, doubtful):
    headers = {"Authorization": f"Bearer {KEY}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == list(CALLS), list(tools)
            for name, arguments in CALLS.items():
                tool = tools[name]
                for schema in (tool.input_schema, tool.output_schema):
                    jsonschema.Draft202012Validator.check_schema(schema)
                for field, schema in tool.input_schema["properties"].items():
                    assert schema.get("description"), (name, field)
                result, more = await call(client, name, arguments)
                doubtful += more
                text = result.content[0].text
                assert not result.is_error, text
                jsonschema.validate(result.structured_content, tool.output_schema)
                assert json.loads(text) == result.structured_content, name
                made += 1
                if made == len(MODES) * len(CALLS) // 2:
                    print("half", flush=True)
                    await asyncio.to_thread(sys.stdin.readline)
            failed, more = await call(client, "get_mortgage_rates", {"loan_term_years": 20})
            doubtful += more
            assert failed.is_error, failed
            assert json.loads(failed.content[0].text)["code"] == "invalid_request"
    return made, doubtful


async def main():
    made, doubtful = 0, 0
    for mode in MODES:
        made, doubtful = await in_mode(mode, made, doubtful)
    print("done", made, doubtful, flush=True)


asyncio.run(main())
