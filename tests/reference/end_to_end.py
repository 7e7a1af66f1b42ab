# SPDX-License-Identifier: Apache-2.0
"""Answers of the default model under thirty schemas: each parses strictly and is valid to an independent validator
(jsonschema), or is the beginning of such a one where the limit cut it, which must be rare. Greedy and sampled, with
penalties, with drafts from the text. `TOMBOLA_TEST_LONG=1`: ten answers a schema."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = os.environ["TOMBOLA_PROGRAM"], os.environ["TOMBOLA_SOURCE"]
LONG = os.environ.get("TOMBOLA_TEST_LONG") == "1"
MODEL = "SmolLM2-135M-Instruct.Q4_1"
MOST_TOKENS = 150


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def find_model():
    listed = subprocess.run([PROGRAM, "models", "--json"], stdout=subprocess.PIPE)
    for model in json.loads(listed.stdout) if listed.returncode == 0 else []:
        if model["name"] == MODEL:
            return model["path"]
    return skip("the default model is not in the cache")


def validators():
    folder = subprocess.run(["sh", os.path.join(SOURCE, "scripts", "json-schema")], stdout=subprocess.PIPE)
    if folder.returncode != 0:
        skip("the validator is not there (scripts/json-schema)")
    sys.path.insert(0, os.path.join(folder.stdout.decode().strip(), "python"))
    import jsonschema
    return jsonschema


def text(most=24, least=1, **more):
    return {"type": "string", "minLength": least, "maxLength": most, **more}


def whole(least, most):
    return {"type": "integer", "minimum": least, "maximum": most}


def listed(item, least, most, **more):
    return {"type": "array", "items": item, "minItems": least, "maxItems": most, **more}


def closed(required=None, **properties):
    return {"type": "object", "properties": properties, "additionalProperties": False,
            "required": sorted(properties) if required is None else required}


TREE = {"$ref": "#/$defs/node", "$defs": {"node": closed(
    ["name"], name=text(12), children=listed({"$ref": "#/$defs/leaf"}, 0, 2)), "leaf": closed(name=text(12))}}

# A question, and what its answer may look like.
CASES = [
    ("Describe a person.", closed(name=text(), age=whole(1, 110), email=text(30, format="email"))),
    ("Is the sky blue?", closed(answer={"type": "boolean"}, reason=text(40))),
    ("Name three colours.", listed({"enum": ["red", "green", "blue", "black", "white", "yellow"]}, 3, 3,
                                   uniqueItems=True)),
    ("When was the last Olympic Games?", closed(city=text(), date={"type": "string", "format": "date"})),
    ("Rate this film: it was fine.", closed(sentiment={"enum": ["good", "bad", "mixed"]}, stars=whole(1, 5))),
    ("Order two pizzas.", closed(items=listed(closed(kind={"enum": ["margherita", "funghi", "marinara"]},
                                                     count=whole(1, 9)), 1, 1), pay={"enum": ["card", "cash"]})),
    ("Where does the treasure lie?", closed(latitude={"type": "string", "pattern": "^[0-9]{1,2}[.][0-9]{3} [NS]$"},
                                            longitude={"type": "string", "pattern": "^[0-9]{1,3}[.][0-9]{3} [EW]$"})),
    ("Describe a folder of files.", TREE),
    ("Say yes, or no, or nothing.", {"anyOf": [{"const": "yes"}, {"const": "no"}, {"type": "null"}]}),
    ("Give me a product.", closed(sku={"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"}, title=text(30),
                                  price={"type": "number", "exclusiveMinimum": 0, "maximum": 1000,
                                         "multipleOf": 0.01})),
    ("Call the weather tool for Paris.", {"oneOf": [
        closed(tool={"const": "weather"}, city=text()), closed(tool={"const": "clock"}, zone=text())]}),
    ("Give me a point.", {"type": "array", "prefixItems": [whole(0, 9), whole(0, 9)], "items": False, "minItems": 2}),
    ("Who wrote this book?", closed(["title"], title=text(30), author=text(), year=whole(1400, 2100))),
    ("Give me a meeting.", closed(start={"type": "string", "format": "date-time"}, length={"enum": ["short", "long"]})),
    ("A user's settings, please.", closed(theme={"enum": ["dark", "light"]}, sounds={"type": "boolean"},
                                          volume=whole(0, 100), language={"type": "string", "pattern": "^[a-z]{2}$"})),
    ("Count some fruit.", {"type": "object", "propertyNames": {"enum": ["apples", "pears", "plums"]},
                           "additionalProperties": whole(0, 20), "minProperties": 2}),
    ("List the scores.", listed(whole(0, 100), 2, 5)),
    ("A card, please.", closed(rank={"enum": [7, 8, 9, 10, "jack", "queen", "king", "ace"]},
                               suit={"enum": ["hearts", "spades", "clubs", "diamonds"]})),
    ("How do I reach the office?", closed(ip={"type": "string", "format": "ipv4"}, port=whole(1, 65535))),
    ("An identifier, please.", closed(id={"type": "string", "format": "uuid"})),
    ("Ship this parcel.", {**closed(["method"], method={"enum": ["post", "pickup"]}, address=text(40)),
                           "if": {"properties": {"method": {"const": "post"}}}, "then": {"required": ["address"]}}),
    ("Tags for a text about the sea.", listed(text(12, pattern="^[a-z]+$"), 1, 4)),
    ("A matrix of two rows.", listed(listed(whole(0, 9), 2, 2), 2, 2)),
    ("An even number below twenty.", {"type": "integer", "minimum": 0, "exclusiveMaximum": 20, "multipleOf": 2}),
    ("A setting with a note.", {"type": "object", "patternProperties": {"^x_[a-z]{1,6}$": {"type": "boolean"}},
                                "properties": {"note": text(20)}, "additionalProperties": False,
                                "required": ["note"], "maxProperties": 3}),
    ("Translate: good morning.", closed(source=text(20), target=text(20), language={"enum": ["de", "fr", "es"]})),
    ("A form, please.", closed(applicant=text(12), adult={"type": "boolean"})),
    ("Not a string, please.", {"not": {"type": ["string", "object"]}, "enum": ["a", True, None, {"a": True}, [False]]}),
    ("Pay now or later.", {"type": "object", "properties": {"card": text(8, pattern="^[0-9]+$"),
                                                           "code": text(3, pattern="^[0-9]{3}$"),
                                                           "later": {"const": True}}, "additionalProperties": False,
                           "dependentRequired": {"card": ["code"], "code": ["card"]}, "minProperties": 1}),
    ("A sandwich with ham, at least.", listed({"enum": ["ham", "cheese", "salad", "egg"]}, 1, 4,
                                              contains={"const": "ham"}, maxContains=1)),
]

# Mild: what is punished in one spelling comes in another, a letter as an escape.
PENALTIES = ["--repeat-penalty", "1.02", "--presence-penalty", "0.05", "--frequency-penalty", "0.02"]
MODES = [["--greedy"], ["--temperature", "0.6"], ["--temperature", "0.5", *PENALTIES], ["--greedy", "--prompt-lookup"],
         ["--temperature", "0.7", "--top-p", "0.9", "--prompt-lookup"], ["--greedy", *PENALTIES, "--prompt-lookup"]]
SPACES = ["none", "1", "2"]
CUT = 3  # the status of a program whose answer a limit has cut


def strict(answer):
    """The value; duplicate keys and constants that JSON doesn't have are errors."""
    def members(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    def constant(name):
        raise ValueError(name)
    return json.loads(answer, object_pairs_hook=members, parse_constant=constant)


def could_go_on(folder, schema, spaces, answer):
    """Whether a text is the beginning of one that the schema has."""
    path = os.path.join(folder, "answer")
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(answer)
    result = subprocess.run([PROGRAM, "schema", "check", schema, "--json", "--json-whitespace", spaces,
                             "--json-spelling", "plain", "-i", path],
                            stdout=subprocess.PIPE)
    return json.loads(result.stdout)["instances"][0]["bytes"] == len(answer.rstrip("\n").encode())


def generate(folder, model, number, index):
    question, schema = CASES[index]
    path = os.path.join(folder, f"{index}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(schema, file)
    mode, spaces = MODES[number % len(MODES)], SPACES[number // len(MODES) % len(SPACES)]
    result = subprocess.run(
        [PROGRAM, "run", "-m", model, "-t", "1", "-p", question + " Answer with JSON.", "-n", str(MOST_TOKENS),
         "--seed", str(number + 1), "--json", "--json-schema", path, "--json-whitespace", spaces, *mode],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode not in (0, CUT):
        raise SystemExit(f"{schema}, {mode}: {result.stderr.decode()}")
    answer = json.loads(result.stdout)
    if (result.returncode == CUT) != (answer["stop_reason"] == "max_tokens"):
        raise SystemExit(f"{schema}, {mode}: status {result.returncode}, ended by {answer['stop_reason']}")
    return path, mode, spaces, answer


def main():
    jsonschema, model = validators(), find_model()
    count, cut, jumped, tokens, seconds = (10 if LONG else 1) * len(CASES), 0, 0, 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            index = number % len(CASES)
            schema = CASES[index][1]
            # Each schema meets another mode in the next turn.
            path, mode, spaces, answer = generate(folder, model, number + number // len(CASES), index)
            stats, written = answer["stats"], answer["text"]
            jumped, tokens = jumped + stats["jumped_tokens"], tokens + stats["generated_tokens"]
            seconds += stats["constraint_seconds"]
            shown = f"{schema} ({mode}, {spaces}): {written!r}"
            if answer["stop_reason"] == "max_tokens":
                cut += 1
                if not could_go_on(folder, path, spaces, written):
                    raise SystemExit(f"this was cut and can't go on: {shown}")
                print(f"cut: {shown}")
                continue
            if answer["stop_reason"] != "end_token":
                raise SystemExit(f"ended by {answer['stop_reason']}: {shown}")
            validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
            try:
                validator.validate(strict(written))
            except (ValueError, jsonschema.ValidationError) as error:
                raise SystemExit(f"not valid: {shown}: {error}") from None
    print(f"{count} answers of {tokens} tokens, {jumped} of them the only ones, {cut} cut; the constraint took "
          f"{1e6 * seconds / max(tokens, 1):.1f} us a token")
    if cut * 6 > count:  # escapes for letters, and zeros behind a point, are long, and this model is small
        raise SystemExit("too many were cut")


if __name__ == "__main__":
    main()
