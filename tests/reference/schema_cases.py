# SPDX-License-Identifier: Apache-2.0
"""Random JSON Schemas over every keyword, and a validator to judge documents: the jsonschema package, with exact
numbers.

A profile says what the leaves are: `TINY` keeps languages small enough to be enumerated, `RICH` is for documents.
"""
import decimal
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DIALECTS = {"2020-12": "https://json-schema.org/draft/2020-12/schema", "7": "http://json-schema.org/draft-07/schema#"}


def validator_path():
    source = os.environ.get("TOMBOLA_SOURCE", os.path.dirname(os.path.dirname(HERE)))
    command = [os.path.join(source, "scripts", "json-schema")]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return os.path.join(found.stdout.strip(), "python")


sys.path.insert(0, validator_path())
sys.dont_write_bytecode = True
import jsonschema  # noqa: E402  pylint: disable=wrong-import-position
from jsonschema import _utils  # noqa: E402  pylint: disable=wrong-import-position

# ---- texts and values; numbers are exact ----

decimal.setcontext(decimal.Context(prec=3000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN))


class NotJson(Exception):
    """A text that isn't JSON, or that has a duplicate key, or a lone surrogate."""


def _pairs(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise NotJson("duplicate key")
    for key in members:
        key.encode("utf-8")
    return members


def _refuse(text):
    raise NotJson(text)


def _decimal(text):
    """The number; an exponent beyond what decimal holds is as good as one just within it."""
    mantissa, _, exponent = text.lower().partition("e")
    return decimal.Decimal(f"{mantissa}e{max(-10**15, min(10**15, int(exponent or '0')))}")


def _surrogates(value):
    if isinstance(value, str):
        value.encode("utf-8")
    elif isinstance(value, list):
        for item in value:
            _surrogates(item)
    elif isinstance(value, dict):
        for item in value.values():
            _surrogates(item)


def read(text):
    """The value of a JSON text; NotJson."""
    try:
        value = json.loads(text, parse_float=_decimal, parse_constant=_refuse, object_pairs_hook=_pairs)
        _surrogates(value)
        return value
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from error




def write(value):
    """A JSON text of a value, shortest spelling, no white space."""
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(key) + ":" + write(item) for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(write, value)) + "]"
    return str(value) if isinstance(value, decimal.Decimal) else json.dumps(value)


# ---- the validator ----


def _is_integer(_, value):
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or isinstance(value, decimal.Decimal) and _parts(value)[1] >= 0


def _parts(number):
    """(m, e) with number = m * 10^e and no zero at m's end."""
    sign, digits, exponent = decimal.Decimal(number).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    return (-1 if sign else 1) * int(text or "0"), exponent + len(digits) - len(text) if text else 0


def is_multiple(value, step):
    (m, e), (n, f) = _parts(value), _parts(step)
    if e >= f:
        return m * pow(10, e - f, n) % n == 0
    return m == 0 or f - e <= len(str(m)) and m % (n * 10 ** (f - e)) == 0


def _multiple_of(_, step, value, __):
    if isinstance(value, (int, decimal.Decimal)) and not isinstance(value, bool) and not is_multiple(value, step):
        yield jsonschema.ValidationError("not a multiple")


def _unique_items(_, on, value, __):
    """The package compares neighbours of a sorted list, which misses [[1], [true], [1]]; here all pairs."""
    if on and isinstance(value, list):
        if any(_utils.equal(a, b) for i, a in enumerate(value) for b in value[:i]):
            yield jsonschema.ValidationError("not unique")


def _extend(base):
    return jsonschema.validators.extend(base, {"multipleOf": _multiple_of, "uniqueItems": _unique_items},
                                        type_checker=base.TYPE_CHECKER.redefine("integer", _is_integer))


VALIDATORS = {"2020-12": _extend(jsonschema.Draft202012Validator), "7": _extend(jsonschema.Draft7Validator)}


def judge(schema, draft="2020-12"):
    """A function that tells whether a JSON text is valid."""
    if isinstance(schema, dict):  # a `$ref` to what names its dialect would be judged by the package's own class
        schema = {name: part for name, part in schema.items() if name != "$schema"}
    validator = VALIDATORS[draft](schema)

    def valid(text):
        try:
            return validator.is_valid(read(text))
        except NotJson:
            return False
    return valid


# ---- random schemas ----


class Profile:
    """What leaves are made of."""

    def __init__(self, **kinds):
        self.__dict__.update(kinds)


