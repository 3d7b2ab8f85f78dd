#!/usr/bin/env python3
"""The known bad inputs, entry by entry, through the program.

    tests/bad_inputs.py [--opscope build/opscope] [--slow] [--list] [ID...]

Every entry of known-bad-inputs.md (J01 to U13) and every invariant of its section 10 (V01 to V10) has at
least one case here. Small inputs are files, the right value beside each:

    tests/data/bad/J01.json, J01_variant.json     the input
    tests/data/bad/J01.want                       JSON: what must come out, see check_want

Inputs whose size, bytes or number matter are made by the functions in tests/bad/ and given through a pipe or a
temporary file; nothing larger than some megabytes is ever stored (large plain files are sparse).
--slow adds those of several gigabytes. docs/formats/bad-inputs.md is made from the cases: with
OPSCOPE_REGEN_DOCS=1 it is rewritten, else compared. Prints "N passed, N failed".
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import sys
import time
from pathlib import Path

from bad import invariants, made_mean, made_odd, made_read  # they register their cases  # noqa: F401
from bad.files import file_cases
from bad.kit import DATA, MADE, ROOT, SEED, Case, Program, Wrong, demand

DOC = ROOT / "docs/formats/bad-inputs.md"

ENTRIES = (
    [f"J{n:02}" for n in range(1, 19)]
    + [f"S{n:02}" for n in range(1, 12)]
    + [f"T{n:02}" for n in range(1, 15)]
    + [f"N{n:02}" for n in range(1, 9)]
    + [f"L{n:02}" for n in range(1, 13)]
    + [f"R{n:02}" for n in range(1, 17)]
    + [f"P{n:02}" for n in range(1, 6)]
    + [f"U{n:02}" for n in range(1, 14)]
    + [f"V{n:02}" for n in range(1, 11)]
)


def doc_of(cases):
    """The page docs/formats/bad-inputs.md."""
    lines = [
        "# What opscope does with bad input",
        "",
        "One line for each case of `tests/bad_inputs.py`, from which this page is made (`OPSCOPE_REGEN_DOCS=1`). The",
        "numbers are those of the checklist of known bad inputs: J text and encoding, S size and compression, T time,",
        "N nesting, L identifiers and links, R results, P partial and foreign files, U reachable though never",
        "reported, V invariants. Inputs are in `tests/data/bad/`",
        "where they are files. Findings are shown by `opscope info`, verdicts by `opscope check`.",
        "",
        "| case | what opscope does | findings and verdicts |",
        "|---|---|---|",
    ]
    for one in cases:
        want = DATA / f"{one.name}.want"
        said = ""
        if want.exists():
            value = json.loads(want.read_text())
            said = ", ".join(
                f"`{code}` {severity}" for code, severity in value.get("info", {}).get("findings", {}).items()
            )
            verdicts = ", ".join(f"{name}: {verdict}" for name, verdict in value.get("check", {}).items())
            said = "; ".join(part for part in (said, verdicts) if part)
        does = one.does.replace("|", "\\|")
        lines.append(f"| {one.name}{' (slow)' if one.slow else ''} | {does} | {said} |")
    return "\n".join(lines) + "\n"


def check_doc(cases):
    text = doc_of(cases)
    if os.environ.get("OPSCOPE_REGEN_DOCS") == "1":
        DOC.write_text(text)
    demand(DOC.exists() and DOC.read_text() == text, f"{DOC.relative_to(ROOT)} is old; run with OPSCOPE_REGEN_DOCS=1")


def check_complete(cases):
    missing = [entry for entry in ENTRIES if all(one.entry != entry for one in cases)]
    demand(not missing, "entries without a case:", missing)
    lost = [path.name for path in DATA.glob("*.want") if not path.with_suffix(".json").exists()]
    demand(not lost, "right values without an input:", lost)


def run_case(program, one):
    start = time.monotonic()
    try:
        one.run(program)
        return one, None, time.monotonic() - start
    except Wrong as problem:
        return one, str(problem), time.monotonic() - start
    except Exception as fault:  # a fault of a case must not lose the others
        return one, f"{type(fault).__name__}: {fault}", time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--opscope", default=str(ROOT / "build/opscope"))
    parser.add_argument("--slow", action="store_true", help="also the inputs of several gigabytes")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    parser.add_argument("--times", action="store_true", help="print what each case took")
    parser.add_argument("names", nargs="*", metavar="ID", help="entries or cases; default all")
    options = parser.parse_args()
    cases = sorted([*file_cases(), *MADE], key=lambda one: (ENTRIES.index(one.entry), one.name))
    wanted = [one for one in cases if not options.names or one.entry in options.names or one.name in options.names]
    if options.list:
        print("\n".join(f"{one.name}{' (slow)' if one.slow else ''}: {one.does}" for one in wanted))
        return 0
    program = Program(str(Path(options.opscope).resolve()))
    wanted += (
        []
        if options.names
        else [
            Case("V00_complete", "", lambda _: check_complete(cases), False),
            Case("V00_page", "", lambda _: check_doc(cases), False),
        ]
    )
    passed = failed = 0
    quick = [one for one in wanted if not one.slow]
    slow = [one for one in wanted if one.slow and (options.slow or options.names)]
    print(f"seed {SEED}; {len(quick)} cases, {len(slow)} slow ones")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        results = itertools.chain(
            pool.map(lambda one: run_case(program, one), quick), map(lambda one: run_case(program, one), slow)
        )
        for one, problem, seconds in results:
            passed, failed = passed + (problem is None), failed + (problem is not None)
            if problem:
                print(f"not ok {one.name} ({one.does})\n  {problem}")
            elif options.times:
                print(f"ok {one.name} {seconds:.1f} s")
    if len(slow) < sum(one.slow for one in wanted):
        print("# left out: " + " ".join(one.name for one in wanted if one.slow) + " (--slow)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
