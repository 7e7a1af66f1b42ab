# SPDX-License-Identifier: Apache-2.0
"""Small languages: a vocabulary, every JSON text of a few letters up to a length, and hand-made schemas."""
import collections
import decimal
import os

import schema_cases as cases

D = decimal.Decimal
TINY = cases.Profile(
    keys=["a", "b", "c"], strings=["", "a", "b", "ab", "aa", "ba"],
    patterns=["^a", "a$", "b", "^a*$", "^(a|bb)$", "a.?b", "^[ab]{1,2}$", "[^a]", "^$", "^(?!a)", "^b?a$"],
    key_patterns=["^a", "b$", "[ab]", "^.$", "[^a]"],
    numbers=[0, 1, 5, 10, D("0.5"), -1, D("1.5"), 15], bounds=[0, 1, 5, D("0.5"), -1, 10, D("1.5")],
    multiples=[1, 5, D("0.5"), D("1.5"), 2], counts=[0, 1, 1, 2, 2, 3], lengths=[0, 1, 1, 2, 3], depth=2)

# Tokens that straddle what a schema speaks of.
PIECES = ["true", "false", "null", "\":", "\",", "{\"a\"", "1,", "]}", "},", "[]", "{}", ",\"", "0,1", "\"a\"", "ab",
          "aa", "\":1", "\"a\":", "[1", "[[", "]]", "{\"", "\"}", "10", "1.5", ".5", ".0", "-1", "e1", "\":[", "[{",
          "}]", "\"b\":0", "\"]", "[\"", "\\u00", "61", "\"}}", ",\"b", "1}", "a\""]
END, SPECIAL, EMPTY = 256, 257, 258
TOKENS = [bytes([byte]) for byte in range(256)] + [b"</s>", b"<tool>", b""] + [piece.encode() for piece in PIECES]


def vocabulary():
    return {"vocabulary": [token.decode("latin-1") for token in TOKENS], "end": [END], "special": [SPECIAL]}


BY_FIRST = collections.defaultdict(list)
for _id, _token in enumerate(TOKENS):
    if _token and _id not in (END, SPECIAL):
        BY_FIRST[_token[0]].append(_id)


class Texts:
    """Every JSON text of some letters, by length; strings and numbers have lengths of their own."""

    def __init__(self, longest, digits="", string="", most_digits=2, most_letters=2, brackets=False, braces=False,
                 literals=()):
        self.most_digits, self.most_letters = most_digits, most_letters
        self.digits, self.letters, self.brackets, self.braces = digits, string, brackets, braces
        self.values = {n: [text for text in literals if len(text) == n] for n in range(longest + 1)}
        self.rows, self.members = collections.defaultdict(list), collections.defaultdict(list)
        self.numbers, self.strings = self.words(digits, most_digits), self.words(string, most_letters)
        for n in range(1, longest + 1):
            self.grow(n)
        self.texts = [text for n in range(longest + 1) for text in self.values[n]]

    @staticmethod
    def words(letters, most):
        found = {0: [""]}
        for n in range(1, most + 1):
            found[n] = [word + letter for word in found[n - 1] for letter in letters]
        return found

    def grow(self, n):
        """What is n letters long."""
        here = self.values[n]
        for word in self.numbers.get(n, []) if self.digits else []:
            try:
                cases.read(word)
                here.append(word)
            except cases.NotJson:
                pass
        for word in self.strings.get(n - 2, []) if self.letters else []:
            try:
                cases.read(f'"{word}"')
                here.append(f'"{word}"')
            except cases.NotJson:
                pass
        if self.brackets and n >= 2:
            here += ["[" + row + "]" for row in ([""] if n == 2 else self.rows[n - 2])]
        if self.braces and n >= 2:
            here += ["{" + row + "}" for row in ([""] if n == 2 else self.members[n - 2])]
        self.rows[n] = here + [a + "," + b for i in range(1, n - 1) for a in self.values[i]
                               for b in self.rows[n - 1 - i]]
        if self.braces:
            keys = {k: [f'"{word}"' for word in self.strings.get(k - 2, [])] for k in range(2, n)}
            single = {m: [key + ":" + value for k in keys for key in keys[k] if 0 < m - 1 - k <= n
                          for value in self.values[m - 1 - k]] for m in range(4, n + 1)}
            self.members[n] = single.get(n, []) + [a + "," + b for i in range(4, n - 1) for a in single.get(i, [])
                                                   for b in self.members[n - 1 - i]]


UNIVERSES = {
    "number": Texts(5, digits="015-.e", most_digits=5),
    "string": Texts(8, string="ab", most_letters=6),
    "escape": Texts(8, string="a\\u061", most_letters=6),
    "array": Texts(9, digits="01", most_digits=1, string="a", most_letters=1, brackets=True, literals=("true", "null")),
    "object": Texts(15, digits="01", most_digits=1, string="ab", most_letters=1, braces=True),
    "nested": Texts(11, digits="1", most_digits=1, string="a", most_letters=1, braces=True, brackets=True),
    "mixed": Texts(8, digits="015.-", most_digits=3, string="ab", most_letters=2, brackets=True, braces=True,
                   literals=("true", "false", "null")),
}
LETTERS = {
    "number": "015-.e", "string": "\"ab", "escape": "\"ab\\u061", "array": "[],01\"a", "object": "{}\":,ab01",
    "nested": "{}[]\":,a1", "mixed": "{}[]\":,ab01-.",
}


