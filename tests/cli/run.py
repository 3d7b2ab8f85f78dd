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
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DATA = ROOT / "tests/data/scope"
COMMANDS = ["info", "top", "follow", "steps", "idle", "path", "check", "cut", "engines", "disasm", "flame", "table", "schema", "help"]


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
                              env={**os.environ, "TERM": "xterm", "COLUMNS": "", **(env or {})}, check=False)


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
    check_copied_times(suite)
    check_several_sessions(suite)
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


def check_copied_times(suite):
    """A start as idle shows it, in text or csv, means the same moment to follow and cut."""
    trace = str(DATA / "steps.json")
    row = suite.run("idle", trace, "-n", "1").stdout.splitlines()[1]
    shown = re.match(r" *([0-9,.]+ [a-z]+)", row).group(1)
    heading, *rows = suite.run("idle", trace, "-n", "1", "--format", "csv").stdout.splitlines()
    exact = dict(zip(heading.split(","), rows[0].split(",")))
    for command in (["follow", trace, "--format", "json", "--at"], ["cut", trace, "-o", "-", "--from"]):
        told = [suite.run(*command, at).stdout for at in (shown, "+" + shown, exact["offset_ns"] + "ns", exact["start_ns"])]
        suite.check(f"{command[0]} at times of idle", None if told[0] and len(set(told)) == 1 else told)


def check_several_sessions(suite):
    """A directory of several sessions is read as the newest, and that is said."""
    with tempfile.TemporaryDirectory() as folder:
        for place in ("i-b_pid_1/20261129_101500", "i-a_pid_2/20261129_101501"):
            shutil.copytree(next((DATA / "session").glob("*/*")), Path(folder) / place)
        for words in (["top"], ["info"], ["follow", "aten::add"], ["engines"]):
            result = suite.run(words[0], folder, *words[1:])
            note = f"opscope: note: {folder} holds 2 sessions; this is the newest, {folder}/i-a_pid_2/20261129_101501\n"
            suite.check(f"{words[0]} of several sessions", result.stderr if result.returncode or note not in result.stderr else None)


def read_terminal(fd):
    shown = b""
    with contextlib.suppress(OSError):  # a terminal that is gone
        while piece := os.read(fd, 65536):
            shown += piece
    os.close(fd)
    return shown


def check_width(suite):
    """Tables are as wide as they may be at most; names are whole where there is room; csv has all columns."""
    trace = DATA / "steps.json"
    for command in ("steps", "idle", "path", "top"):
        for width in (60, 80, 100, 120):
            result = suite.run(command, trace, env={"COLUMNS": str(width)})
            widest = max(map(len, result.stdout.splitlines()))
            suite.check(f"{command} in {width} columns", None if result.returncode == 0 and widest <= width else f"{widest} wide")
        narrow, wide = (suite.run(command, trace, env={"COLUMNS": width}).stdout for width in ("60", "400"))
        suite.check(f"{command} with room", "cut" if "..." in wide or "left out: " in wide else None)
        suite.check(f"{command} without", None if " left out: " in narrow or "..." in narrow else "nothing gave way")
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 90, 0, 0))
    program = subprocess.Popen([suite.program, "steps", trace, "--no-pager", "--color", "never"], stdout=theirs,
                               stderr=subprocess.DEVNULL, cwd=ROOT, env={**os.environ, "TERM": "xterm", "COLUMNS": ""})
    os.close(theirs)
    lines = read_terminal(ours).decode().splitlines()
    program.wait()
    suite.check("the terminal's width", None if lines == suite.run("steps", trace, env={"COLUMNS": "90"}).stdout.splitlines()
                and 70 < max(map(len, lines)) <= 90 else lines)
    csv = [suite.run("steps", trace, "--format", "csv", env={"COLUMNS": width}).stdout for width in ("20", "400")]
    suite.check("csv at any width", None if csv[0] == csv[1] else "differs")


