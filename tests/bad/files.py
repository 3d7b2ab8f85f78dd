"""Cases that are files: an input and the right value beside it."""

import json

from bad.kit import DATA, KEY, Case, demand


def find_row(rows, want):
    keys = {k: v for k, v in want.items() if k in KEY}
    found = [row for row in rows if all(row[k] == v for k, v in keys.items())]
    if len(found) > 1 and "device_type" not in keys:  # the CPU row is meant unless said otherwise
        found = [row for row in found if row["device_type"] == "CPU"] or found
    demand(len(found) == 1, len(found), "rows of", keys, "among", [row["name"] for row in rows])
    return found[0]


def check_top(program, path, want):
    answer = program.json("top", *want.get("options", []), path)
    rows = answer["rows"]
    for one in want.get("rows", []):
        row = find_row(rows, one)
        wrong = {k: (row.get(k), v) for k, v in one.items() if row.get(k) != v}
        demand(not wrong, f"row {one['name']!r}: {{field: (got, wanted)}} =", wrong)
    for one in want.get("rows_any", []):
        demand(any(all(row.get(k) == v for k, v in one.items()) for row in rows), "no row", one)
    if "total" in want:
        demand(len(rows) == want["total"], len(rows), "rows, not", want["total"], [row["name"] for row in rows])
    if "names" in want:
        demand([row["name"] for row in rows] == want["names"], [row["name"] for row in rows])
        demand([row["count"] for row in rows] == want["counts"], [row["count"] for row in rows])
    for name in want.get("absent", []):
        demand(all(row["name"] != name for row in rows), "there is a row", name)
    for key, value in want.get("facts", {}).items():
        demand(answer["facts"].get(key) == value, f"fact {key} is", answer["facts"].get(key), "not", value)


def check_info(program, path, want):
    rows = program.json("info", path)["rows"]
    found = {row["code"]: row["severity"] for row in rows if row["severity"]}
    for code, severity in want.get("findings", {}).items():
        demand(found.get(code) == severity, f"finding {code} is", found.get(code), "not", severity, "among", found)
    for code in want.get("without", []):
        demand(code not in found, "finding", code, "is there")
    if "text" in want:
        demand(
            any(want["text"] in row["text"] for row in rows),
            f"no line says {want['text']!r}:",
            [row["text"] for row in rows],
        )


def check_want(program, path):
    """Keys of a .want file: top {options, rows, rows_any, total, names+counts, absent, facts}, info {findings, without,
    text}, check {name: verdict}, command + stdout (a part of it), exit + stderr (a part of it, of every command)."""
    want = json.loads(path.with_suffix(".want").read_text())
    if "exit" in want:
        for command in ("top", "info", "check"):
            result = program(command, path, code=want["exit"])
            demand(want["stderr"] in result.err, f"{command} says", result.err)
            demand(not result.out, f"{command} prints", result.out)
        return
    if "top" in want:
        check_top(program, path, want["top"])
    if "info" in want:
        check_info(program, path, want["info"])
    if "command" in want:
        words = want["command"] + ([] if want["command"][0] == "help" else [path])
        out = program(*words).out
        demand(want["stdout"] in out, f"no {want['stdout']!r} in", out)
    verdicts = program.verdicts(path)
    for name, verdict in want.get("check", {}).items():
        demand(name in verdicts, "no check", name)
        demand(
            verdicts[name]["verdict"] == verdict,
            f"check {name} is",
            verdicts[name]["verdict"],
            "not",
            verdict,
            ":",
            verdicts[name]["evidence"],
        )
        demand(verdict == "ok" or len(verdicts[name]["evidence"]) > 10, "no evidence for", name)


def file_cases():
    for path in sorted(DATA.glob("*.json")):
        does = json.loads(path.with_suffix(".want").read_text())["does"]
        yield Case(path.stem, does, lambda program, path=path: check_want(program, path), False)
