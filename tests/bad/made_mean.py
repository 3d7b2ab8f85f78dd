"""Cases of meaning that are made: times, nesting, links, results (T, N, L, R)."""

import csv
import io
import json
import random
import re
import shutil
import tempfile
from pathlib import Path

from bad.kit import DATA, ROOT, SEED, case, count_of, demand, event, kernel, launch, ranks, temporary, trace


@case("T02", "fractions without leading zeros: check warns, nothing is corrected")
def _(program):
    noise = random.Random(SEED)
    clock, events = 1_710_000_000_000_000_000, []
    for _ in range(2000):
        clock += noise.randrange(2000, 9000)
        events.append('{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d.%d,"dur":1}' % divmod(clock, 1000))
    text = '{"traceEvents":[%s]}' % ",".join(events)
    rows = program.verdicts("-", data=text.encode())
    demand(rows["fractions"]["verdict"] == "warn", rows["fractions"])
    fine = re.sub(r"\.(\d+)", lambda m: "." + m[1].zfill(3), text)
    demand(program.verdicts("-", data=fine.encode())["fractions"]["verdict"] == "ok", "a well-written file is accused")


@case("T03_bases", "ranks whose bases differ by a quarter are put on one clock by their bases")
def _(program):
    first, second = 1767189312, 1775078550
    step = lambda ts: [event("ProfilerStep#1", ts, 500, cat="user_annotation")]
    with tempfile.TemporaryDirectory() as folder:
        ranks(
            folder,
            trace(step((second - first) * 1e6 + 10), baseTimeNanoseconds=first * 10**9),
            trace(step(10), baseTimeNanoseconds=second * 10**9),
        )
        demand(program.verdicts(folder)["rank_clocks"]["verdict"] == "ok", program.verdicts(folder)["rank_clocks"])
    with tempfile.TemporaryDirectory() as folder:
        ranks(folder, trace(step(10), baseTimeNanoseconds=first * 10**9), trace(step(10)))
        demand(program.verdicts(folder)["rank_clocks"]["verdict"] == "FAIL", "a rank without a base is not said")


@case("T11_session", "a session without device events in trace.json: check says that correlation was off")
def _(program):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "session"
        shutil.copytree(ROOT / "tests/data/scope/session", copy)
        demand(program.verdicts(copy)["linked"]["verdict"] == "ok", "the whole session is not ok")
        file = next(copy.rglob("trace.json"))
        document = json.loads(file.read_text())
        document["traceEvents"] = [e for e in document["traceEvents"] if e.get("cat") not in ("kernel", "gpu_memcpy")]
        file.write_text(json.dumps(document))
        row = program.verdicts(copy)["linked"]
        demand(row["verdict"] == "warn" and "correlate_device_time" in row["advice"], row)


@case("T11_cut", "a session file cut at the end: check names it and exits 1; --allow lets it pass")
def _(program):
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "session"
        shutil.copytree(ROOT / "tests/data/scope/session", copy)
        file = next(copy.rglob("ntrace.pb"))
        file.write_bytes(file.read_bytes()[:-20])
        row = program.verdicts(copy)["truncated"]
        demand(row["verdict"] == "FAIL" and "ntrace.pb" in row["evidence"], row)
        program("check", copy, "--allow", "truncated", code=0)


@case("N06_many", "a thousand frames that end with the window are counted, and a warning says what that means")
def _(program):
    frames = [
        event(f"m{i}.py(1): g", i, 5000 - i, cat="python_function", args={"Python id": i, "Ev Idx": i})
        for i in range(1000)
    ]
    row = program.verdicts("-", data=trace(frames + [event("aten::mul", 2000, 3000)]))["frames"]
    demand(row["verdict"] == "warn" and row["count"] == 1000, row)


@case("R06", "the sums are the same for any grouping")
def _(program):
    noise = random.Random(SEED)
    events = [
        event(f"f{i % 3}.py(1): f", i * 100, 90, cat="python_function", args={"Ev Idx": 3 * i, "Python id": i})
        for i in range(60)
    ]
    for i in range(60):
        shape = [[noise.randrange(1, 4), 2]]
        events.append(
            event(
                "aten::mm",
                i * 100 + 10,
                noise.randrange(5, 50),
                args={"External id": i + 1, "Ev Idx": 3 * i + 1, "Input Dims": shape},
            )
        )
        events += [
            launch(i * 100 + 11, 2, i + 1, i + 1),
            kernel("k", i * 100 + 60, noise.randrange(5, 30), i + 1, i + 1),
        ]
    with temporary(trace(events)) as file:
        sums = []
        for options in (
            [],
            ["--group-by", "shape"],
            ["--group-by", "stack"],
            ["--group-by", "thread"],
            ["--group-by", "step"],
        ):
            rows = program.rows(file.name, "--no-python-rows", *options)
            sums.append([sum(row[k] for row in rows) for k in ("count", "self_cpu_ns", "self_device_ns")])
        demand(all(one == sums[0] for one in sums), sums)


@case("R05_raw", "duplicates are kept on request: raw counts are never below PyTorch's")
def _(program):
    rows = program.rows(DATA / "R05.json", "--raw")
    demand([(row["count"], row["self_cpu_ns"]) for row in rows] == [(2, 10_000)], rows)


@case("R16_linked", "--linked-only leaves the kernels out whose operator is not known")
def _(program):
    rows = program.rows(DATA / "R16.json", "--linked-only")
    demand([row["count"] for row in rows if row["name"] == "k"] == [10], rows)
    demand(count_of(program.rows(DATA / "R16.json"), "k") == 40, "not all are there")


@case("V08_strict", "--strict turns any repair into exit 1, and changes nothing else")
def _(program):
    for name, code in (
        ("J01", 1),
        ("J02", 1),
        ("J07", 1),
        ("J09", 1),
        ("J15", 1),
        ("T06", 1),
        ("J11", 0),
        ("J17", 0),
        ("U01_text", 0),
    ):
        strict = program("top", DATA / f"{name}.json", "--strict", "--format", "json", code=code)
        demand(strict.out == program("top", DATA / f"{name}.json", "--format", "json").out, name, "differs")


@case("R12_csv", "csv has every row, whole names and the device")
def _(program):
    rows = list(csv.DictReader(io.StringIO(program("top", DATA / "R12.json", "--format", "csv").out)))
    demand(sorted(row["device_type"] for row in rows) == ["CPU", "CUDA", "CUDA"], rows)
    demand(all(len(row["name"]) > 80 for row in rows), "names are cut")
