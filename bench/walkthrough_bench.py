"""The RMSNorm walkthrough against its published figures: device time, shares, device body.

Prints one line a figure: name, ours, published or derived, deviation, limit. Exit 1 when one is beyond its limit.
Published: neuroncore-model.md 5.2 (naive table), 4.2 and 4.3 (device body).
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARES = {"aten::mul": 49.5, "aten::add": 18.5, "aten::rsqrt": 17.6, "aten::mean": 14.5}
BODY_US = {"naive": 67.0, "fused": 12.6, "compiled": 12.6}
NAIVE_US = 2355.0


def run(variant: str, output: pathlib.Path) -> dict:
    """Runs one example; returns self device ns by operator, launch and body ns by execution."""
    script = ROOT / "examples" / "rmsnorm" / f"{variant}.py"
    subprocess.run([sys.executable, str(script), "--output", str(output)], check=True, capture_output=True)
    (session,) = output.glob("*_pid_*/*/")
    top = subprocess.run([str(ROOT / "build" / "opscope"), "top", "--format", "json", str(session)], check=True, capture_output=True)
    events = json.loads((session / "trace.json").read_text())["traceEvents"]
    return {
        "operators": {r["name"]: r["self_device_ns"] for r in json.loads(top.stdout)["rows"]
                      if r["device_type"] == "CPU" and r["self_device_ns"]},
        "launch": [e["args"]["launch_ns"] for e in events if e.get("cat") == "kernel"],
        "body": [e["args"]["body_ns"] for e in events if e.get("cat") == "kernel"],
    }


def report(name: str, ours: float, theirs: float, unit: str, off: float, limit: float, limit_unit: str) -> bool:
    good = abs(off) <= limit
    print(f"{name:<34}{ours:>10,.1f} {unit:<3}{theirs:>10,.1f} {unit:<3}{off:>+8.1f} {limit_unit:<7} limit {limit:g}"
          f"{'' if good else '   BEYOND'}")
    return good


def main() -> int:
    good = True
    print(f"{'figure':<34}{'ours':>10} {'':<3}{'reference':>10} {'':<3}{'off':>8}")
    with tempfile.TemporaryDirectory() as tmp:
        runs = {v: run(v, pathlib.Path(tmp) / v) for v in BODY_US}
    total = sum(runs["naive"]["operators"].values())
    good &= report("naive, device time per step", total / 1e3, NAIVE_US, "us", (total / 1e3 / NAIVE_US - 1) * 100, 10, "%")
    for op, share in SHARES.items():
        ours = 100 * runs["naive"]["operators"].get(op, 0) / total
        good &= report(f"naive, share of {op}", ours, share, "%", ours - share, 4, "points")
    for variant, us in BODY_US.items():
        body = sum(runs[variant]["body"]) / 1e3
        good &= report(f"{variant}, device body of {len(runs[variant]['body'])} exec.", body, us, "us", (body / us - 1) * 100, 15, "%")
    for variant, r in runs.items():
        mean = sum(r["launch"]) / len(r["launch"]) / 1e3
        print(f"{variant + ', launch model an execution':<34}{mean:>10,.1f} us (fitted)")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