def letters(kinds):
    """The tokens that are spelt with the letters of the kinds, and the literals."""
    allowed = set("".join(LETTERS[kind] for kind in kinds).encode())
    words = {b"true", b"null", b"false"} if {"array", "mixed"} & set(kinds) else set()
    return [i for i, token in enumerate(TOKENS)
            if token and i not in (END, SPECIAL) and (set(token) <= allowed or token in words)]


def tokenise(text, how, rng):
    """Tokens of a text: "longest", "bytes" or "random" pieces of the vocabulary."""
    found, at = [], 0
    while at < len(text):
        fitting = [i for i in BY_FIRST[text[at]] if text.startswith(TOKENS[i], at)]
        if how == "longest":
            token = max(fitting, key=lambda i: len(TOKENS[i]))
        else:
            token = text[at] if how == "bytes" else rng.choice(fitting)
        found.append(token)
        at += len(TOKENS[token])
    return found


def kinds_of(schema):
    """The universes that say something about a schema."""
    text = cases.write(schema)
    kinds = ["mixed"]
    if any(name in text for name in ("minimum", "maximum", "xclusive", "multipleOf", "\"integer\"", "\"number\"")):
        kinds.append("number")
    if any(name in text for name in ("pattern\"", "Length", "\"string\"")):
        kinds.append("string")
    if any(name in text for name in ("tems\"", "ontains\"", "\"array\"")):
        kinds.append("array")
    if any(name in text for name in ("ropert", "required\"", "dependent", "\"object\"")):
        kinds.append("object")
        if "array" in kinds:
            kinds.append("nested")
    return kinds


def hand_made():
    """(schema, draft) of the hand-made schemas, which are hard for one reason or another."""
    with open(os.path.join(cases.HERE, "schemas.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            schema = cases.read(line)
            draft = "7" if isinstance(schema, dict) and schema.get("$schema") == cases.DIALECTS["7"] else "2020-12"
            if isinstance(schema, dict) and draft != "7":
                schema = {"$schema": cases.DIALECTS[draft], **schema}
            yield schema, draft


class Conditions:
    """Conjunctions of small conditions on a few properties: what is chosen by one says something to the others."""

    LEAVES = [{"const": 0}, {"const": "a"}, {"enum": [0, "a"]}, {"enum": [0, 1, "b"]}, {"type": "integer"},
              {"type": "string"}, {"type": ["string", "integer"]}, {"minimum": 1}, {"maxLength": 1},
              {"not": {"const": 0}}, {"type": "string", "pattern": "^a"}, {"type": "object", "maxProperties": 0},
              {"type": "array", "maxItems": 0}, True]

    def __init__(self, rng):
        self.rng, self.names = rng, []

    def name(self):
        return self.rng.choice(self.names)

    def effect(self, depth):
        """What a branch says."""
        rng = self.rng
        kind = rng.random()
        if depth > 0 and kind < 0.2:
            return self.condition(depth - 1)
        schema = {}
        if kind < 0.75:
            schema["properties"] = {self.name(): rng.choice(self.LEAVES + [False])
                                    for _ in range(rng.choice([1, 1, 2]))}
        if kind > 0.6 or rng.random() < 0.4:
            schema["required"] = sorted({self.name() for _ in range(rng.choice([1, 1, 2]))})
        if rng.random() < 0.12:
            schema["properties"] = {**schema.get("properties", {}), self.name(): True}
            schema["additionalProperties"] = rng.choice([False, {"type": "integer"}])
        if rng.random() < 0.04:
            schema[rng.choice(["minProperties", "maxProperties"])] = rng.choice([1, 2])
        if rng.random() < 0.04:
            schema["patternProperties"] = {rng.choice(["^a", "[ab]"]): rng.choice(self.LEAVES)}
        return schema

    def condition(self, depth=1):
        rng = self.rng
        kind = rng.choice(["if", "if", "if", "oneOf", "anyOf", "anyOf", "required", "schemas", "not"])
        if kind == "if":
            name = self.name()
            schema = {"if": {"properties": {name: rng.choice(self.LEAVES)}}}
            if rng.random() < 0.6:
                schema["if"]["required"] = [name]
            for branch in rng.choice([["then"], ["then"], ["else"], ["then", "else"]]):
                schema[branch] = self.effect(depth)
            return schema
        if kind in ("oneOf", "anyOf"):
            return {kind: [self.effect(depth) for _ in range(rng.choice([2, 2, 3]))]}
        if kind == "required":
            return {"dependentRequired": {self.name(): [self.name()] for _ in range(2)}}
        if kind == "schemas":
            return {"dependentSchemas": {self.name(): self.effect(depth)}}
        return {"not": self.effect(0)}

    def root(self):
        rng = self.rng
        self.names = rng.sample(["a", "b", "c", "d"], rng.choice([3, 3, 4]))
        schema = {"$schema": cases.DIALECTS["2020-12"], "type": "object"}
        schema["allOf"] = [self.condition() for _ in range(rng.choice([2, 3, 3, 4, 5]))]
        schema["properties"] = {name: rng.choice(self.LEAVES) for name in self.names if rng.random() < 0.6}
        if rng.random() < 0.3:
            schema["required"] = [self.name()]
        # Closed, and what may be anything is a number: a completion of more may take long to find.
        schema["properties"] = {**{name: {"enum": [0, 1, "a"]} for name in self.names}, **schema["properties"]}
        schema["additionalProperties"] = False
        if rng.random() < 0.2:
            some = {"type": "array", "items": schema, "maxItems": 1}
            return {"$schema": schema.pop("$schema"), "anyOf": [schema, some]}
        return schema
