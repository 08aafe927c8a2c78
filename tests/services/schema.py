# SPDX-License-Identifier: MIT
"""The part of JSON Schema and OpenAPI that our descriptions use."""

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
KNOWN = {
    "$ref", "type", "enum", "properties", "required", "additionalProperties", "items", "default",
    "description", "title", "minimum", "maximum", "minLength", "maxLength", "maxItems", "minItems",
    "pattern",
}  # fmt: skip


def is_type(value, name):
    if isinstance(value, bool) and name in ("integer", "number"):
        return False
    return isinstance(value, TYPES[name])


def check(value, schema, root, where="$"):
    """Raises an AssertionError if `value` violates the schema."""
    unknown = set(schema) - KNOWN
    assert not unknown, f"{where}: the validator does not know {unknown}"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        check(value, target, root, where)
        return
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds:
        assert any(is_type(value, k) for k in kinds), f"{where}: {value!r} is not of {kinds}"
    if "enum" in schema:
        assert value in schema["enum"], f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert value >= schema.get("minimum", value), f"{where}: {value} is too small"
        assert value <= schema.get("maximum", value), f"{where}: {value} is too large"
    if isinstance(value, dict):
        check_object(value, schema, root, where)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            check(item, schema["items"], root, f"{where}[{i}]")


def check_object(value, schema, root, where):
    members = schema.get("properties", {})
    for name in schema.get("required", []):
        assert name in value, f"{where}: there is no {name}"
    for name, member in value.items():
        if name in members:
            check(member, members[name], root, f"{where}.{name}")
        else:
            assert schema.get("additionalProperties", True), f"{where}: {name} is not described"
