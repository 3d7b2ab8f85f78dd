"""Invariants over random traces (known-bad-inputs.md section 10)."""

import gzip
import itertools
import json
import random
import re
import tempfile

from bad.kit import KEY, SEED, case, demand, event, kernel, launch, ranks, temporary, trace


def random_trace(seed, count=150):
    """Operators nested properly on three threads, launches and kernels, whole ns; events in order of Ev Idx."""
    noise = random.Random(seed)
    events, number = [], itertools.count(1)

    def fill(tid, start, end, depth):
        at = start
        while depth and end - at > 400 and len(events) < count:
            first = at + noise.randrange(1, 100)
            last = first + noise.randrange(50, max(51, min(end - first, 4000)))
            if last >= end:
                return
            i = next(number)
            args = {"External id": i, "Ev Idx": i, "Input Dims": [[noise.randrange(1, 3)]]}
            events.append(event(f"op{noise.randrange(6)}", first / 1000, (last - first) / 1000, tid=tid, args=args))
            if noise.random() < 0.5:
                events.append(launch((first + 1) / 1000, 0.005, i, i, tid=tid))
                events.append(
                    kernel(f"k{noise.randrange(3)}", (last + 100) / 1000, noise.randrange(1, 3000) / 1000, i, i)
                )
            fill(tid, first + 10, last, depth - 1)
            at = last

    for tid in (1, 2, 3):
        fill(tid, 0, 10**6, 4)
    return events


def keyed(rows):
    return {
        tuple(row[k] for k in KEY): {k: v for k, v in row.items() if k not in ("has_parent", "rank")} for row in rows
    }


@case("V01", "the result does not depend on the order of events and keys, on white space, on gzip")
def _(program):
    noise = random.Random(SEED)
    for seed in range(4):
        events = random_trace(seed)
        want = keyed(program.rows("-", data=trace(events)))
        shuffled = [dict(noise.sample(list(e.items()), len(e))) for e in noise.sample(events, len(events))]
        for data in (
            trace(shuffled),
            json.dumps({"traceEvents": events}, indent=3).encode(),
            gzip.compress(trace(events)),
        ):
            demand(keyed(program.rows("-", data=data)) == want, "seed", seed)


@case("V01_ranks", "ranks read apart add up to what each gives alone")
def _(program):
    with tempfile.TemporaryDirectory() as folder:
        files = [trace(random_trace(seed)) for seed in range(3)]
        rows = program.rows(ranks(folder, *files), "--group-by", "rank")
        for number, data in enumerate(files):
            mine = keyed(row for row in rows if str(row["rank"]) == str(number))
            demand(mine == keyed(program.rows("-", data=data)), "rank", number)


def union(spans):
    total, end = 0, None
    for a, b in sorted(spans):
        total += max(0, b - (a if end is None else max(a, end)))
        end = b if end is None else max(end, b)
    return total


@case("V02", "self CPU times of nested events add up to the union of the events")
def _(program):
    for seed in range(4):
        events = [e for e in random_trace(seed) if e["cat"] == "cpu_op"]
        want = sum(
            union([(round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in events if e["tid"] == tid])
            for tid in (1, 2, 3)
        )
        got = sum(row["self_cpu_ns"] for row in program.rows("-", data=trace(events), **{}))
        demand(got == want, "seed", seed, got, want)


@case("V03", "kernels of operators plus unlinked ones are all device work (raw mode)")
def _(program):
    for seed in range(4):
        events = random_trace(seed) + [kernel("lost", 5000, 1.5, 99999)]
        rows = program.rows("--raw", "-", data=trace(events))
        mine = sum(row["self_device_ns"] for row in rows if row["device_type"] == "CPU")
        device = sum(row["self_device_ns"] for row in rows if row["device_type"] != "CPU")
        demand(mine + 1500 == device, "seed", seed, mine, device)


@case("V04", "totals are equal for any grouping")
def _(program):
    for seed in range(3):
        data = trace(random_trace(seed))
        sums = {
            tuple(
                sum(row[k] for row in program.rows(*options, "-", data=data))
                for k in ("count", "self_cpu_ns", "self_device_ns")
            )
            for options in ([], ["--group-by", "shape"], ["--group-by", "thread"])
        }
        demand(len(sums) == 1, sums)


@case("V05", "busy time is at most the span and at most the sum of durations")
def _(program):
    for seed in range(3):
        events = random_trace(seed) + [event("ProfilerStep#1", 0, 2000, cat="user_annotation", tid=1)]
        kernels = [(round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000)) for e in events if e["cat"] == "kernel"]
        row = program.json("steps", "-", data=trace(events))["rows"][0]
        busy = row["busy_ns"]
        demand(busy == union(kernels) <= sum(b - a for a, b in kernels), "seed", seed, busy)
        demand(busy <= max(b for _, b in kernels) - min(a for a, _ in kernels), "over the span")