D = decimal.Decimal
RICH = Profile(
    keys=["a", "b", "c", "ab", "ba", "foo", "bar", "", "é"],
    strings=["", "a", "b", "ab", "aab", "foo", "bar", "foobar", "x1", "12", "é", "😀", "a\"b", "\\", "a b",
             "aaaaaaaa"],
    patterns=["^a", "a$", "b", "^[ab]*$", "^(a|bb)+$", "a.b", "^a{1,2}$", "[^a]", "^$", "^(?!a)", "[0-9]", "^.{2}$",
              "foo",  "^(foo|ba?r)$", "o{2}", "^a?b?$", "^(?=.*b)a", "^\\d+$"],
    key_patterns=["^a", "a$", "b", "^[ab]*$", "o", "^.$", "^(foo|bar)$", "[^a]"],
    numbers=[0, 1, 2, 3, 5, 10, -1, -2, 7, 100, D("0.5"), D("1.5"), D("-0.5"), D("2.25"), D("0.1"), D("1e3"), D("1e-2"),
             12345678901234567890, D("0.30000000000000001")],
    bounds=[0, 1, 2, 3, 5, 10, -1, D("0.5"), D("1.5"), D("-0.5"), D("1e2"), D("0.1"), D("-3.75")],
    multiples=[1, 2, 3, 5, D("0.5"), D("0.25"), D("0.1"), D("1.5"), D("0.01"), 10, D("1e2"), 7],
    counts=[0, 1, 1, 2, 2, 3], lengths=[0, 1, 2, 2, 3, 5], depth=3)


