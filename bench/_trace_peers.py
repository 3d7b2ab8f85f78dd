"""The tools that trace_bench.py measures: how each is called, which version it is, why it is missing.

A peer is data: a name, a command with {trace}, how its version is found. Files that start with an underscore are
no benchmarks of their own.
"""
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
PYTHON = HERE / ".venv/bin/python"
SETUP = "bench/peers/setup.sh"


@dataclass
class Peer:
    name: str
    command: list          # words; {trace} is the file
    version: str = ""
    missing: str = ""      # why it cannot run, "" when it can
    limit: float = 1e18    # bytes of the largest file it is given
    why_limit: str = ""
    shown: str = ""        # the command as the table shows it

    def words(self, trace):
        return [word.replace("{trace}", str(trace)) for word in self.command]


def output(*command):
    """What a command prints, "" when it cannot run."""
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120,
                              check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def compile_program(source, program, *libraries):
    """Compiles one of bench's helper programs when it is older than its source; "" or what went wrong."""
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return ""
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = ["c++", "-std=c++17"] if source.suffix == ".cpp" else ["cc", "-std=c11", "-D_GNU_SOURCE"]
    result = subprocess.run([*compiler, "-O3", "-march=native", str(source), "-o", str(program), *libraries],
                            capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else (result.stderr.strip().splitlines() or ["does not compile"])[0]


def python_peer(name, module, package, script, limit, why, source="the package index"):
    missing, version = "", ""
    if not PYTHON.exists():
        missing = f"not installed: {SETUP}"
    else:
        version = output(PYTHON, "-c", f"import importlib.metadata as m; print(m.version('{package}'))")
        if not version or not output(PYTHON, "-c", f"import {module}; print(1)"):
            missing = f"not installed: {SETUP} takes it from {source}"
    return Peer(name, [str(PYTHON), str(PEERS / script), "{trace}"], version, missing, limit, why,
                f"bench/.venv/bin/python bench/peers/{script} FILE")


def compiled_peer(build, name, source, library, package, version):
    problem = compile_program(PEERS / source, build / Path(source).stem, library)
    return Peer(name, [str(build / Path(source).stem), "{trace}"], version,
                f"not installed: {package}" if problem else "", shown=f"{Path(source).stem} FILE")


def yyjson_version():
    text = output("cc", "-E", "-dM", "-include", "yyjson.h", "-x", "c", "/dev/null")
    found = [line.split('"')[1] for line in text.splitlines() if "YYJSON_VERSION_STRING" in line and '"' in line]
    return found[0] if found else ""


def all_peers(build):
    """Every peer, in the order of the table; helper programs are compiled into build."""
    node = output("node", "--version").lstrip("v")
    perfetto = shutil.which("trace_processor_shell")
    version = output(perfetto, "--version").splitlines()[:1] if perfetto else []
    memory = "takes 8 to 10 times the file in memory"
    query = build / "count.sql"
    query.parent.mkdir(parents=True, exist_ok=True)
    query.write_text("select name, count(*), sum(dur) from slice group by name order by 3 desc;\n")
    return [
        compiled_peer(build, "yyjson, DOM and walk", "yyjson_extract.c", "-lyyjson",
                      "github.com/ibireme/yyjson (Debian 12 has no package)", yyjson_version()),
        Peer("node JSON.parse", ["node", "--max-old-space-size=8192", str(PEERS / "node_sum.js"), "{trace}"], node,
             "" if node else "not installed: apt-get install nodejs", 500e6, "a string of node ends at 512 MB",
             "node bench/peers/node_sum.js FILE"),
        python_peer("orjson and a loop", "orjson", "orjson", "orjson_sum.py", 300e6, memory),
        python_peer("polars read_json", "polars", "polars", "polars_sum.py", 300e6, memory),
        python_peer("HTA", "hta.common.trace_parser", "HolisticTraceAnalysis", "hta_sum.py", 300e6, "slow"),
        python_peer("TraceLens", "TraceLens", "TraceLens", "tracelens_sum.py", 300e6, "slow",
                    "github.com/AMD-AGI/TraceLens"),
        Peer("Perfetto trace_processor", [perfetto or "", "-q", str(query), "{trace}"],
             version[0] if version else "", "" if perfetto else "not installed: trace_processor_shell on PATH, from get.perfetto.dev",
             300e6, "slow", "trace_processor_shell -q count.sql FILE"),
    ]


def simdjson(build, trace, rounds):
    """What simdjson's on-demand reader needs for a few fields of each event: its JSON, or (None, why)."""
    program = build / "simdjson_extract"
    problem = compile_program(PEERS / "simdjson_extract.cpp", program, "-lsimdjson")
    if problem:
        return None, "not installed: apt-get install libsimdjson-dev"
    text = output(program, trace, rounds)
    return (json.loads(text), "") if text else (None, "failed")


def environment():
    """Processor, cores, memory, system: what a table of times needs beside it."""
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "unknown processor")
    memory = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines()
                  if line.startswith("MemTotal"))
    return (f"{cpu}, {os.cpu_count()} cores, {memory / 1e6:.0f} GB, {output('uname', '-sr')}, "
            f"{output('cc', '--version').splitlines()[0]}, load {os.getloadavg()[0]:.1f}")