@case("V06", "cut at random bytes, damaged at random bytes: never a crash, kept events a prefix when only cut")
def _(program):
    noise = random.Random(SEED)
    text = trace(random_trace(5, 60))
    names = [e["name"] for e in json.loads(text)["traceEvents"]]
    for _ in range(60):
        k = noise.randrange(len(text))
        result = program("top", "--raw", "-", "--format", "json", data=text[:k], code=None)
        demand(result.code in (0, 3), "exit", result.code)
        kept = sum(row["count"] for row in json.loads(result.out)["rows"]) if result.code == 0 else 0
        demand(kept <= len(names) and kept >= text[:k].count(b"}},{"), "after", k, kept)
    for _ in range(100):
        damaged = bytearray(text)
        for _ in range(noise.randrange(1, 6)):
            damaged[noise.randrange(len(damaged))] = noise.choice(b'"\\{}[],:\0\xff 0a')
        for command in ("top", "info", "check"):
            demand(program(command, "-", "--format", "json", data=bytes(damaged), code=None).code in (0, 1, 3), "exit")


@case("V07", "adding an offset to all times changes nothing")
def _(program):
    for seed in range(3):
        events = random_trace(seed)
        want = keyed(program.rows("-", data=trace(events)))
        text = trace(events).decode()
        moved = re.sub(
            r'"ts":([\d.e-]+)',
            lambda m: '"ts":%d.%03d' % divmod(round(float(m[1]) * 1000) + 1_712_345_678_901_234_567, 1000),
            text,
        )
        demand(keyed(program.rows("-", data=moved.encode())) == want, "seed", seed)


@case("V08", "a file read twice gives the same bytes: its difference to itself is empty")
def _(program):
    data = trace(random_trace(7))
    for command in ("top", "info", "check"):
        one, two = (program(command, "-", "--format", "json", data=data, code=None).out for _ in (1, 2))
        demand(one == two and one, command, "differs")


@case("V09", "raw counts are at least those without duplicates")
def _(program):
    for seed in range(3):
        events = random_trace(seed) + [event("op1", 2000 + i, 8 - 2 * i, args={"Ev Idx": 9000 + i}) for i in range(3)]
        raw, plain = (keyed(program.rows(*options, "-", data=trace(events))) for options in (["--raw"], []))
        demand(all(raw[key]["count"] >= row["count"] for key, row in plain.items()), "seed", seed)
        demand(
            sum(row["count"] for row in raw.values()) >= sum(row["count"] for row in plain.values()) + 2, "seed", seed
        )


@case("V10", "the same bytes for any number of threads")
def _(program):
    events = [e for seed in range(40) for e in random_trace(seed, 400)]
    with temporary(trace(events)) as file:
        outputs = {program("top", file.name, "--format", "json", "--threads", n).out for n in (1, 2, 3, 8)}
        demand(len(outputs) == 1, len(outputs), "different results")
