#!/usr/bin/env python3
"""Golden tests of the command line.

    tests/cli/run.py [--update] [--opscope build/opscope] [name...]

A case is a file tests/cli/cases/NAME.case:

    $ opscope top {data}/session -n 2      the command; {data} is tests/data/scope
    exit 0                                 its exit code
    stderr text                            what it says on stderr, one line each (left out: nothing)
    stdout                                 the rest of the file is its output

--update writes what the program does now into the cases; look at the difference before keeping it.
Then come checks that are no text comparison: option tables against help and completions, broken pipes,
colour, and, when OPSCOPE_SHARED names the folder with the large traces, every row of every trace.
Prints "N passed, N failed".
"""
import argparse
import contextlib
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATA = ROOT / "tests/data/scope"
COMMANDS = ["info", "top", "follow", "disasm", "help"]


class Suite:
    def __init__(self, program):
        self.program, self.passed, self.failed = program, 0, 0

    def check(self, name, problem=None):
        if problem:
            self.failed += 1
            print(f"not ok {name}\n  " + str(problem).replace("\n", "\n  "))
        else:
            self.passed += 1

    def run(self, *arguments, env=None, stdin=None, text=True):
        return subprocess.run([self.program, *arguments], capture_output=True, text=text, cwd=ROOT, timeout=120,
                              stdin=stdin or subprocess.DEVNULL,
                              env={**os.environ, "TERM": "xterm", **(env or {})}, check=False)


def parse(path):
    """(command line, exit code, stderr, stdout) of a case file."""
    head, _, output = path.read_text().partition("\nstdout\n")
    lines = head.split("\n")
    code = next((int(line[5:]) for line in lines if line.startswith("exit ")), 0)
    errors = "".join(line[7:] + "\n" for line in lines if line.startswith("stderr "))
    return lines[0].removeprefix("$ "), code, errors, output


def run_case(suite, path, update):
    command, code, errors, output = parse(path)
    words = [word.replace("{data}", str(DATA)) for word in shlex.split(command)]
    assert words[0] == "opscope", path
    result = suite.run(*words[1:])
    got_errors, got = (text.replace(str(DATA), "{data}") for text in (result.stderr, result.stdout))
    if update:
        said = "".join(f"stderr {line}\n" for line in got_errors.splitlines())
        path.write_text(f"$ {command}\nexit {result.returncode}\n{said}stdout\n{got}")
    problems = []
    if result.returncode != code:
        problems.append(f"exit {result.returncode}, not {code}")
    if got_errors != errors:
        problems.append(f"stderr: {got_errors!r}\nwanted: {errors!r}")
    if got != output:
        problems.append("stdout differs:\n" + difference(output, got))
    suite.check(path.stem, "\n".join(problems) if problems and not update else None)


def difference(want, got):
    import difflib
    return "".join(difflib.unified_diff(want.splitlines(True), got.splitlines(True), "wanted", "got", n=1))


def check_help(suite):
    """Every option that -h lists is in the manual page and in all three completions."""
    completions = {shell: suite.run("help", "--completion", shell).stdout for shell in ("bash", "zsh", "fish")}
    for command in COMMANDS:
        short = suite.run(command, "-h").stdout
        page = suite.run("help", "--man", command).stdout.replace("\\-", "-")
        options = re.findall(r"^ +(?:-\w, )?(?:    )?--([\w-]+)", short, flags=re.M)
        missing = [o for o in options if f"--{o}" not in page]
        missing += [f"{o} ({shell})" for shell, text in completions.items() for o in options
                    if f"--{o}" not in text and f"-l {o} " not in text]
        suite.check(f"help of {command}", f"missing: {missing}" if missing or not options else None)
        long = suite.run("help", command).stdout
        suite.check(f"manual of {command}", None if "SYNOPSIS" in long and ".SH SYNOPSIS" in page else "no synopsis")
    script = completions["bash"] + "\nCOMP_WORDS=(opscope top -f j) COMP_CWORD=3; _opscope; echo ${COMPREPLY[@]}"
    result = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=False)
    suite.check("bash completes values behind a letter", None if result.stdout == "json jsonl\n" else result)
    for command, text in (("bash", completions["bash"]), ("zsh", completions["zsh"])):
        try:
            result = subprocess.run([command, "-n"], input=text, text=True, capture_output=True, check=False)
            suite.check(f"{command} completion parses", result.stderr or None)
        except FileNotFoundError:
            print(f"# {command} is not installed: its completion script is not parsed")


