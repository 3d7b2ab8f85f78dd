#!/usr/bin/env python3
"""The walkthrough: three ways to write RMSNorm on the virtual NeuronCore, and where their time goes.

Runs each script of examples/rmsnorm, shows PyTorch's own table, then `opscope top` on the recorded
session and one line that says why the two differ.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPSCOPE = ROOT / "build/opscope"
OUT = ROOT / "build/demo"
VARIANTS = (
    ("naive", "RMSNorm written out: five kinds of operator, six calls"),
    ("fused", "torch.rms_norm: one operator"),
    ("compiled", "torch.compile of the naive function"),
)


def fail(message):
    print(f"demo: {message}", file=sys.stderr)
    sys.exit(1)


def run_script(name):
    """Runs one example and prints its table; (the folder its session went to, the table's text)."""
    out = OUT / name
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, str(ROOT / "examples/rmsnorm" / f"{name}.py"), "--output", str(out)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        fail(f"{name}.py failed")
    sessions = sorted(path.parent for path in out.rglob("run.json"))
    if not sessions:
        fail(f"{name}.py left no session under {out.relative_to(ROOT)}")
    return sessions[-1], done.stdout


def opscope(*arguments):
    result = subprocess.run([str(OPSCOPE), *map(str, arguments)], cwd=ROOT, capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        fail(f"opscope {arguments[0]}: {result.stderr.strip()}")
    return result.stdout


def measure(session):
    """{operator: (device time in ns, calls that reached the device)} of a session."""
    data = json.loads(opscope("top", session, "--format", "json"))
    rows = data["rows"] if isinstance(data, dict) else data
    rows = [row for row in rows
            if row["self_device_ns"] > 0 and not row["is_user_annotation"] and row["device_type"] == "CPU"]
    return {row["name"]: (row["self_device_ns"], row["count"]) for row in rows}


def why(table, names):
    """One line on why PyTorch's four rows are not the four operators with most device time."""
    shown = [line.split()[0] for line in table.splitlines() if line.split() and line.split()[0] in names]
    outcome = (f"its four rows show {len(shown)} of {len(names)} operators" if len(shown) < len(names) else
               f"only {len(shown)} of its four rows started device work")
    return f"PyTorch lists the device's own rows (nc ...) and callers too, so {outcome}; opscope top lists those that did"


def main():
    measured, sessions = {}, []
    for name, what in VARIANTS:
        print(f"\n==== {name}: {what}\n", flush=True)
        session, table = run_script(name)
        session = session.relative_to(ROOT)
        sessions.append((name, session))
        print(f"$ opscope top {session} -n 4")
        print(opscope("top", session, "-n", "4"), end="")
        measured[name] = measure(session)
        print(f"\nwhy: {why(table, measured[name])}")
    print("\n==== side by side\n")
    totals = {name: [sum(column) for column in zip(*rows.values())] for name, rows in measured.items()}
    for name, (total, calls) in totals.items():
        print(f"  {name:9} {total / 1000:9,.1f} us   {calls} execution{'s' if calls != 1 else ' '}   "
              f"{totals['naive'][0] / total:4.1f} x")
    print("\nMost of it is the launch of each execution, a fitted interval: fewer executions, less time.\n"
          "Device times are simulated; docs/model.md says which figures are calibrated and which predicted.")
    print("\nThe artifacts:")
    for name, session in sessions:
        print(f"  {name:9} {session}")
    naive = sessions[0][1]
    print(f"""
Try next:
  build/opscope info {naive}
  build/opscope follow {naive} aten::mul --nth 2
  build/opscope top {sessions[1][1]} --like-torch
  .venv/bin/python examples/rmsnorm/naive.py --output /tmp/run
""", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
