"""The published RMSNorm walkthrough: calls, shares, totals, pairs, and opscope's view of the same session."""

import json
import re
import subprocess
import sys

import pytest

from profiles import ROOT, opscope, sessions

#: Published for the naive variant (neuroncore-model.md 5.2): calls, us.
PUBLISHED = {"aten::mul": (3, 1164.5), "aten::add": (1, 434.6), "aten::rsqrt": (1, 415.0), "aten::mean": (1, 340.8)}
TOTAL_US = 2354.9
#: Device body, preamble through postamble (neuroncore-model.md 4.2, 4.3).
BODY_US = {"naive": 67.0, "fused": 12.6, "compiled": 12.6}

LIVE = """
import json, runpy, sys
out, script, live = sys.argv[1:4]
sys.argv = [script, "--output", out]
prof = runpy.run_path(script, run_name="__main__")["prof"]
rows = [dict(name=e.key, device_type=str(e.device_type).split(".")[-1], count=e.count, self_cpu=e.self_cpu_time_total,
             cpu=e.cpu_time_total, self_device=e.self_device_time_total, device=e.device_time_total) for e in prof.key_averages()]
table = prof.key_averages().table(sort_by="self_privateuse1_time_total", row_limit=-1)
json.dump({"rows": rows, "table": table}, open(live, "w"))
"""


@pytest.fixture(scope="module", params=["naive", "fused", "compiled"])
def run(request, tmp_path_factory):
    out = tmp_path_factory.mktemp(request.param)
    script = ROOT / "examples" / "rmsnorm" / f"{request.param}.py"
    done = subprocess.run([sys.executable, "-c", LIVE, str(out), str(script), str(out / "live.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (session,) = sessions(out)
    live = json.loads((out / "live.json").read_text())
    return request.param, done.stdout, session, live


def operators(live):
    return {r["name"]: (r["count"], r["self_device"]) for r in live["rows"] if r["device_type"] == "CPU" and r["self_device"] > 0}


def kernels(session):
    return [e for e in json.loads((session / "trace.json").read_text())["traceEvents"] if e.get("cat") == "kernel"]


def test_columns(run):
    assert "Self NEURON" in run[1]


def test_published_shares(run):
    variant, _, _, live = run
    rows = operators(live)
    total = sum(us for _, us in rows.values())
    if variant != "naive":
        assert len(rows) == 1 and 0.05 < total / TOTAL_US < 0.35
        return
    assert max(rows, key=lambda k: rows[k][1]) == "aten::mul"
    assert abs(total / TOTAL_US - 1) <= 0.10
    for op, (calls, us) in PUBLISHED.items():
        assert rows[op][0] == calls
        assert abs(rows[op][1] / total - us / TOTAL_US) <= 0.04, op


def test_device_body(run):
    variant, _, session, _ = run
    body = sum(e["args"]["body_ns"] for e in kernels(session)) / 1000
    assert abs(body / BODY_US[variant] - 1) <= 0.15
    assert len(kernels(session)) == (6 if variant == "naive" else 1)


def test_pairs(run):
    names = [p.name for p in run[2].iterdir()]
    neff = {m[1] for n in names if (m := re.fullmatch(r"neff_(\d+)_vnc_0\.neff", n))}
    ntff = {m[1] for n in names if (m := re.fullmatch(r"(\d+)_instid_0_vnc_0\.ntff", n))}
    assert neff == ntff and len(neff) == len({e["args"]["neff"] for e in kernels(run[2])})


def test_top_equals_the_live_table(run):
    _, _, session, live = run
    rows = json.loads(opscope("top", "--format", "json", session))["rows"]
    mine = {(r["name"], r["device_type"] == "CPU"): r for r in rows}  # one device kind beside the CPU
    assert len(rows) == len(live["rows"])
    for r in live["rows"]:
        row = mine[r["name"], r["device_type"] == "CPU"]
        got = (row["count"], row["self_cpu_ns"], row["total_cpu_ns"], row["self_device_ns"], row["total_device_ns"])
        want = (r["count"], *(round(r[k] * 1000) for k in ("self_cpu", "cpu", "self_device", "device")))
        assert got == want, r["name"]


def test_like_torch_is_the_same_text(run):
    _, _, session, live = run
    mine = opscope("top", "--like-torch", "--sort-by", "self_privateuse1_time_total", "--row-limit", "-1", session)
    assert mine.rstrip("\n") == live["table"].rstrip("\n")


def test_follow_reaches_the_engines(run):
    variant, _, session, live = run
    op = next(iter(operators(live)))
    text = opscope("follow", session, op)
    assert max(map(len, text.splitlines())) <= 80
    for must in ("nrta_execute_schedule", "nc_exec_running", "framework/TID:", "framework/Stream:0", "neuron_rt/NC:0", "neuron_hw/NC:0"):
        assert must in text
    assert "nc_exec_running" in opscope("follow", session, op, "--format", "json")