def check_terminal(suite):
    """Colour only when wanted; a reader that goes away ends the program quietly."""
    session = str(DATA / "session")
    plain = suite.run("top", session).stdout
    suite.check("no colour in a pipe", None if "\033" not in plain else plain)
    suite.check("colour on request", None if "\033" in suite.run("top", session, "--color", "always").stdout else "none")
    pipe = subprocess.Popen([suite.program, "top", session, "--format", "json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd=ROOT)
    pipe.stdout.close()
    errors = pipe.stderr.read()
    suite.check("broken pipe", None if pipe.wait() == 0 and not errors else f"{pipe.returncode} {errors!r}")
    with open(DATA / "cuda.json", "rb") as stdin:
        result = suite.run("top", "-", stdin=stdin)
    suite.check("standard input", None if result.returncode == 0 and "aten::addmm" in result.stdout else result.stderr)
    escape = suite.run("top", "no\033[31m\u009b1m\u202esuch.json")
    steering = [c for c in escape.stderr if c in "\033\u009b\u202e"]
    suite.check("messages cannot steer a terminal", f"{escape.stderr!r}" if steering or "such.json" not in escape.stderr else None)
    with open("/dev/full", "w", encoding="ascii") as full:
        code = subprocess.run([suite.program, "top", session], stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    suite.check("full disk", None if code.returncode == 4 and b"cannot write the result" in code.stderr else code)
    result = suite.run("disasm", "/dev/zero")
    suite.check("endless input", None if result.returncode == 3 and "ceiling" in result.stderr else result)
    check_steering_names(suite)
    result = suite.run("--version")
    suite.check("--version", None if result.stdout.startswith("opscope ") and result.returncode == 0 else result)


def check_steering_names(suite):
    """Names with control characters: spaces in tables and on terminals, escaped in JSON."""
    name = "a\033[31m\u009b1m\u202eb"
    event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "t.json"
        trace.write_text(json.dumps({"traceEvents": [event], "deviceProperties": [{"id": 0, "name": name}]}))
        for words in (["top"], ["info"], ["follow"]):
            result = suite.run(*words, str(trace), *([name] if words == ["follow"] else []))
            bad = set(result.stdout) & set("\033\u009b\u202e")
            suite.check(f"{words[0]} cannot steer a terminal", result.stdout if bad or result.returncode else None)
        text = suite.run("top", str(trace), "--format", "json").stdout
        good = "\033" not in text and "\u009b" not in text and json.loads(text)["rows"][0]["name"] == name
        suite.check("json escapes control characters", None if good else text)
        ours, theirs = pty.openpty()
        subprocess.run([suite.program, "top", str(trace), "--like-torch", "--no-pager"], stdout=theirs, check=False, timeout=60)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # a terminal that is gone
            while piece := os.read(ours, 65536):
                shown += piece
        os.close(ours)
        suite.check("--like-torch on a terminal", None if b"\033" not in shown and b"[31m" in shown else shown)


def check_formats(suite):
    """The same rows in every machine format, ns for ns."""
    import csv
    import io
    session = str(DATA / "session")
    rows = json.loads(suite.run("top", session, "--format", "json").stdout)["rows"]
    lines = [json.loads(line) for line in suite.run("top", session, "--format", "jsonl").stdout.splitlines()]
    suite.check("jsonl is json", None if rows == lines else "rows differ")
    table = list(csv.DictReader(io.StringIO(suite.run("top", session, "--format", "csv").stdout)))
    same = [{k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in row.items()} for row in rows] == table
    suite.check("csv is json", None if same else "rows differ")
    follow = json.loads(suite.run("follow", session, "aten::add", "--format", "json").stdout)
    names = {c["name"] for c in follow["columns"]}
    suite.check("follow as json", None if {"start_ns", "dur_ns", "gap_ns", "waited_for"} <= names else names)


FIELDS = ["count", "self_cpu_ns", "total_cpu_ns", "self_device_ns", "total_device_ns", "cpu_bytes",
          "self_cpu_bytes", "device_bytes", "self_device_bytes"]
LOST_IN_THE_FILE = {"unfinished", "jit_fork", "names_cpp_writer"}  # kineto-trace-format.md section 5


def keyed(rows):
    return {(r["name"], r["device_type"], bool(r["is_user_annotation"]), r["input_shapes"]): [r[f] for f in FIELDS]
            for r in rows}


def compare_trace(suite, name, trace, want, *options):
    result = suite.run("top", "--format", "json", *options, str(trace))
    if result.returncode != 0:
        suite.check(name, result.stderr)
        return
    got, want = keyed(json.loads(result.stdout)["rows"]), keyed(want)
    wrong = [key for key in {**want, **got} if got.get(key) != want.get(key)]
    suite.check(name, f"{len(wrong)} rows differ, first {wrong[0]}" if wrong else None)


def check_shared(suite):
    """Real traces against the tables that PyTorch computed."""
    shared = os.environ.get("OPSCOPE_SHARED") or str(ROOT.parent / "shared")
    traces = Path(shared) / "traces"
    if not traces.is_dir():
        print("# skipped: comparison with real traces (set OPSCOPE_SHARED to the folder that holds traces/)")
        return
    for expected in sorted((traces / "expected").glob("*.key_averages.json")):
        name = expected.name.removesuffix(".key_averages.json")
        rows = json.loads(expected.read_text())["rows"]
        python = name.endswith(".with_python")
        compare_trace(suite, name, traces / (name.removesuffix(".with_python") + ".json.gz"), rows,
                      "--python-rows" if python else "--no-python-rows")
    for expected in sorted((traces / "live").glob("*.key_averages.json")):
        name = expected.name.removesuffix(".key_averages.json")
        document = json.loads(expected.read_text())
        if name in LOST_IN_THE_FILE:
            continue
        trace = traces / "live" / f"{name}.json.gz"
        compare_trace(suite, f"live/{name}", trace, document["rows"])
        compare_trace(suite, f"live/{name} by shape", trace, document["rows_by_shape"], "--group-by", "shape")
        if "table" in document and name != "flops_and_shapes":  # FLOPs are not in the file
            for key, options in TEXTS.items():
                if key in document:
                    compare_text(suite, f"live/{name} {key}", trace, document[key], options)


TEXTS = {
    "table": ["--row-limit=-1"],
    "table_self_cpu_top10": ["--sort-by", "self_cpu_time_total", "--row-limit", "10"],
    "table_by_shape_top20": ["--group-by", "shape", "--sort-by", "cpu_time_total", "--row-limit", "20"],
    "table_top_level_ms": ["--sort-by", "cpu_time_total", "--top-level-events-only", "--time-unit", "ms", "--header", "top level only"],
}
NUMBER = re.compile(r"(-?[\d.]+)([a-z%]*)$")


def close(a, b):
    """Equal, or numbers of one unit that differ by one in the last digit: ties fall either way."""
    x, y = NUMBER.match(a), NUMBER.match(b)
    return a == b or bool(x and y and x[2] == y[2] and abs(float(x[1]) - float(y[1])) < 0.0101)


def compare_text(suite, name, trace, want, options):
    got = suite.run("top", "--like-torch", *options, str(trace)).stdout
    a, b = got.strip("\n").split("\n"), want.strip("\n").split("\n")
    wrong = [(x, y) for x, y in zip(a, b)
             if x != y and not (len(x) == len(y) and len(x.split()) == len(y.split()) and
                                all(map(close, x.split(), y.split())))]
    if len(a) != len(b):
        wrong.append((f"{len(a)} lines", f"{len(b)} lines"))
    suite.check(name, f"{wrong[0][0]!r} for {wrong[0][1]!r}" if wrong else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--opscope", default=str(ROOT / "build/opscope"))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    suite = Suite(str(Path(options.opscope).resolve()))
    for path in sorted((HERE / "cases").glob("*.case")):
        if not options.names or path.stem in options.names:
            run_case(suite, path, options.update)
    if not options.names and not options.update:
        for check in (check_help, check_terminal, check_formats, check_shared):
            check(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
