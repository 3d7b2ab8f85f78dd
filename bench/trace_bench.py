"""The trace engine against its goals and its peers: speed, memory, threads, compressed files, start-up.

    bench/trace_bench.py                 100 MB and 1 GB of synthetic trace, three large real ones
    bench/trace_bench.py --quick         100 MB alone, under two minutes
    bench/trace_bench.py --big           also 10 GB, through a pipe and as a file
    bench/trace_bench.py --format json   everything measured, as one JSON object

Every rate is MB (10^6 bytes of plain JSON) per second of processor time, user and system, of the whole process, from a
warm page cache: the best of five, of fewer for what is slow (the column says). Peers come from bench/peers/setup.sh; one
that is missing is a row that says how to get it. Real traces are taken from OPSCOPE_SHARED (default ../shared).
"""
import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import _trace_peers as peers  # noqa: E402  (after the path it needs)

ROOT = Path(__file__).resolve().parent.parent
REAL = ["v100_resnet50_2021", "mi300_resnet_checkpoint", "v100_absolute_ns_2024"]
ROUNDS = 5
SLOW_S = 3.0          # a command that takes longer than this is measured once
RATIO_GOAL = 1.1      # exact top on one core / simdjson's extraction
THREADS_GOAL = 0.9    # gain of a second thread / gain of reading and scanning alone
GZIP_GOAL = 1.2       # wall of .json.gz on two threads / the larger of inflating alone and the plain file on one
MEMORY_GOAL = 0.35    # peak memory / size of the file
START_GOAL_S = 0.005
ANALYSIS_GOAL_S = 1.0  # seconds per 10 million events
PROCESS_BYTES = 6e6   # the program itself and libc, beside what it reads


