"""Cases nobody has reported yet: depth, odd values, sources, names in outputs (U)."""

import csv
import gzip
import io
import itertools
import json
import os
import re
import stat
import subprocess
import tempfile
import threading
import time
import zlib
from pathlib import Path

from bad.kit import DATA, SMALL, case, count_of, demand, event, temporary, trace


@case("U06", "a million brackets, and a million keys, in args")
def _(program):
    depth = (
        b'{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"deep","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":'
        + b"[" * 10**6
        + b"]" * 10**6
    )
    depth += b"}}," + json.dumps(event("after", 5, 1)).encode() + b"]}"
    rows = program.rows("-", data=depth)
    demand([row["name"] for row in rows] == ["deep", "after"], rows)
    keys = trace([event("keys", 1, 1, args={f"k{i}": i for i in range(10**6)}), event("after", 5, 1)])
    demand([row["name"] for row in program.rows("-", data=keys)] == ["keys", "after"], "rows")


@case("U06_open", "a million brackets that never close are one damaged event")
def _(program):
    data = b'{"traceEvents":[{"ph":"X","name":"deep","ts":1,"dur":1,"args":{"x":' + b"[" * 10**6
    demand(program("top", "-", "--format", "json", data=data, code=None).code in (0, 3), "exit")


@case("U06_objects", "the top level may be deep too")
def _(program):
    for text in (b"[" * 10**6, b'{"a":' * 10**6):
        demand(program("top", "-", "--format", "json", data=text, code=None).code in (0, 3), "exit")


def long_text(megabytes):
    def feed(pipe):
        pipe.write(
            b'{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"long","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":"'
        )
        block = b"z" * (1 << 20)
        for _ in range(megabytes):
            pipe.write(block)
        pipe.write(b'"}},' + json.dumps(event("after", 5, 1)).encode() + b"]}")

    return feed


@case("U06_text", "a text of 200 MB in the arguments of an event")
def _(program):
    rows = program.rows("-", feed=long_text(200))
    demand([row["name"] for row in rows] == ["long", "after"], rows)


@case(
    "U06_string",
    "a text of 2 GB: its event is kept, or said to be too large with its place; the next is kept",
    slow=True,
)
def _(program):
    names = [row["name"] for row in program.rows("-", feed=long_text(2048), timeout=120)]
    demand(names[-1] == "after", names)
    if names != ["long", "after"]:
        found = program.findings("-", feed=long_text(2048), timeout=120)["event_too_large"]
        demand(found["severity"] == "FAIL" and found["offset"] == 16, found)
        verdict = program.verdicts("-", feed=long_text(2048), timeout=120)["left_out"]
        demand(verdict["verdict"] == "FAIL" and "256 MB" in verdict["evidence"], verdict)


@case("U07_long", "a name of 10 MB")
def _(program):
    rows = program.rows("-", data=trace([event("n" * 10**7, 1, 1), event("after", 5, 1)]))
    demand([len(row["name"]) for row in rows] == [10**7, 5], [len(row["name"]) for row in rows])


@case("U09", "descending times, 65,537 threads, 300,000 names, names made to collide")
def _(program):
    backwards = trace([event(f"a{i % 5}", 10**6 - i * 3, 2) for i in range(100_000)])
    demand(sum(row["self_cpu_ns"] for row in program.rows("-", data=backwards, timeout=20)) == 200_000_000, "times")
    threads = trace([event("t", 1, 2, tid=i) for i in range(65_537)])
    demand(count_of(program.rows("-", data=threads, timeout=20), "t") == 65_537, "threads")
    names = trace([event(f"n{i}", i * 3, 2) for i in range(300_000)])
    demand(len(program.rows("-", data=names, timeout=30)) == 300_000, "names")
    alike = trace(
        [event("Aa" * i + "BB" * (300 - i) + "x" * j, (i * 300 + j) * 3, 2) for i in range(300) for j in range(60)]
    )
    demand(len(program.rows("-", data=alike, timeout=20)) >= 17_000, "alike")


@case("U09_equal", "ten million equal events", slow=True)
def _(program):
    block = b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":9},' * 10_000

    def feed(pipe):
        pipe.write(b'{"traceEvents":[')
        for _ in range(1000):
            pipe.write(block)
        pipe.write(b"]}")

    demand(count_of(program.rows("--raw", "-", feed=feed, timeout=180), "a") == 10**7, "events are lost")


@case("U10_names", "the content decides, not the name: gzip called .json, text called .gz")
def _(program):
    with temporary(gzip.compress(SMALL), ".json") as one, temporary(SMALL, ".json.gz") as two:
        demand(program.rows(one.name) == program.rows(two.name) != [], "rows differ")


