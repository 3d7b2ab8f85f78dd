"""What the cases share: running the program with a time limit, demanding, making traces."""

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data/bad"
SEED = 20251129

KEY = ("name", "device_type", "is_user_annotation", "input_shapes")


class Wrong(Exception):
    """What came out is not what must come out; the text says the difference."""


def demand(condition, *text):
    if not condition:
        raise Wrong(" ".join(str(t)[:600] for t in text))


class Program:
    """Runs opscope; every run has a time limit, so a hang is a failure and not a wait."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *words, data=None, feed=None, timeout=60, env=None, code=0, stdin=None):
        """Result of a run. data: bytes for standard input; feed: function that writes them to a file object."""
        inputs = subprocess.PIPE if data is not None or feed else stdin or subprocess.DEVNULL
        process = subprocess.Popen(
            [self.path, *map(str, words)],
            stdin=inputs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", **(env or {})},
        )
        if feed:
            threading.Thread(target=feed_pipe, args=(process.stdin, feed), daemon=True).start()
            process.stdin = None
        try:
            out, err = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired as late:
            process.kill()
            process.communicate()
            raise Wrong(f"no answer after {timeout} s: opscope {' '.join(map(str, words))}") from late
        demand(process.returncode >= 0, "killed by signal", -process.returncode, ": opscope", *words)
        if code is not None:
            demand(process.returncode == code, f"exit {process.returncode}, not {code}:", err.decode(errors="replace"))
        return Result(process.returncode, out, err)

    def json(self, *words, **more):
        return json.loads(self(*words, "--format", "json", **more).out)

    def rows(self, *words, **more):
        return self.json("top", *words, **more)["rows"]

    def findings(self, *words, **more):
        """{code: row} of what `info` found."""
        return {row["code"]: row for row in self.json("info", *words, **more)["rows"] if row.get("severity")}

    def verdicts(self, *words, **more):
        """{name: row} of `check`; exit 1 is a finding, not a failure of the run."""
        result = self("check", *words, "--format", "json", code=None, **more)
        demand(result.code in (0, 1), "check exits", result.code, result.err)
        rows = {row["check"]: row for row in json.loads(result.out)["rows"]}
        fails = any(row["verdict"] == "FAIL" for row in rows.values())
        demand(result.code == int(fails), "check exits", result.code, "with" if fails else "without", "a FAIL")
        return rows


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode(errors="replace"), err.decode(errors="replace")


def feed_pipe(pipe, feed):
    try:
        with pipe:
            feed(pipe)
    except BrokenPipeError:
        pass


class Case:
    def __init__(self, name, does, run, slow):
        self.name, self.does, self.run, self.slow = name, does, run, slow
        self.entry = name.split("_")[0]


MADE = []


def case(name, does, slow=False):
    def add(function):
        MADE.append(Case(name, does, function, slow))
        return function

    return add


def event(name, ts, dur, **more):
    e = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur}
    e.update(more)
    return e


def kernel(name, ts, dur, correlation, external=None, **more):
    args = {"correlation": correlation, **({"External id": external} if external else {})}
    return event(name, ts, dur, cat="kernel", pid=0, tid=7, args=args, **more)


def launch(ts, dur, correlation, external=None, **more):
    args = {"correlation": correlation, **({"External id": external} if external else {})}
    return event("cudaLaunchKernel", ts, dur, cat="cuda_runtime", args=args, **more)


def trace(events, **top):
    return json.dumps({**top, "traceEvents": events}, separators=(",", ":"), ensure_ascii=False).encode()


SMALL = trace(
    [
        event("aten::linear", 10, 100, args={"External id": 2, "Ev Idx": 0, "Input Dims": [[8, 16]]}),
        event("aten::addmm \u6f22", 20, 80, args={"External id": 3, "Ev Idx": 1}),
        launch(50, 10, 77, 3),
        kernel("void gemm<float>(float*)", 70, 200.5, 77, 3),
        event("aten::relu", 120, 30, args={"Ev Idx": 2}),
    ],
    schemaVersion=1,
)


def temporary(data, suffix=".json"):
    file = tempfile.NamedTemporaryFile(prefix="opscope-bad-", suffix=suffix)
    file.write(data)
    file.flush()
    return file


def count_of(rows, name):
    return sum(row["count"] for row in rows if row["name"] == name)


def ranks(folder, *files):
    for number, data in enumerate(files):
        (Path(folder) / f"rank{number}.json").write_bytes(data)
    return folder