class Bench:
    def __init__(self, options):
        self.options = options
        self.opscope = str(Path(options.opscope).resolve())
        self.data = Path(options.data).resolve()
        self.programs = self.data / "programs"
        self.rows, self.verdicts, self.problem = [], [], ""
        self.data.mkdir(parents=True, exist_ok=True)
        self.version = (peers.output(self.opscope, "--version").split()[1:2] or ["?"])[0]
        self.measure_program = self.programs / "measure"
        problem = peers.compile_program(peers.PEERS / "measure.c", self.measure_program)
        if problem:
            sys.exit(f"trace_bench: cannot compile bench/peers/measure.c: {problem}")

    # ---- measuring ----

    def once(self, words, stdin=None):
        """wall_s, cpu_s, peak_bytes of one run, or None when the command failed."""
        with tempfile.NamedTemporaryFile(dir=self.programs) as out:
            result = subprocess.run([str(self.measure_program), out.name, *words], check=False, stdin=stdin or
                                    subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if result.returncode != 0:
                self.problem = (result.stderr.strip().splitlines() or [f"exit {result.returncode}"])[-1]
                return None
            return json.loads(Path(out.name).read_text())

    def best(self, words, rounds=ROUNDS):
        """The best of several runs, each figure by itself; peak memory is the highest. None when it failed."""
        runs = []
        while len(runs) < rounds:
            run = self.once(words)
            if run is None:
                return None
            runs.append(run)
            if run["wall_s"] > SLOW_S:
                break
        return {"wall_s": min(r["wall_s"] for r in runs), "cpu_s": min(r["cpu_s"] for r in runs),
                "peak_bytes": max(r["peak_bytes"] for r in runs), "runs": len(runs)}

    def add(self, trace, tool, version, command, result, missing=""):
        size = trace["bytes"]
        row = {"file": trace["name"], "bytes": size, "tool": tool, "version": version, "command": command,
               "missing": missing}
        if result:
            row.update(result, mb_per_cpu_s=size / 1e6 / result["cpu_s"], memory_x=result["peak_bytes"] / size)
        self.rows.append(row)
        return row if result else None

    def verdict(self, name, value, goal, unit, below, note=""):
        """One goal with the figure beside it; value None: not measured, note says why."""
        met = None if value is None else (value <= goal if below else value >= goal)
        self.verdicts.append({"goal": name, "value": value, "limit": goal, "unit": unit,
                              "direction": "at most" if below else "at least", "met": met, "note": note})

    # ---- files ----

    def synthetic(self, size, style="kineto"):
        """A synthetic trace of about that size, made once."""
        program = self.programs / "make_trace"
        problem = peers.compile_program(ROOT / "bench/data/make_trace.c", program)
        if problem:
            sys.exit(f"trace_bench: cannot compile bench/data/make_trace.c: {problem}")
        path = self.data / f"synthetic_{size}{'' if style == 'kineto' else '_' + style}.json"
        if not path.exists():
            subprocess.run([str(program), "-s", size, "--style", style, "-o", str(path)], check=True,
                           stderr=subprocess.DEVNULL)
        return self.trace(path)

    def real(self):
        """The three largest real traces, inflated once; empty, and said, when they are not there."""
        folder = Path(os.environ.get("OPSCOPE_SHARED") or ROOT.parent / "shared") / "traces"
        found = []
        for name in REAL:
            source, path = folder / f"{name}.json.gz", self.data / f"{name}.json"
            if not source.exists():
                print(f"# {name}: not there (set OPSCOPE_SHARED to the folder that holds traces/)", file=sys.stderr)
                continue
            if not path.exists():
                with gzip.open(source) as packed, open(path, "wb") as plain:
                    shutil.copyfileobj(packed, plain)
            found.append(self.trace(path))
        return found

    def trace(self, path):
        packed = path.with_name(path.name + ".gz")
        if not packed.exists():
            with open(path, "rb") as plain, gzip.open(packed, "wb", compresslevel=6) as out:
                shutil.copyfileobj(plain, out, 1 << 20)
        for file in (path, packed):  # into the page cache
            with open(file, "rb") as content:
                while content.read(1 << 22):
                    pass
        return {"name": path.stem, "path": path, "gz": packed, "bytes": path.stat().st_size}

    # ---- opscope ----

    def opscope_rows(self, trace):
        """Rows and goals of one file; the row of one thread."""
        version = self.version
        top = [self.opscope, "top", "--format", "json"]
        runs = {}
        for threads in (1, 2):
            words = [*top, "--threads", str(threads), str(trace["path"])]
            runs[threads] = self.add(trace, f"opscope top, {threads} thread{'s' * (threads > 1)}", version,
                                     f"opscope top --format json --threads {threads} FILE", self.best(words))
        words = [*top, "--threads", "2", str(trace["gz"])]
        runs["gz"] = self.add(trace, "opscope top, .json.gz", version, "opscope top --format json --threads 2 FILE.gz",
                              self.best(words))
        for key in (1, 2, "gz"):
            if runs[key] is None:
                sys.exit(f"trace_bench: opscope failed on {trace['name']}: {self.problem}")
        self.thread_goal(trace, runs)
        self.gzip_goal(trace, runs)
        return runs[1]

    def thread_goal(self, trace, runs):
        scan = self.programs / "scan_bench"
        name = f"{trace['name']}: second thread's gain, of a scan's"
        problem = peers.compile_program(ROOT / "bench/scan_bench.c", scan, "-pthread")
        if problem or (os.cpu_count() or 1) < 2:
            self.verdict(name, None, THREADS_GOAL, "", False, problem or "one core")
            return
        one, two = (json.loads(peers.output(scan, trace["path"], n)) for n in (1, 2))
        limit = one["wall_s"] / two["wall_s"]
        gain = runs[1]["wall_s"] / runs[2]["wall_s"]
        self.rows.append({"file": trace["name"], "bytes": trace["bytes"], "tool": "limit: read and masks", "version": "",
                          "command": "scan_bench FILE 1", "wall_s": one["wall_s"], "cpu_s": one["cpu_s"], "runs": ROUNDS,
                          "mb_per_cpu_s": one["mb_per_cpu_s"], "memory_x": None, "missing": ""})
        self.verdict(name, gain / limit, THREADS_GOAL, "x", False, f"{gain:.2f} of {limit:.2f}")

    def gzip_goal(self, trace, runs):
        name = f"{trace['name']}: .json.gz wall, of the larger part"
        problem = peers.compile_program(peers.PEERS / "isal_inflate.c", self.programs / "isal_inflate", "-lisal")
        if problem:
            self.verdict(name, None, GZIP_GOAL, "x", True, "not installed: apt-get install libisal-dev")
            return
        alone = self.add(trace, "ISA-L inflating alone", "", "isal_inflate FILE.gz",
                         self.best([str(self.programs / "isal_inflate"), str(trace["gz"])]))
        larger = max(alone["wall_s"], runs[1]["wall_s"])
        self.verdict(name, runs["gz"]["wall_s"] / larger, GZIP_GOAL, "x", True,
                     f"{runs['gz']['wall_s'] * 1e3:.0f} ms; inflating {alone['wall_s'] * 1e3:.0f}, "
                     f"plain {runs[1]['wall_s'] * 1e3:.0f}")

    # ---- peers ----

    def peer_rows(self, trace, mine):
        extract, why = peers.simdjson(self.programs, trace["path"], ROUNDS)
        result = extract and {"wall_s": None, "cpu_s": extract["cpu_s"], "peak_bytes": 2 * trace["bytes"], "runs": ROUNDS}
        row = self.add(trace, "simdjson on-demand, extract only", extract["version"] if extract else "",
                       f"simdjson_extract FILE {ROUNDS}", result, why)
        name = f"{trace['name']}: exact top, of simdjson's extraction"
        if row:
            row["memory_x"] = None  # the file in memory and its index, by design
            self.verdict(name, mine["mb_per_cpu_s"] / row["mb_per_cpu_s"], RATIO_GOAL, "x", False,
                         f"{mine['mb_per_cpu_s']:,.0f} and {row['mb_per_cpu_s']:,.0f} MB/s")
            mine["events"] = extract["events"]
            self.memory_goals(trace, mine, extract["events"])
        else:
            self.verdict(name, None, RATIO_GOAL, "x", False, why)
        for peer in peers.all_peers(self.programs):
            missing = peer.missing
            if not missing and trace["bytes"] > peer.limit:
                missing = f"only on smaller files: {peer.why_limit}"
            result = None if missing else self.best(peer.words(trace["path"]))
            if not missing and result is None:
                missing = f"failed: {self.problem[:80]}"
            self.add(trace, peer.name, peer.version, peer.shown, result, missing)

    def memory_goals(self, trace, mine, events):
        limit = MEMORY_GOAL * trace["bytes"] + PROCESS_BYTES
        self.verdict(f"{trace['name']}: peak memory, of 0.35 x the file", mine["peak_bytes"] / 1e6, limit / 1e6, "MB", True,
                     f"{mine['peak_bytes'] / trace['bytes']:.2f} x the file; 6 MB for the program itself")
        self.verdict(f"{trace['name']}: peak memory, of 40 MB and 64 B an event", mine["peak_bytes"] / 1e6,
                     40 + 64 * events / 1e6, "MB", True, f"{events:,} events")

    # ---- the rest ----

    def start_up(self):
        run = self.best([self.opscope, "--version"], 20)
        self.verdict("start-up of opscope --version", run["wall_s"] * 1e3, START_GOAL_S * 1e3, "ms", True, libraries(self.opscope))

    def analyses(self, trace):
        """Seconds of each analysis per 10 million events once the trace is loaded, by the program of this folder."""
        program = Path(self.options.build) / "bench/analysis_bench"
        text = peers.output(program, trace["path"]) if program.exists() else ""
        if not text:
            self.verdict("analyses after loading", None, ANALYSIS_GOAL_S, "s", True, "build/bench/analysis_bench is not built")
            return
        for name, figure in json.loads(text)["seconds_per_10m"].items():
            self.verdict(f"{trace['name']}: {name} after loading, per 10 million events", figure, ANALYSIS_GOAL_S, "s", True)

    def level_of_detail(self, first):
        """The index for windows of any size, by its own program: cells, and building as a part of ingest."""
        program = Path(self.options.build) / "bench/lod_bench"
        millions = 10 if self.options.quick else 100
        text = peers.output(program, millions, 64, 1) if program.exists() else ""
        build, cells = lod_figures(text)
        why = "" if text else "build/bench/lod_bench is not built"
        ingest = first["cpu_s"] * 1e9 / first["events"] if first.get("events") else None
        name = f"level of detail, {millions} million intervals"
        self.verdict(f"{name}: window, slowest, a cell", max(cells) / 1e3 if cells else None, 0.15, "us", True, why)
        self.verdict(f"{name}: building, of ingest", build / ingest if build and ingest else None, 0.30, "x", True,
                     f"{build:.0f} and {ingest:.0f} ns an event" if build and ingest else why)

    def styles(self):
        """The same events as other writers lay them out: opscope alone."""
        for style in ("python", "oneline", "kineto213"):
            trace = self.synthetic("100M", style)
            words = [self.opscope, "top", "--format", "json", "--threads", "1", str(trace["path"])]
            self.add(trace, "opscope top, 1 thread", self.version, "opscope top --format json --threads 1 FILE",
                     self.best(words))

    def big(self):
        """10 GB: the same rate through a pipe and from a file, memory by events only."""
        small = self.best([self.opscope, "top", "--threads", "1", str(self.synthetic("1G")["path"])], 1)
        maker = self.programs / "make_trace"
        with subprocess.Popen([str(maker), "-s", "10G"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
            piped = self.once([self.opscope, "top", "--threads", "1", "-"], source.stdout)
        self.verdict("10 GB through a pipe: rate, of 1 GB's", piped and small["cpu_s"] * 10 / piped["cpu_s"], 0.9, "x", False,
                     piped and f"{piped['cpu_s']:.1f} s, {piped['peak_bytes'] / 1e6:,.0f} MB")
        if shutil.disk_usage(self.data).free < 15e9:
            self.verdict("10 GB as a file: rate, of 1 GB's", None, 0.9, "x", False, "not enough room on the disk")
            return
        path = self.data / "synthetic_10G.json"
        if not path.exists():
            subprocess.run([str(maker), "-s", "10G", "-o", str(path)], check=True, stderr=subprocess.DEVNULL)
        run = self.once([self.opscope, "top", "--threads", "1", str(path)])
        self.verdict("10 GB as a file: rate, of 1 GB's", run and small["cpu_s"] * 10 / run["cpu_s"], 0.9, "x", False,
                     run and f"{run['cpu_s']:.1f} s, {run['peak_bytes'] / 1e6:,.0f} MB")
        path.unlink()

    def run(self):
        traces = [self.synthetic("100M")]
        if not self.options.quick:
            traces += [self.synthetic("1G"), *self.real()]
        first = None
        self.start_up()
        for trace in traces:
            print(f"# {trace['name']}", file=sys.stderr, flush=True)
            mine = self.opscope_rows(trace)
            self.peer_rows(trace, mine)
            first = first or mine
        if not self.options.quick:
            self.styles()
        self.level_of_detail(first)
        self.analyses(traces[0] if self.options.quick else traces[1])
        if self.options.big:
            self.big()


def lod_figures(text):
    """(ns to build an interval, [ns a cell of each window]) from what lod_bench prints; (None, []) without."""
    build = re.search(r"build\s+([\d.]+) ns an interval", text)
    cells = re.findall(r"window \S+.*?([\d.]+) ns a pixel of a track", text)
    return float(build[1]) if build else None, [float(cell) for cell in cells]


def libraries(program):
    """Shared libraries loaded at start, those that everything needs left out."""
    names = [line.split()[0] for line in peers.output("ldd", program).splitlines()]
    plain = ("linux-vdso", "libc.", "libm.", "libpthread", "libdl", "/lib64/ld-", "libgcc_s", "libstdc++")
    rest = [name for name in names if not name.startswith(plain)]
    return "loads " + ", ".join(rest) if rest else "loads nothing but libc"


# ---- printing ----

def cell(row, key, form):
    return form.format(row[key]) if row.get(key) is not None else "-"


def table_lines(rows):
    """One block per file: tool, version, rate, wall, memory, runs, command."""
    lines, last = [], None
    for row in rows:
        if row["file"] != last:
            last = row["file"]
            lines += ["", f"{last}  {row['bytes'] / 1e6:,.1f} MB",
                      f"  {'tool':<33}{'version':<9}{'MB/CPU s':>9}{'wall s':>9}{'memory x':>9}{'runs':>5}  command"]
        if row["missing"]:
            lines.append(f"  {row['tool']:<33}{row['version']:<9}  {row['missing']}")
            continue
        lines.append(f"  {row['tool']:<33}{row['version'][:8]:<9}{cell(row, 'mb_per_cpu_s', '{:,.0f}'):>9}"
                     f"{cell(row, 'wall_s', '{:.3f}'):>9}{cell(row, 'memory_x', '{:.2f}'):>9}{row['runs']:>5}  {row['command']}")
    return lines


def verdict_lines(verdicts):
    lines = ["", "goals"]
    for v in verdicts:
        word = {True: "ok", False: "NOT MET", None: "unknown"}[v["met"]]
        value = "-" if v["value"] is None else f"{v['value']:.2f}"
        lines.append(f"  {word:<8}{v['goal']:<66}{value:>9} {v['unit']:<3} {v['direction']} {v['limit']:.2f}"
                     + (f"   ({v['note']})" if v["note"] else ""))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the 100 MB file alone")
    parser.add_argument("--big", action="store_true", help="also 10 GB")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--opscope", default=str(ROOT / "build/opscope"))
    parser.add_argument("--build", default=str(ROOT / "build"), help="where the programs of bench/ are built")
    parser.add_argument("--data", default=str(ROOT / "build/bench-data"), help="where traces are made")
    options = parser.parse_args()
    start = time.monotonic()
    bench = Bench(options)
    bench.run()
    machine = peers.environment()
    if options.format == "json":
        print(json.dumps({"machine": machine, "seconds": time.monotonic() - start, "rows": bench.rows,
                          "goals": bench.verdicts}, indent=1, default=str))
    else:
        print("\n".join([machine, *table_lines(bench.rows), *verdict_lines(bench.verdicts), "",
                         f"{time.monotonic() - start:.0f} s"]))
    return 1 if any(v["met"] is False for v in bench.verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
