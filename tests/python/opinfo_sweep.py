"""Runs opinfo_cases.py shard by shard; a crash or a hang costs one test, not the run.

usage: opinfo_sweep.py [--exclude FILE] K/N [K/N ...]

FILE names excluded tests, one a line, each with its reason behind '#'; at most 25. A reason that begins with
"run here" excludes the test only from plainer sweeps of the same database. Prints failures and, as the last
line, `N passed, N failed`. Exit 0 only if nothing failed.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHUNK_SECONDS = 2400
TEST = re.compile(r"^(test_consistency_\S+) \(")
VERDICT = re.compile(r"\.\.\. ?(ok|FAIL|ERROR|skipped|expected failure)|^(ok|FAIL|ERROR)$")
LIMIT = 25


def excluded(path):
    """Names of the tests that are not run; every line of the file needs a reason."""
    names, run_here = [], set()
    for line in path.read_text().splitlines():
        name, mark, reason = line.partition("#")
        if name.strip():
            if not mark or not reason.strip():
                raise SystemExit(f"{path}: {name.strip()} has no reason")
            names.append(name.strip())
            if reason.strip().startswith("run here"):
                run_here.add(name.strip())
    if len(names) > LIMIT:
        raise SystemExit(f"{path}: {len(names)} exclusions, at most {LIMIT} are allowed")
    return [name for name in names if name not in run_here]


def read_verdicts(text, seen):
    """Adds `test: verdict` of new tests to seen; returns the test that ran last."""
    last = None
    for line in text.splitlines():
        test, verdict = TEST.match(line), VERDICT.search(line)
        if test:
            last = test[1]
        if last and verdict and last not in seen:
            seen[last] = verdict[1] or verdict[2]
    return last


def run_chunk(shard, seen):
    """One subprocess over the tests of a shard that have no verdict yet. (stderr, finished, hung)"""
    env = dict(os.environ, OPINFO_SHARD=shard, OPINFO_SKIP=",".join(seen), KINETO_LOG_LEVEL="99")
    env.pop("CI", None)  # PyTorch's runner would write XML reports, for which it needs another package
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", str(HERE / "opinfo_cases.py"), "-v"]
    try:
        result = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace",
                                timeout=CHUNK_SECONDS, check=False)
    except subprocess.TimeoutExpired as e:
        return (e.stderr or b"").decode("utf-8", "replace"), False, True
    finished = result.returncode >= 0 and re.search(r"^Ran \d+ tests? in", result.stderr, re.M)
    return result.stderr, bool(finished), False


def detail(text, test):
    """The last line of a failure's traceback."""
    block = re.search(rf"^(?:FAIL|ERROR): {re.escape(test)} .*?(?=^={{70}}|^Ran |\Z)", text, re.M | re.S)
    lines = [] if block is None else [
        line for line in block[0].splitlines()
        if re.match(r"\w*(Error|Exception|Failure)\b", line) or line.startswith(("Mismatched", "Greatest absolute"))
    ]
    return " / ".join(lines)[:240]


def run_shard(shard, skip):
    """(verdicts, failure lines)"""
    seen = dict.fromkeys(skip, "excluded")
    failures = []
    while True:
        before = len(seen)
        text, finished, hung = run_chunk(shard, seen)
        last = read_verdicts(text, seen)
        if last and not finished and last not in seen:
            seen[last] = "HANG" if hung else "CRASH"
        failures += [f"{seen[t]} {t}: {detail(text, t)}" for t in list(seen)[before:]
                     if seen[t] in ("FAIL", "ERROR", "CRASH", "HANG")]
        if finished:
            return seen, failures
        if len(seen) == before:
            tail = (text.strip().splitlines() or ["no output"])[-1]
            return seen, failures + [f"FAIL the run of shard {shard} itself: {tail[:160]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exclude", type=pathlib.Path, default=HERE / "opinfo_exclude.txt")
    parser.add_argument("shards", nargs="*", default=["0/2", "1/2"])
    args = parser.parse_args()
    skip = excluded(args.exclude)
    passed, failures = 0, []
    for shard in args.shards:
        verdicts, bad = run_shard(shard, skip)
        passed += sum(v == "ok" for v in verdicts.values())
        failures += bad
        for line in bad:
            print(line, flush=True)
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