def check_progress(suite):
    """A trace that comes slowly through a pipe: a line on the terminal, redrawn and in the end erased."""
    event = '{"ph":"X","cat":"cpu_op","name":"aten::slow","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"pad":"%s"}}'
    events = ",\n".join(event % (i * 2, "x" * 300) for i in range(6000))
    text = f'{{"traceEvents":[{events}]}}'.encode()
    for terminal in (True, False):
        ours, theirs = pty.openpty()
        program = subprocess.Popen([suite.program, "top", "-", "--no-pager"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=theirs if terminal else subprocess.PIPE, cwd=ROOT,
                                   env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        for at in range(0, len(text), len(text) // 6 + 1):
            program.stdin.write(text[at:at + len(text) // 6 + 1])
            program.stdin.flush()
            time.sleep(0.2)
        program.stdin.close()
        table = program.stdout.read()
        said = read_terminal(ours) if terminal else program.stderr.read()
        suite.check(f"slow input, terminal {terminal}",
                    None if program.wait() == 0 and b"aten::slow" in table else f"{program.returncode} {said!r}")
        if terminal:
            good = b"standard input  " in said and b"MB" in said and b"/s" in said and said.endswith(b"\r\x1b[K")
            suite.check("progress on a terminal", None if good else repr(said))
        else:
            os.close(ours)
            suite.check("no progress in a pipe", said or None)


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


def rows_of(suite, *words):
    result = suite.run("top", "--format", "json", *words)
    return json.loads(result.stdout)["rows"] if result.returncode == 0 else result.stderr


def check_cut_whole(suite, trace, folder):
    """All of a trace, repaired: every JSON reader takes it, and the table is the same."""
    want = rows_of(suite, str(trace))
    for ending in ("json", "json.gz", "json.zst"):
        out = folder / f"whole.{ending}"
        result = suite.run("cut", str(trace), "-o", str(out))
        if "zstd" in result.stderr:
            print(f"# skipped: {result.stderr.strip()}")
            continue
        suite.check(f"cut {trace.name} to {ending}", None if rows_of(suite, str(out)) == want else "rows differ")
    try:
        json.loads((folder / "whole.json").read_text(encoding="utf-8"))
        suite.check(f"cut {trace.name} is JSON")
    except ValueError as fault:
        suite.check(f"cut {trace.name} is JSON", fault)


def check_cut_steps(suite, trace, folder):
    """All rows of a step have the same values in the step's own trace as in the whole one."""
    out = folder / "step.json.gz"
    options = ("--group-by", "step")
    want = rows_of(suite, str(trace), *options)
    for step in sorted({row["step"] for row in want} - {""}):
        result = suite.run("cut", str(trace), "--step", step.removeprefix("ProfilerStep#"), "-o", str(out))
        got = rows_of(suite, str(out), *options) if result.returncode == 0 else result.stderr
        same = [r for r in got if r["step"] == step] == [r for r in want if r["step"] == step]
        suite.check(f"cut {trace.name} {step}", None if same else "rows differ")


def check_cut(suite, traces):
    with tempfile.TemporaryDirectory() as name:
        for trace in sorted((traces / "live").glob("*.json.gz")):
            check_cut_whole(suite, trace, Path(name))
        for pattern in ("live/schedule_*.json.gz", "live/neuron_*.json.gz", "a100_nccl.json.gz", "mi250_minitoy.json.gz"):
            for trace in sorted(traces.glob(pattern)):
                check_cut_steps(suite, trace, Path(name))


def check_flame(suite, traces):
    """The lines of a flame graph add up to the table's totals; export_stacks' text is PyTorch's."""
    def total(*options):
        result = suite.run("flame", *options, "--unit", "ns")
        said = re.search(r"(\d+) ns of negative self time", result.stderr)
        return sum(int(line.rpartition(" ")[2]) for line in result.stdout.splitlines()) - int(said[1] if said else 0)

    for trace in sorted(traces.glob("*.json.gz")):
        facts = json.loads(suite.run("top", trace, "--no-python-rows", "--format", "json").stdout)["facts"]
        problems = [] if total(trace, "--by", "op") == facts["total_cpu_ns"] else ["host time"]
        device = total(trace, "--by", "op", "--metric", "self_device")
        if device != facts["total_device_ns"] and trace.name not in WITH_SYNC_ROWS:
            problems.append(f"device time {device}, not {facts['total_device_ns']}")
        suite.check(f"flame {trace.name}", ", ".join(problems))
    for expected in sorted((traces / "live").glob("*.key_averages.json")):
        want = json.loads(expected.read_text()).get("stacks")
        trace = traces / "live" / expected.name.replace(".key_averages", "").replace(".json", ".json.gz")
        if want is not None:
            got = suite.run("flame", trace, "--like-torch", "self_cpu_time_total").stdout
            suite.check(f"flame --like-torch {trace.name}", None if got == want else "differs")


def check_groupings(suite, traces):
    """R06: sums over all rows are the same however the rows are split."""
    def sums(*options):
        rows = rows_of(suite, str(trace), "--no-python-rows", *options)
        return [sum(row[field] for row in rows) for field in FIELDS]

    for trace in sorted(traces.glob("*.json.gz")):
        want = sums()
        wrong = [way for way in ("shape", "stack", "module", "step", "stream", "thread", "device", "shape,step,device")
                 if sums("--group-by", way) != want]
        suite.check(f"sums of {trace.name} by any grouping", ", ".join(wrong))


#: The table counts rows of waiting as device time, as PyTorch does; a flame graph does not.
WITH_SYNC_ROWS = {"a100_alexnet_2023.json.gz", "a100_cupti_ranges_2023.json.gz"}


def check_follow_shared(suite, trace):
    """The operator with most device time, followed: as many launches, kernels and nanoseconds as its columns say."""
    top = json.loads(suite.run("top", "--format", "json", "--sort", "total_device", str(trace)).stdout)["rows"]
    names = [r["name"] for r in top if r["device_type"] == "CPU" and not r["is_user_annotation"] and r["total_device_ns"] > 0]
    if not names:
        return
    result = suite.run("follow", str(trace), names[0], "--format", "json")
    if result.returncode != 0:
        suite.check(f"follow {trace.name}", result.stderr)
        return
    document = json.loads(result.stdout)
    work = [r for r in document["rows"] if r["kind"] in ("kernel", "copy", "fill", "mtia")]
    problems = [r for r in work if not r["rule"] or r["queue_ns"] > max(0, r["delay_ns"]) or r["queue_ns"] < 0]
    if sum(r["dur_ns"] for r in work) != document["facts"]["total_ns"] or not work:
        problems.append((sum(r["dur_ns"] for r in work), document["facts"]["total_ns"]))
    text = suite.run("follow", str(trace), names[0]).stdout
    problems += [line for line in text.splitlines() if len(line) > 80]
    suite.check(f"follow {trace.name}", f"{names[0]}: {problems[0]}" if problems else None)


def check_shared(suite):
    """Real traces against the tables that PyTorch computed."""
    shared = os.environ.get("OPSCOPE_SHARED") or str(ROOT.parent / "shared")
    traces = Path(shared) / "traces"
    if not traces.is_dir():
        print("# skipped: comparison with real traces (set OPSCOPE_SHARED to the folder that holds traces/)")
        return
    check_cut(suite, traces)
    check_flame(suite, traces)
    check_groupings(suite, traces)
    for trace in sorted(traces.glob("*.json.gz")):
        check_follow_shared(suite, trace)
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
    "table_by_stack3_top10": ["--group-by-stack-n", "3", "--sort-by", "self_cpu_time_total", "--row-limit", "10"],
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
        for check in (check_help, check_terminal, check_width, check_progress, check_formats, check_shared):
            check(suite)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
