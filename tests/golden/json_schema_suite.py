#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JSON-Schema-Test-Suite, required tests, through `tombola schema check --batch`: no verdict may be wrong, and exactly
the schemas of refused.json may be refused, each with its reason there.

  json_schema_suite.py 2020-12|7 ...      the drafts to run
  json_schema_suite.py --write ...        rewrites the list from what is refused now (reasons of new entries are the
                                          program's own; a person looks at them)
  json_schema_suite.py --show ...         prints each refusal and each wrong verdict

Formats are annotations, as the suite reads them. $ref finds the suite's remotes and the metaschemas, nothing else.
"""
import collections
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "json_schema_refused.json")
DRAFTS = {"2020-12": ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
          "2019-09": ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
          "7": ("draft7", "http://json-schema.org/draft-07/schema#"),
          "6": ("draft6", "http://json-schema.org/draft-06/schema#"),
          "4": ("draft4", "http://json-schema.org/draft-04/schema#")}
# Of all schemas of the suite, how many must be accepted.
LEAST = {"2020-12": 327, "7": 228}


def prefix():
    source = os.environ.get("TOMBOLA_SOURCE", os.path.dirname(os.path.dirname(HERE)))
    return subprocess.run([os.path.join(source, "scripts", "json-schema")], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def remotes(root):
    """What `$ref` may name: the suite's remotes under their address, the metaschemas under theirs."""
    found = {}
    base = os.path.join(root, "suite", "remotes")
    for folder, _, names in os.walk(base):
        for name in names:
            path = os.path.join(folder, name)
            found["http://localhost:1234/" + os.path.relpath(path, base).replace(os.sep, "/")] = load(path)
    schemas = os.path.join(root, "python", "jsonschema_specifications", "schemas")
    for folder, _, names in os.walk(schemas):
        for name in names:
            schema = load(os.path.join(folder, name))
            if isinstance(schema, dict) and ("$id" in schema or "id" in schema):
                found[schema.get("$id") or schema["id"]] = schema
    return found


def cases(root, draft):
    """(name, schema, tests) of every schema of the draft."""
    folder = os.path.join(root, "suite", "tests", DRAFTS[draft][0])
    for name in sorted(os.listdir(folder)):
        if name.endswith(".json"):
            for index, group in enumerate(load(os.path.join(folder, name))):
                yield f"{name[:-5]}/{index} {group['description']}", group["schema"], group["tests"]


def with_draft(schema, draft):
    """Schemas of older drafts don't say so themselves."""
    if isinstance(schema, dict) and "$schema" not in schema:
        return {"$schema": DRAFTS[draft][1], **schema}
    return schema


def used(schema, table):
    """The remotes that a schema can reach: those named in its text, and in theirs."""
    wanted, todo = {}, [json.dumps(schema)]
    while todo:
        text = todo.pop()
        for uri, document in table.items():
            local = "localhost:1234" in uri or "/meta/" in uri
            name = "/".join(uri.rsplit("/", 2 if "/meta/" in uri else 1)[1:]) if local else uri.rstrip("#")
            if uri not in wanted and name in text:
                wanted[uri] = document
                todo.append(json.dumps(document))
    return wanted


def ask(requests):
    program = os.environ.get("TOMBOLA_PROGRAM", "build/tombola")
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([program, "schema", "check", "--batch"], input=lines, stdout=subprocess.PIPE, text=True,
                          check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(root, draft, table, show):
    groups = list(cases(root, draft))
    requests = [{"schema": with_draft(schema, draft), "format": "annotate", "whitespace": "any",
                 "refs": used(schema, table), "instances": [test["data"] for test in tests]}
                for _, schema, tests in groups]
    answers = ask(requests)
    assert len(answers) == len(groups)
    count, refused, wrong = collections.Counter(), {}, []
    for (name, schema, tests), answer in zip(groups, answers):
        verdict = answer.get("verdict", "error")
        count[verdict] += 1
        if verdict in ("refused", "error"):
            error = answer.get("error", {}).get("message")
            refused[name] = error or f"{answer['keyword']} at {answer['pointer']}: {answer['reason']}"
            continue
        for test, accepted in zip(tests, answer["instances"]):
            if accepted != test["valid"]:
                wrong.append(f"{draft} {name}: {test['description']}: {'accepted' if accepted else 'rejected'}: "
                             f"{json.dumps(test['data'])[:200]} under {json.dumps(schema)[:400]}")
    total = len(groups)
    print(f"draft {draft}: {total} schemas, {total - len(refused)} accepted, of them {count['may_backtrack']} may "
          f"backtrack; {len(refused)} refused; {len(wrong)} wrong verdicts")
    if show:
        for name, reason in refused.items():
            print(f"  refused {name}: {reason}")
    return refused, wrong, total, count


def check(draft, listed, refused, wrong, total, count):
    problems = list(wrong)
    problems += [f"{draft} {name}: refused, and not on the list: {reason}" for name, reason in refused.items()
                 if name not in listed]
    problems += [f"{draft} {name}: on the list, and accepted" for name in listed if name not in refused]
    problems += [f"{draft} {name}: an error, not a refusal: {refused[name]}" for name in refused
                 if count["error"] and " at " not in refused[name]]
    accepted = total - len(refused)
    if accepted < LEAST.get(draft, 0):
        problems.append(f"{draft}: {accepted} schemas accepted, must be {LEAST[draft]}")
    if 10 * count["may_backtrack"] > total:
        problems.append(f"{draft}: {count['may_backtrack']} schemas may backtrack, more than one in ten")
    return problems


def main():
    write, show = "--write" in sys.argv, "--show" in sys.argv
    drafts = [argument for argument in sys.argv[1:] if argument in DRAFTS]
    root = prefix()
    table = remotes(root)
    lists = load(LIST) if os.path.exists(LIST) else {}
    problems = []
    for draft in drafts:
        refused, wrong, total, count = run(root, draft, table, show)
        if write:
            lists[draft] = {name: lists.get(draft, {}).get(name, reason) for name, reason in refused.items()}
        problems += check(draft, lists.get(draft, {}), refused, wrong, total, count)
    if write:
        with open(LIST, "w", encoding="utf-8") as file:
            json.dump(lists, file, indent=1, ensure_ascii=False)
            file.write("\n")
    print("\n".join(problems[:60]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