@case("U10_zstd", "zstd is read, or named with the way out")
def _(program):
    frame = b"\x28\xb5\x2f\xfd\x20" + bytes([len(SMALL) % 256])
    if len(SMALL) > 255:  # a frame of one raw block, content size in two bytes
        frame = b"\x28\xb5\x2f\xfd\x60" + (len(SMALL) - 256).to_bytes(2, "little")
    packed = frame + (len(SMALL) << 3 | 1).to_bytes(3, "little") + SMALL
    with temporary(packed, ".json.zst") as file:
        result = program("top", file.name, "--format", "json", code=None)
        demand(
            result.code == 0 and len(json.loads(result.out)["rows"]) == 5 or result.code == 3 and "zstd" in result.err,
            result.err,
        )


@case("U10_pipe", "standard input and a FIFO give what the file gives")
def _(program):
    with temporary(SMALL) as file, tempfile.TemporaryDirectory() as folder:
        want = program.rows(file.name)
        demand(program.rows("-", data=SMALL) == want, "standard input differs")
        demand(program.rows("-", data=gzip.compress(SMALL)) == want, "standard input, gzip, differs")
        fifo = Path(folder) / "fifo"
        os.mkfifo(fifo)
        threading.Thread(target=lambda: fifo.write_bytes(SMALL), daemon=True).start()
        demand(program.rows(fifo) == want, "FIFO differs")
        writer = threading.Thread(target=lambda: write_slowly(fifo), daemon=True)
        writer.start()
        demand(program.rows(fifo) == want, "a slow FIFO differs")


def write_slowly(path):
    with open(path, "wb", buffering=0) as file:
        for at in range(0, len(SMALL), 97):
            file.write(SMALL[at : at + 97])
            time.sleep(0.002)


@case("U10_grows", "a file that grows while it is read gives a prefix of its events")
def _(program):
    with temporary(
        b'{"traceEvents":[' + b",".join(json.dumps(event(f"n{i}", i, 1)).encode() for i in range(20_000))
    ) as file:
        stop = threading.Event()

        def grow():
            for i in itertools.count(20_000):
                if stop.is_set() or i > 200_000:
                    return
                file.write(b"," + json.dumps(event(f"n{i}", i, 1)).encode())
                file.flush()

        writer = threading.Thread(target=grow)
        writer.start()
        try:
            rows = program.rows(file.name)
        finally:
            stop.set()
            writer.join()
        demand(len(rows) >= 20_000 and [row["name"] for row in rows] == [f"n{i}" for i in range(len(rows))], len(rows))


@case("U10_no_file", "no file, a directory without traces, /dev/null, no permission: a message and exit 3")
def _(program):
    with tempfile.TemporaryDirectory() as folder, temporary(SMALL) as file:
        for path in (Path(folder) / "none.json", folder, "/dev/null", ""):
            result = program("top", path, code=3)
            demand(result.err.startswith("opscope: ") and not result.out, result.err)
        os.chmod(file.name, 0)
        if os.geteuid() != 0:  # root may read everything
            demand("ermission" in program("top", file.name, code=3).err, "no reason given")
        os.chmod(file.name, stat.S_IRUSR)


@case("U10_full", "a full disk is said and is no success")
def _(program):
    with temporary(SMALL) as file, open("/dev/full", "wb") as full:
        done = subprocess.run(
            [program.path, "top", file.name], stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
        demand(done.returncode not in (0, 1) and b"cannot write" in done.stderr, done)


@case("U10_bomb", "a gzip bomb ends at a stated limit, in bounded memory")
def _(program):
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = b" " * (1 << 24)
    head = pack.compress(b'{"traceEvents":[')
    data = head + b"".join(pack.compress(block) for _ in range(24)) + pack.flush()  # 384 MiB in 0.4 MB
    with temporary(data, ".json.gz") as file:
        result = program("top", file.name, "--max-size", "64M", code=3)
        demand("--max-size" in result.err, "the limit does not say how to raise it:", result.err)


@case("U11_formats", "odd names survive csv and Markdown, and never steer a terminal")
def _(program):
    path = DATA / "U11_names.json"
    name = program.rows(path)[0]["name"]
    cells = [row["name"] for row in csv.DictReader(io.StringIO(program("top", path, "--format", "csv").out))]
    demand(cells[0].lstrip("'") == name, cells)
    lines = program("top", path, "--format", "md").out.splitlines()
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in lines if line.startswith("|")}
    demand(len(bars) == 1, "cells of the Markdown table do not match", lines)
    demand("\x1b" not in program("top", path).out, "escape bytes reach the terminal")


@case("U13_limits", "row limits 0, -1 and huge")
def _(program):
    with temporary(SMALL) as file:
        lines = [
            len(program("top", file.name, "--like-torch", f"--row-limit={n}").out.splitlines())
            for n in (0, 1, -1, 10**15)
        ]
        demand(lines[0] + 1 == lines[1] and lines[2] == lines[3] == lines[0] + 5, lines)
        demand(len(program.rows(file.name, "-n", "0")) == 0, "-n 0")
