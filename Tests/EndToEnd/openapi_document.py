"""Checks the OpenAPI document by itself: openapi_document.py URL.

- Every schema is valid JSON Schema (2020-12), and every reference leads somewhere.
- Every example is allowed by its schema, with formats.
- Servers, descriptions and examples are complete.
"""

import json
import sys
import urllib.request

import jsonschema_rs

url = sys.argv[1]
with urllib.request.urlopen(url + "/api/v1/openapi.json", timeout=20) as answer:
    document = json.load(answer)
faults = []
operations = [(method, path, operation) for path, item in document["paths"].items()
              for method, operation in item.items()]


def expect(holds, fault):
    if not holds:
        faults.append(fault)


def resolved(value):
    """The value of a reference inside the document; others as they are."""
    if "$ref" not in value:
        return value
    found = document
    for name in value["$ref"].removeprefix("#/").split("/"):
        found = found[name]
    return found


def check(place, schema, example):
    """An example is one of its schema, whose references are resolved in the document."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema",
             "components": document["components"]} | schema
    validator = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
    for error in validator.iter_errors(example):
        faults.append(f"{place}: {error.message[:200]} at {list(error.instance_path)}")


def missing(example):
    """Whether a text stands for one that nobody has written (Examples.swift)."""
    if isinstance(example, dict):
        return any(missing(value) for value in example.values())
    if isinstance(example, list):
        return any(missing(value) for value in example)
    return example == "…"


def contents(place, content, is_needed=True):
    for type, media in content.items():
        examples = [media["example"]] if "example" in media else [
            example["value"] for example in media.get("examples", {}).values()]
        expect(examples or not is_needed, f"{place}: no example")
        for example in examples:
            expect(not missing(example), f"{place}: a text without an example: {str(example)[:300]}")
            check(place, media["schema"], example)


expect(document["openapi"] == "3.1.0", "the version")
expect(document["servers"] and all(server["url"] for server in document["servers"]), "no servers")
names = [tag["name"] for tag in document["tags"]]
expect(len(set(names)) == len(names), "a tag twice")
ids = [operation["operationId"] for _, _, operation in operations]
expect(len(set(ids)) == len(ids), "an operationId twice")
for name, schema in document["components"]["schemas"].items():
    if not jsonschema_rs.meta.is_valid({"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema):
        faults.append(f"the schema {name} is not valid")
for status, response in document["components"]["responses"].items():
    expect(response["description"], f"the response {status} has no description")
    contents(f"response {status}", response["content"], status not in ("412", "414"))
for method, path, operation in operations:
    place = f"{method.upper()} {path}"
    expect(operation.get("summary") and operation.get("description"), f"{place}: no description")
    expect(operation["tags"][0] in names, f"{place}: an unknown tag")
    for parameter in operation["parameters"]:
        where = f"{place}: {parameter['name']}"
        expect(parameter.get("description"), f"{where} has no description")
        if "example" in parameter:
            check(where, parameter["schema"], parameter["example"])
        expect(parameter["in"] != "path" or "example" in parameter, f"{where} has no example")
        expect(f"{{{parameter['name']}}}" in path or parameter["in"] != "path", f"{where} is not in the path")
    if "requestBody" in operation:
        contents(place, operation["requestBody"]["content"])
    for status, response in operation["responses"].items():
        response = resolved(response)
        expect(response.get("description"), f"{place}: {status} has no description")
        if int(status) < 400:
            contents(f"{place}: {status}", response.get("content", {}))


def members(schema, component):
    """Members without a description; those that are another component describe themselves."""
    if isinstance(schema, list):
        for one in schema:
            members(one, component)
    if not isinstance(schema, dict):
        return
    for name, member in schema.get("properties", {}).items():
        expect("$ref" in member or member.get("description"), f"{component}.{name} has no description")
    for keyword, value in schema.items():
        members(list(value.values()) if keyword == "properties" else value, component)


for name, schema in document["components"]["schemas"].items():
    members(schema, name)
for fault in faults:
    print(fault)
print(f"{len(operations)} operations, {len(document['components']['schemas'])} schemas, {len(faults)} faults")
sys.exit(bool(faults))
