# SPDX-License-Identifier: Apache-2.0
"""Random documents that lean towards a schema, and random spellings of them."""
import decimal
import json

class Documents:
    """Values that lean towards a schema: most keywords are followed loosely, so that many are valid and many nearly."""

    def __init__(self, rng, schemas, root):
        self.rng, self.schemas, self.root = rng, schemas, root

    def resolve(self, reference):
        found = self.root
        for part in reference.split("/")[1:]:
            found = found[part]
        return found

    def flat(self, schema, depth=0):
        """One reading of a schema as a single object: branches chosen, conjunctions put together."""
        if not isinstance(schema, dict) or depth > 6:
            return {}
        parts = [part for name in ("allOf",) for part in schema.get(name, [])]
        for name in ("anyOf", "oneOf"):
            if name in schema:
                parts.append(self.rng.choice(schema[name]))
        if "$ref" in schema:
            parts.append(self.resolve(schema["$ref"]))
        if "if" in schema:
            parts += [schema["if"], schema.get("then", {})] if self.rng.random() < 0.5 else [schema.get("else", {})]
        if "dependentSchemas" in schema and self.rng.random() < 0.5:
            parts.append(self.rng.choice(list(schema["dependentSchemas"].values())))
        merged = dict(schema)
        for part in parts:
            for name, value in self.flat(part, depth + 1).items():
                if name == "properties" and name in merged:
                    merged[name] = {**value, **merged[name]}
                elif name == "required" and name in merged:
                    merged[name] = merged[name] + value
                else:
                    merged.setdefault(name, value)
        return merged

    def value(self, schema, depth=4):
        rng = self.rng
        flat = self.flat(schema)
        if rng.random() < 0.06:
            return self.schemas.value(2)
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return rng.choice(flat["enum"])
        kind = flat.get("type") or self.kind(flat)
        if isinstance(kind, list):
            kind = rng.choice(kind) if kind else "null"
        if kind == "array":
            return self.array(flat, depth)
        if kind == "object":
            return self.object(flat, depth)
        if kind in ("number", "integer"):
            return self.number(flat, kind)
        if kind == "string":
            return rng.choice(self.schemas.profile.strings)
        return rng.choice([True, False]) if kind == "boolean" else None

    def kind(self, flat):
        kinds = []
        if any(name in flat for name in ("items", "prefixItems", "contains", "minItems", "uniqueItems")):
            kinds += ["array"] * 3
        if any(name in flat for name in ("properties", "required", "propertyNames", "patternProperties",
                                         "additionalProperties")):
            kinds += ["object"] * 4
        if any(name in flat for name in ("pattern", "minLength", "maxLength")):
            kinds += ["string"] * 3
        if any(name in flat for name in ("multipleOf", "minimum", "maximum")):
            kinds += ["number"] * 3
        return self.rng.choice(kinds + ["array", "object", "string", "number", "boolean", "null"])

    def number(self, flat, kind):
        rng = self.rng
        found = rng.choice(self.schemas.profile.numbers)
        if rng.random() < 0.5:
            step = flat.get("multipleOf", 1 if kind == "integer" else decimal.Decimal("0.5"))
            base = rng.choice([flat.get(name, 0) for name in ("minimum", "maximum", "exclusiveMinimum")])
            found = (decimal.Decimal(base) // decimal.Decimal(step) + rng.randint(-1, 2)) * decimal.Decimal(step)
        return found

    def array(self, flat, depth):
        rng = self.rng
        if depth <= 0:
            return []
        first = flat.get("prefixItems") or (flat["items"] if isinstance(flat.get("items"), list) else [])
        rest = flat.get("items") if not isinstance(flat.get("items"), list) else flat.get("additionalItems", {})
        count = rng.randint(0, 4) if rng.random() < 0.5 else max(flat.get("minItems", 1), flat.get("minContains", 1))
        items = [self.value(first[i] if i < len(first) else rest, depth - 1) for i in range(count)]
        if "contains" in flat:
            for _ in range(rng.randint(0, 2)):
                if items:
                    items[rng.randrange(len(items))] = self.value(flat["contains"], depth - 1)
        if items and rng.random() < 0.15:
            items.append(rng.choice(items))
        return items

    def object(self, flat, depth):
        rng = self.rng
        if depth <= 0:
            return {}
        properties = flat.get("properties", {})
        keys = [key for key in flat.get("required", []) if rng.random() < 0.9]
        keys += [key for key in properties if rng.random() < 0.6]
        for trigger, wanted in flat.get("dependentRequired", {}).items():
            if trigger in keys and rng.random() < 0.8:
                keys += wanted
        if rng.random() < 0.5:
            keys += self.schemas.some(self.schemas.profile.keys, 0, 2)
        rng.shuffle(keys)
        others = list(flat.get("patternProperties", {}).values()) + [flat.get("additionalProperties", {})]
        parts = {key: properties[key] if key in properties else rng.choice(others) for key in keys}
        return {key: self.value(part, depth - 1) for key, part in parts.items()}

    def mutated(self, value):
        """The value with one thing changed."""
        rng = self.rng
        if isinstance(value, list) and value and rng.random() < 0.8:
            value = list(value)
            at = rng.randrange(len(value))
            how = rng.randrange(3)
            if how == 0:
                del value[at]
            elif how == 1:
                value[at] = self.mutated(value[at])
            else:
                value.insert(at, self.schemas.value(1))
            return value
        if isinstance(value, dict) and value and rng.random() < 0.8:
            value = dict(value)
            key = rng.choice(list(value))
            how = rng.randrange(3)
            if how == 0:
                del value[key]
            elif how == 1:
                value[key] = self.mutated(value[key])
            else:
                value[rng.choice(self.schemas.profile.keys)] = self.schemas.value(1)
            return value
        return self.schemas.value(2)


# ---- spellings ----


class Spelling:
    """Random spellings of a value: escapes, numbers written differently, white space, now and then a key twice."""

    def __init__(self, rng, spaces=0.1):
        self.rng, self.spaces = rng, spaces

    def space(self):
        return self.rng.choice([" ", "\n", "\t ", "  "]) if self.rng.random() < self.spaces else ""

    def string(self, value):
        out = []
        for letter in value:
            if self.rng.random() < 0.08:
                units = letter.encode("utf-16-be")
                out += [f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2)]
            elif letter in "\"\\" or ord(letter) < 32:
                out.append(json.dumps(letter)[1:-1])
            elif letter == "/" and self.rng.random() < 0.5:
                out.append("\\/")
            else:
                out.append(letter)
        return "\"" + "".join(out) + "\""

    def number(self, value):
        value = decimal.Decimal(value)
        how = self.rng.randrange(8)
        negative, digits, exponent = value.as_tuple()
        sign, text = "-" if negative else "", "".join(map(str, digits))
        if how < 3 or abs(exponent) > 40:
            plain = format(value, "f") if abs(exponent) <= 40 else str(value)
            return plain
        if how == 3:
            plain = format(value, "f")
            return plain + ("0" if "." in plain else ".0")
        if how == 4:
            return sign + text + self.rng.choice("eE") + str(exponent)
        if how == 5:
            return sign + text + "0e" + str(exponent - 1)
        if how == 6:
            point = exponent + len(text)
            return sign + "0." + text + "e" + ("+" if point >= 0 and self.rng.random() < 0.5 else "") + str(point)
        return sign + text[0] + ("." + text[1:] if text[1:] else "") + "e" + str(exponent + len(text) - 1)

    def value(self, value):
        space = self.space
        if isinstance(value, bool) or value is None:
            return json.dumps(value)
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, list):
            return "[" + space() + ",".join(space() + self.value(item) + space() for item in value) + "]"
        if isinstance(value, dict):
            members = [space() + self.string(key) + space() + ":" + space() + self.value(item)
                       for key, item in value.items()]
            if members and self.rng.random() < 0.02:
                members.append(self.rng.choice(members))
            return "{" + space() + ",".join(members) + space() + "}"
        return self.number(value)
