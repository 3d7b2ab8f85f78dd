"""Cases of reading that are made: damaged and cut text, sizes, compression (J, S)."""

import gzip
import json
import os
import random
import tempfile
import zlib
from pathlib import Path

from bad.kit import DATA, SEED, SMALL, case, count_of, demand, event, ranks, temporary, trace
from bad.files import find_row


@case("J06", "a gzip file whose content stops early reads as a file cut there")
def _(program):
    cut = SMALL[: SMALL.rindex(b'{"ph"')]
    with temporary(gzip.compress(cut), ".json.gz") as file:
        demand(len(program.rows(file.name)) == 4, "4 rows are complete")
        demand(program.findings(file.name)["truncated"]["severity"] == "FAIL", "no finding")


@case("J06_body", "a gzip file cut at any byte gives the events before the cut, or says that there is none")
def _(program):
    noise = random.Random(SEED)
    events = [event(f"op{noise.getrandbits(64)}", i * 3, 1) for i in range(400)]
    packed = gzip.compress(trace(events))
    for length in range(0, len(packed), max(1, len(packed) // 25)):
        with temporary(packed[:length], ".json.gz") as file:
            result = program("top", file.name, "--format", "json", code=None)
            demand(result.code in (0, 3), "exit", result.code, "at", length)
            names = [row["name"] for row in json.loads(result.out)["rows"]] if result.code == 0 else []
            demand(names == [e["name"] for e in events][: len(names)], "not a prefix at", length)


@case("J15_every_byte", "the file cut after k bytes, for every k: the complete events before the cut, and the place")
def _(program):
    names = [e["name"] for e in json.loads(SMALL)["traceEvents"]]
    ends = [SMALL.index(f'"{name}"'.encode()) for name in names]  # an event is complete some bytes after its name
    text = SMALL
    for k in range(len(text)):
        result = program("top", "-", "--format", "json", data=text[:k], code=None, timeout=20)
        demand(result.code in (0, 3), "exit", result.code, "after", k, result.err)
        got = [row["name"] for row in json.loads(result.out)["rows"]] if result.code == 0 else []
        demand(got == names[: len(got)], "after", k, "bytes:", got)
        demand(len(got) >= sum(1 for end in ends[1:] if end < k), "after", k, "bytes an event is lost:", got)
        if text.find(b"[") < k < text.rindex(b"]"):
            demand(
                "ends inside the trace" in result.err or "truncated" in result.err,
                "after",
                k,
                "nothing is said:",
                result.err,
            )


@case("J18", "cut writes valid JSON whatever it read")
def _(program):
    for name in ("J01", "J02", "J03", "J04", "J07", "J08", "J09", "J10", "J15"):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            program("cut", DATA / f"{name}.json", "-o", out)
            document = json.loads(out.read_bytes())
            demand(document["traceEvents"], name, "no events")
            ours, theirs = (sum(row["count"] for row in program.rows(path)) for path in (out, DATA / f"{name}.json"))
            demand(ours == theirs, name, ours, "events, not", theirs)


def padded(marked, size):
    """Writes a trace of exactly `size` bytes: events of 1 MiB (in args), and at the end one named `marked`."""
    filler = b'{"ph":"X","cat":"cpu_op","name":"filler","pid":1,"tid":1,"ts":1,"dur":1,"args":{"x":"' + b"y" * (
        (1 << 20) - 100
    )
    filler += b'"}},'
    tail = json.dumps(event(marked, 5, 2)).encode() + b"]}"
    head = b'{"traceEvents":['

    def feed(pipe):
        pipe.write(head)
        left = size - len(head) - len(tail)
        for _ in range(left // len(filler)):
            pipe.write(filler)
        pipe.write(b" " * (left % len(filler)))
        pipe.write(tail)

    return feed, (size - len(head) - len(tail)) // len(filler)


def check_size(program, size):
    feed, fillers = padded("marked", size)
    rows = program.rows("--raw", "-", feed=feed, timeout=120)  # raw: equal events of one name are duplicates
    demand(count_of(rows, "filler") == fillers, count_of(rows, "filler"), "of", fillers)
    demand(count_of(rows, "marked") == 1, "the last event is lost at", size)


@case("S01", "2.2 GB: linear time, memory by what is kept", slow=True)
def _(program):
    check_size(program, 2_200_000_000)


def sparse(folder, events, hole):
    """A plain file of events that each hold a text of `hole` zero bytes, and a marked one; takes no room on disk."""
    path = Path(folder) / "sparse.json"
    with open(path, "wb") as file:
        file.write(b'{"traceEvents":[')
        for i in range(events):
            file.write(b'{"ph":"X","name":"hole","ts":%d,"dur":1,"args":{"x":"' % (i * 2))
            file.seek(hole, os.SEEK_CUR)
            file.write(b'"}},')
        file.write(json.dumps(event("marked", 5000, 2)).encode() + b"]}")
    return path


@case("S02", "an event beyond 4 GiB of a plain file is counted", slow=True)
def _(program):
    with tempfile.TemporaryDirectory() as folder:
        rows = program.rows(sparse(folder, 43, 100 << 20), timeout=120)
        demand(count_of(rows, "hole") == 43 and count_of(rows, "marked") == 1, rows)


@case("S03", "sizes around 2^31 and 2^32 through a pipe", slow=True)
def _(program):
    for size in ((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1):
        check_size(program, size)


@case("S04", "1.1 million events: no limit on their number")
def _(program):
    def feed(pipe):
        pipe.write(b'{"traceEvents":[')
        for start in range(0, 1_100_000, 10_000):
            pipe.write(
                b"".join(
                    b'{"ph":"X","name":"a","pid":1,"tid":1,"ts":%d,"dur":1},' % (i * 2)
                    for i in range(start, start + 10_000)
                )
            )
        pipe.write(b"]}")

    demand(count_of(program.rows("-", feed=feed), "a") == 1_100_000, "events are lost")


@case("S05", "gzip members in a row are one stream; empty ones and padding zeros do not matter")
def _(program):
    half = len(SMALL) // 2
    members = gzip.compress(SMALL[:half]) + gzip.compress(b"") + gzip.compress(SMALL[half:]) + b"\0" * 700
    with temporary(members, ".json.gz") as file, temporary(SMALL) as plain:
        demand(program.rows(file.name) == program.rows(plain.name), "rows differ")
        demand("trailing_garbage" not in program.findings(file.name), "padding is called garbage")


@case("S05_fields", "extra fields, names and comments of a gzip header are skipped")
def _(program):
    body = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = body.compress(SMALL) + body.flush()
    head = b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03" + b"\x04\0ABCD" + b"name\0" + b"note\0"
    head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    tail = zlib.crc32(SMALL).to_bytes(4, "little") + len(SMALL).to_bytes(4, "little")
    with temporary(head + packed + tail, ".json.gz") as file:
        demand(len(program.rows(file.name)) == 5, "rows are lost")


@case("S05_garbage", "bytes behind the last gzip member are said")
def _(program):
    with temporary(gzip.compress(SMALL) + b"garbage!", ".json.gz") as file:
        demand(len(program.rows(file.name)) == 5, "rows are lost")
        demand(
            program.findings(file.name).get("trailing_garbage", {}).get("severity") == "warn",
            program.findings(file.name),
        )


@case("S05_checksum", "a wrong checksum of a gzip member is a failure that keeps the events")
def _(program):
    packed = bytearray(gzip.compress(SMALL))
    packed[-8] ^= 1
    with temporary(bytes(packed), ".json.gz") as file:
        result = program("info", file.name, "--format", "json", code=None)
        demand(
            result.code == 3 or any(row["severity"] == "FAIL" for row in json.loads(result.out)["rows"]),
            "nothing is said",
        )


@case("S06", "200,000 events at one instant, and 100,000 nested ones: no recursion, no quadratic time")
def _(program):
    same = trace([event("a", 5, 10) for _ in range(200_000)])
    demand(count_of(program.rows("-", data=same, timeout=20), "a") >= 1, "no row")
    deep = trace([event(f"d{i % 7}", i, 400_000 - 2 * i, args={"Ev Idx": i}) for i in range(100_000)])
    rows = program.rows("-", data=deep, timeout=20)
    demand(sum(row["count"] for row in rows) == 100_000, "events are lost")
    demand(sum(row["self_cpu_ns"] for row in rows) == 400_000_000, "self times do not add up to the outermost")


@case("S07", "200,000 pairs of one name: duplicates are removed in linear time")
def _(program):
    pairs = [event("A", i * 10 + d, 8 - 2 * d, args={"Ev Idx": 2 * i + d}) for i in range(200_000) for d in (0, 1)]
    rows = program.rows("-", data=trace(pairs), timeout=20)
    demand(rows[0]["count"] == 200_000 and rows[0]["self_cpu_ns"] == 1_600_000_000, rows[0])


@case("S08", "a directory of ranks is read one file after the other; rows are added up, or say their rank")
def _(program):
    with tempfile.TemporaryDirectory() as folder:
        ranks(folder, *(trace([event(f"op{r}", 1, r + 1), event("all", 50, 2)]) for r in range(5)))
        rows = [row for row in program.rows(folder, "--group-by", "rank") if row["name"] != "all"]
        want = [(str(r), f"op{r}", (r + 1) * 1000) for r in range(5)]
        demand([(str(row["rank"]), row["name"], row["self_cpu_ns"]) for row in rows] == want, rows)
        demand(find_row(program.rows(folder), {"name": "all"})["self_cpu_ns"] == 10_000, "ranks are not added up")


@case("S09", "exactly a million events: check says that the writer may have stopped there")
def _(program):
    def feed(pipe):
        pipe.write(b'{"traceEvents":[')
        for start in range(0, 1_000_000, 10_000):
            pipe.write(
                b",".join(
                    b'{"ph":"X","name":"a","pid":1,"tid":%d,"ts":%d,"dur":1}' % (i & 1, i * 2)
                    for i in range(start, start + 10_000)
                )
            )
            pipe.write(b"," if start < 990_000 else b"")
        pipe.write(b"]}")

    demand(program.verdicts("-", feed=feed)["cap"]["verdict"] == "warn", "no warning")


@case("S10", "a million python frames beside a thousand operators")
def _(program):
    def feed(pipe):
        pipe.write(b'{"traceEvents":[')
        for i in range(1000):
            pipe.write(json.dumps(event("aten::mul", i * 2000, 1000)).encode() + b",")
            pipe.write(
                b"".join(
                    b'{"ph":"X","cat":"python_function","name":"f.py(%d): f","pid":1,"tid":1,"ts":%d,"dur":1,'
                    b'"args":{"Python id":%d,"Python parent id":null}},'
                    % (k, i * 2000 + k, k)
                    for k in range(1000)
                )
            )
        pipe.write(b"]}")

    rows = program.rows("--no-python-rows", "-", feed=feed, timeout=60)
    demand(len(rows) == 1 and rows[0]["count"] == 1000 and rows[0]["self_cpu_ns"] == 1_000_000_000, rows[:3])


@case("S11", "one metadata event a million times costs nothing and the last one counts")
def _(program):
    meta = b'{"ph":"M","name":"thread_name","pid":1,"tid":1,"ts":0,"args":{"name":"%s"}},'

    def feed(pipe):
        pipe.write(b'{"traceEvents":[')
        for _ in range(100):
            pipe.write(meta % b"old" * 10_000)
        pipe.write(meta % b"last" + json.dumps(event("a", 1, 1)).encode() + b"]}")

    demand(count_of(program.rows("-", feed=feed), "a") == 1, "the event is lost")