class Schemas:
    """Random schemas of one draft."""

    def __init__(self, rng, profile, draft="2020-12"):
        self.rng, self.profile, self.draft = rng, profile, draft
        self.names, self.in_place = [], 0

    def maybe(self, chance):
        return self.rng.random() < chance

    def pick(self, values):
        return self.rng.choice(values)

    def some(self, values, low, high):
        return self.rng.sample(values, min(len(values), self.rng.randint(low, high)))

    def root(self):
        schema = None
        while not isinstance(schema, dict):
            names = self.some(["A", "B"], 0, 2) if self.maybe(0.25) else []
            defs, self.names = {}, names
            for i, name in enumerate(names):
                self.in_place = i
                defs[name] = self.schema(self.profile.depth - 1)
            self.in_place = len(names)
            schema = self.schema(self.profile.depth)
        if defs:
            schema["$defs" if self.draft != "7" else "definitions"] = defs
        return {"$schema": DIALECTS[self.draft], **schema}

    def below(self, depth):
        """A schema for a part of the value: there every name may be used, and the root."""
        held, self.in_place = self.in_place, len(self.names) + 1
        schema = self.schema(depth - 1)
        self.in_place = held
        return schema

    def reference(self):
        where = "#/$defs/" if self.draft != "7" else "#/definitions/"
        names = [where + name for name in self.names[:self.in_place]] + ["#"] * (self.in_place > len(self.names))
        return {"$ref": self.pick(names)} if names else None

    def schema(self, depth):
        if self.maybe(0.05):
            return self.maybe(0.6)
        if self.names and self.maybe(0.2):
            found = self.reference()
            if found and (self.draft == "7" or self.maybe(0.7)):
                return found
            if found:
                return {**self.leaf(), **found}
        if depth <= 0 or self.maybe(0.3):
            return self.leaf()
        kinds = self.some([self.array, self.object, self.object, self.combined, self.combined, self.scalar], 1, 2)
        schema = {}
        for kind in kinds:
            schema.update(kind(depth))
        if self.maybe(0.4) and "type" not in schema:
            schema["type"] = self.type_for(schema)
        if self.maybe(0.06):
            schema["enum"] = [self.value(1) for _ in range(self.rng.randint(1, 4))]
        return schema

    def type_for(self, schema):
        if self.maybe(0.15):
            return self.some(["array", "object", "string", "number", "integer", "boolean", "null"], 1, 4)
        if any(name in schema for name in ("items", "prefixItems", "contains", "uniqueItems")):
            return "array"
        if any(name in schema for name in ("properties", "required", "propertyNames", "additionalProperties")):
            return "object"
        return self.pick(["array", "object", "string", "number", "integer"])

    def value(self, depth):
        """Any value of the profile."""
        kind = self.rng.randrange(10)
        if kind < 2:
            return self.pick([True, False, None])
        if kind < 5:
            return self.pick(self.profile.numbers)
        if kind < 8 or depth <= 0:
            return self.pick(self.profile.strings)
        if kind == 8:
            return [self.value(depth - 1) for _ in range(self.rng.randint(0, 3))]
        return {key: self.value(depth - 1) for key in self.some(self.profile.keys, 0, 3)}

    def leaf(self):
        kind = self.rng.randrange(8)
        if kind == 0:
            return {"const": self.value(1)}
        if kind == 1:
            return {"enum": [self.value(1) for _ in range(self.rng.randint(1, 4))]}
        if kind == 2:
            return {"type": self.pick(["array", "object", "string", "number", "integer", "boolean", "null"])}
        return self.scalar(0)

    def scalar(self, _):
        if self.maybe(0.5):
            return self.string()
        return self.number()

    def string(self):
        schema = {"type": "string"} if self.maybe(0.6) else {}
        if self.maybe(0.4):
            schema["minLength"] = self.pick(self.profile.lengths)
        if self.maybe(0.4):
            schema["maxLength"] = self.pick(self.profile.lengths)
        if self.maybe(0.5):
            schema["pattern"] = self.pick(self.profile.patterns)
        return schema

    def number(self):
        schema = {"type": self.pick(["number", "integer"])} if self.maybe(0.7) else {}
        for name in self.some(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], 0, 3):
            schema[name] = self.pick(self.profile.bounds)
        if self.maybe(0.3):
            schema["multipleOf"] = self.pick(self.profile.multiples)
        return schema

    def array(self, depth):
        schema = {"type": "array"} if self.maybe(0.5) else {}
        if self.draft == "7":
            if self.maybe(0.3):
                schema["items"] = self.below(depth)
            elif self.maybe(0.6):
                schema["items"] = [self.below(depth) for _ in range(self.rng.randint(1, 3))]
                if self.maybe(0.6):
                    schema["additionalItems"] = self.below(depth)
        else:
            if self.maybe(0.4):
                schema["prefixItems"] = [self.below(depth) for _ in range(self.rng.randint(1, 3))]
            if self.maybe(0.5):
                schema["items"] = self.below(depth)
        if self.maybe(0.35):
            schema["contains"] = self.below(depth)
            for name in ("minContains", "maxContains"):
                if self.draft != "7" and self.maybe(0.4):
                    schema[name] = self.pick(self.profile.counts)
        if self.maybe(0.3):
            schema["minItems"] = self.pick(self.profile.counts)
        if self.maybe(0.3):
            schema["maxItems"] = self.pick(self.profile.counts)
        if self.maybe(0.2):
            schema["uniqueItems"] = self.maybe(0.9)
        if self.draft != "7" and self.maybe(0.15):
            schema["unevaluatedItems"] = self.below(depth)
        return schema

    def object(self, depth):
        schema = {"type": "object"} if self.maybe(0.5) else {}
        keys = self.profile.keys
        if self.maybe(0.7):
            schema["properties"] = {key: self.below(depth) for key in self.some(keys, 1, 3)}
        if self.maybe(0.35):
            schema["required"] = self.some(list(schema.get("properties", {})) if self.maybe(0.5) else keys, 0, 2)
        if self.maybe(0.3):
            schema["patternProperties"] = {pattern: self.below(depth)
                                           for pattern in self.some(self.profile.key_patterns, 1, 2)}
        if self.maybe(0.35):
            schema["additionalProperties"] = self.below(depth)
        if self.maybe(0.15):
            schema["propertyNames"] = self.pick([self.string(), {"enum": self.some(keys, 1, 3)}, self.leaf()])
        if self.maybe(0.2):
            schema["minProperties"] = self.pick(self.profile.counts)
        if self.maybe(0.2):
            schema["maxProperties"] = self.pick(self.profile.counts)
        self.dependent(schema, depth)
        if self.draft != "7" and self.maybe(0.15):
            schema["unevaluatedProperties"] = self.below(depth)
        return schema

    def dependent(self, schema, depth):
        keys = self.profile.keys
        if self.maybe(0.15):
            wanted = {key: self.some(keys, 0, 2) for key in self.some(keys, 1, 2)}
            schema["dependencies" if self.draft == "7" else "dependentRequired"] = wanted
        if self.maybe(0.15):
            name = "dependencies" if self.draft == "7" else "dependentSchemas"
            schema[name] = {**schema.get(name, {}), **{key: self.schema(depth - 1) for key in self.some(keys, 1, 2)}}

    def combined(self, depth):
        schema = {}
        for name in self.some(["anyOf", "oneOf", "allOf", "not", "if"], 1, 2):
            if name == "not":
                schema["not"] = self.schema(depth - 1)
            elif name == "if":
                schema["if"] = self.schema(depth - 1)
                for part in self.some(["then", "else"], 1, 2):
                    schema[part] = self.schema(depth - 1)
            else:
                schema[name] = [self.schema(depth - 1) for _ in range(self.rng.randint(1, 3))]
        return schema
