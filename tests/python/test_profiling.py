"""Windows on device `neuron`: the table, the lanes, the files."""

import json
import re
import signal
import subprocess
import sys
import time

import pytest
import torch
from torch.profiler import ProfilerActivity

from profiles import BOTH, config, events, operators, opscope, profile, python, sessions, trace
from torch_neuronx.profiling import NeuronProfiler, ProfileMode


@pytest.fixture
def x():
    return torch.randn(4, 512, dtype=torch.bfloat16, device="neuron")


def durations_ns(items):
    return sum(round(e["dur"] * 1000) for e in items)


def test_operator_figure_is_the_sum_of_its_hardware_intervals(x, tmp_path):
    prof, _ = profile(lambda: (x * x, x + 1.5, x.mean(-1)), tmp_path)
    (session,) = sessions(tmp_path)
    ids = {e["args"]["External id"]: e["name"] for e in events(session, "cpu_op")}
    hardware = {}
    for e in events(session, "kernel") + events(session, "gpu_memcpy"):
        name = ids[e["args"]["External id"]]
        hardware[name] = hardware.get(name, 0) + round(e["dur"] * 1000)
    assert set(hardware) == {"aten::mul", "aten::add", "aten::mean"}
    for name, ns in hardware.items():
        assert operators(prof)[name] == (1, ns)


def test_scalar_operand_is_copied_under_its_operator(x, tmp_path):
    profile(lambda: x + 1.5, tmp_path)
    (session,) = sessions(tmp_path)
    (copy,) = events(session, "gpu_memcpy")
    (add,) = [e for e in events(session, "cpu_op") if e["name"] == "aten::add"]
    assert copy["args"]["External id"] == add["args"]["External id"]
    assert copy["args"]["bytes"] == 4


def test_no_device_columns_without_correlation(x, tmp_path):
    prof, _ = profile(lambda: x * x, tmp_path, correlate_device_time=False)
    assert "NEURON" not in prof.key_averages().table()
    (session,) = sessions(tmp_path)
    assert events(session, "kernel") == [] and len(events(session, "privateuse1_runtime")) == 1
    assert len(events(session, "privateuse1_driver")) == 1


def test_cpu_only_profile_captures_nothing(x, tmp_path):
    with torch.profiler.profile(activities=[ProfilerActivity.CPU], experimental_config=config(tmp_path)):
        x * x
        torch.neuron.synchronize()
    assert sessions(tmp_path) == []


def test_lanes_nest_and_link(x, tmp_path):
    profile(lambda: x * x, tmp_path)
    (session,) = sessions(tmp_path)
    (op,) = [e for e in events(session, "cpu_op") if e["name"] == "aten::mul"]
    (runtime,) = events(session, "privateuse1_runtime")
    (kernel,) = events(session, "kernel")
    (driver,) = events(session, "privateuse1_driver")
    assert runtime["name"] == "nrta_execute_schedule" and runtime["tid"] == op["tid"]
    assert op["ts"] <= runtime["ts"] and runtime["ts"] + runtime["dur"] <= op["ts"] + op["dur"] + 1e-3
    assert driver["name"] == "aten::mul" and driver["ts"] <= kernel["ts"]
    assert driver["ts"] + driver["dur"] >= kernel["ts"] + kernel["dur"] - 1e-3
    for e in (runtime, kernel, driver):
        assert e["args"]["External id"] == op["args"]["External id"]
        assert e["args"]["nrt_sequence_id"] == kernel["args"]["nrt_sequence_id"]
    assert kernel["args"]["launch_ns"] + kernel["args"]["body_ns"] == round(kernel["dur"] * 1000)


def test_files_by_mode(x, tmp_path):
    profile(lambda: x * x, tmp_path / "all", modes=list(ProfileMode))
    names = {p.name for p in sessions(tmp_path / "all")[0].iterdir()}
    assert {"trace.json", "run.json", "ntrace.pb", "trace_info.pb", "cpu_util.pb", "host_mem.pb"} <= names
    neff = {m[1] for n in names if (m := re.fullmatch(r"neff_(\d+)_vnc_0\.neff", n))}
    ntff = {m[1] for n in names if (m := re.fullmatch(r"(\d+)_instid_0_vnc_0\.ntff", n))}
    assert neff == ntff and len(neff) == 1
    profile(lambda: x * x, tmp_path / "runtime", modes=[ProfileMode.RUNTIME])
    assert {p.name for p in sessions(tmp_path / "runtime")[0].iterdir()} == {"trace.json", "run.json", "ntrace.pb", "trace_info.pb"}
    profile(lambda: x * x, tmp_path / "device", modes=[ProfileMode.DEVICE])
    assert not any(p.suffix == ".pb" for p in sessions(tmp_path / "device")[0].iterdir())


def test_neff_cache_dir_leaves_the_neffs_for_the_stop(x, tmp_path):
    inside = []

    def work():
        x * x
        torch.neuron.synchronize()
        inside.extend(p.suffix for session in sessions(tmp_path) for p in session.iterdir())

    profile(work, tmp_path, neff_cache_dir=tmp_path / "cache")
    (session,) = sessions(tmp_path)
    assert ".ntff" in inside and ".neff" not in inside
    assert len(list(session.glob("*.neff"))) == 1
    assert "1 of 1 pairs matched" in opscope("info", session)


def test_schedule_repeat_gives_one_session_a_window(x, tmp_path):
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=2)
    prof, _ = profile(lambda: x * x, tmp_path, steps=7, schedule=schedule)
    assert len(sessions(tmp_path)) == 2
    for session in sessions(tmp_path):
        assert len(events(session, "kernel")) == 2
    assert operators(prof)["aten::mul"][0] == 2


def test_acc_events(x, tmp_path):
    schedule = torch.profiler.schedule(wait=0, warmup=0, active=1, repeat=2)
    prof, _ = profile(lambda: x * x, tmp_path, steps=3, schedule=schedule, flags=["acc_events"])
    assert operators(prof)["aten::mul"][0] == 2


def test_shapes_stacks_memory(x, tmp_path):
    prof, _ = profile(lambda: x * x, tmp_path, flags=["record_shapes", "with_stack", "profile_memory"])
    (row,) = [e for e in prof.key_averages(group_by_input_shape=True) if e.key == "aten::mul" and e.count == 1]
    assert row.input_shapes[:2] == [[4, 512], [4, 512]]
    assert row.device_memory_usage == 4096
    (session,) = sessions(tmp_path)
    assert any("test_profiling.py" in e["name"] for e in events(session, "python_function"))


def test_names_survive(x, tmp_path):
    odd = 'quote " back\\slash ü 漢 \t\n'

    def work():
        with torch.profiler.record_function(odd):
            x * x

    profile(work, tmp_path)
    (session,) = sessions(tmp_path)
    assert odd in {e["name"] for e in events(session, "user_annotation")}


def test_autograd_thread_is_linked(tmp_path):
    w = torch.randn(64, 64, device="neuron", requires_grad=True)
    prof, _ = profile(lambda: (w * w).sum().backward(), tmp_path)
    (session,) = sessions(tmp_path)
    unlinked = [e["name"] for e in events(session, "kernel") if "External id" not in e["args"]]
    assert unlinked == []


def test_selected_cores_only(tmp_path):
    if torch.neuron.device_count() < 2:
        pytest.skip("one core visible")
    a, b = (torch.ones(8, 8, device=f"neuron:{i}") for i in range(2))
    profile(lambda: (a * a, b * b, torch.neuron.synchronize(1)), tmp_path, capture_enabled_for_nc="1")
    (session,) = sessions(tmp_path)
    assert {e["pid"] for e in events(session, "kernel")} == {1}
    assert all("_vnc_1" in p.name for p in session.glob("*.neff"))


def test_dropped_events_are_counted_and_warned_once(x, tmp_path):
    def work():
        for _ in range(50):
            x * x

    with pytest.warns(UserWarning, match="dropped") as caught:
        profile(work, tmp_path, max_events_per_nc=10)
    assert len([w for w in caught if "dropped" in str(w.message)]) == 1
    info = opscope("info", sessions(tmp_path)[0])
    assert "dropped" in info


def test_export_twice_warns_and_keeps_the_file(x, tmp_path):
    prof, exporter = profile(lambda: x * x, tmp_path)
    before = open(exporter.last_path, "rb").read()
    with pytest.warns(UserWarning, match="already exported"):
        exporter.export_trace(prof)
    assert open(exporter.last_path, "rb").read() == before
    prof.export_chrome_trace(str(tmp_path / "copy.json"))  # PyTorch's own call is not used up


def test_export_without_a_window_says_how(tmp_path):
    code = (
        "import sys, torch; from torch_neuronx.profiling import *\n"
        "e = NeuronProfiler(NeuronConfig(profile_output_dir=sys.argv[1]))\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p: torch.ones(1)\n"
        "try: e.export_trace(p)\n"
        "except RuntimeError as x: print(x)\n"
    )
    assert "ProfilerActivity.PrivateUse1" in python(code, tmp_path).stdout


def test_two_profilers_at_once_are_refused_and_the_first_survives(x, tmp_path):
    c = config(tmp_path)
    exporter = NeuronProfiler(c)
    with torch.profiler.profile(activities=BOTH, experimental_config=c, on_trace_ready=exporter.export_trace) as prof:
        with pytest.raises(RuntimeError, match="already recording"):
            with torch.profiler.profile(activities=BOTH, experimental_config=c):
                pass
        x * x
        torch.neuron.synchronize()
    assert operators(prof)["aten::mul"][0] == 1


def test_run_json_keeps_the_record(x, tmp_path):
    profile(lambda: x * x, tmp_path, flags=["record_shapes"])
    (session,) = sessions(tmp_path)
    run = json.loads((session / "run.json").read_text())
    text = json.dumps(run)
    assert run["simulated"] is True
    for must in ("torch", "correlate_device_time:true", "dma_bw", "launch_dispatch_us", "eager"):
        assert must in text, must
    import hashlib

    listed = {a["name"]: a for a in run["artifacts"]}
    assert set(listed) == {p.name for p in session.iterdir()} - {"run.json"}
    for name, artifact in listed.items():
        data = (session / name).read_bytes()
        assert artifact["bytes"] == len(data) and artifact["sha256"] == hashlib.sha256(data).hexdigest()


def test_fallbacks_to_the_cpu_are_named(x, tmp_path):
    profile(lambda: (x.float().cumsum(0), x.float().cumsum(1), x * x), tmp_path)
    (session,) = sessions(tmp_path)
    said = " ".join(opscope("info", session).split())
    assert "ran on the CPU while the profile was made: aten::cumsum (2)" in said
    profile(lambda: x * x, tmp_path / "none")
    (session,) = sessions(tmp_path / "none")
    assert "on the CPU" not in opscope("info", session)


def test_simulated_says_so(x, tmp_path):
    profile(lambda: x * x, tmp_path)
    (session,) = sessions(tmp_path)
    assert "simulated" in json.dumps(trace(session)["opscope"])
    assert "simulated" in opscope("info", session)


KILLED = """
import sys, torch
from torch_neuronx.profiling import *
c = NeuronConfig(modes=list(ProfileMode), profile_output_dir=sys.argv[1], correlate_device_time=True)
x = torch.ones(4, 512, device="neuron")
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.PrivateUse1],
                            experimental_config=c) as p:
    print("go", flush=True)
    while True:
        x * x
        torch.neuron.synchronize()
"""


@pytest.mark.parametrize("after_ms", [0, 5, 30, 120])
def test_a_killed_capture_reads_back(after_ms, tmp_path):
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"go\n"
    time.sleep(after_ms / 1000)
    child.send_signal(signal.SIGKILL)
    child.wait()
    (session,) = sessions(tmp_path)
    info = opscope("info", session)
    assert "simulated" in info


def test_a_full_disk_is_reported(x, tmp_path):
    """The session's directory sits on a file system of 200 KB."""
    mount = tmp_path / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(mount)], capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root")
    try:
        code = (
            "import sys, torch, warnings; from torch_neuronx.profiling import *\n"
            "c = NeuronConfig(profile_output_dir=sys.argv[1], correlate_device_time=True)\n"
            "e = NeuronProfiler(c); x = torch.ones(64, 64, device='neuron')\n"
            "A = torch.profiler.ProfilerActivity\n"
            "try:\n"
            "  with torch.profiler.profile(activities=[A.CPU, A.PrivateUse1], experimental_config=c, on_trace_ready=e.export_trace) as p:\n"
            "    for i in range(400): x = x * x\n"
            "    torch.neuron.synchronize()\n"
            "except OSError as err: print('said:', err)\n"
            "print('alive', float(x.cpu()[0, 0]))\n"
        )
        done = python(code, mount)
        assert done.returncode == 0, done.stderr
        assert "alive 1.0" in done.stdout
        assert "No space left" in done.stdout + done.stderr or "no space left" in done.stdout + done.stderr
        (session,) = sessions(mount)
        opscope("info", session)
    finally:
        subprocess.run(["umount", str(mount)])


def test_profiler_left_open_at_exit_keeps_its_files(tmp_path):
    code = (
        "import sys, torch; from torch_neuronx.profiling import *\n"
        "c = NeuronConfig(profile_output_dir=sys.argv[1])\n"
        "A = torch.profiler.ProfilerActivity\n"
        "p = torch.profiler.profile(activities=[A.CPU, A.PrivateUse1], experimental_config=c); p.start()\n"
        "x = torch.ones(4, 4, device='neuron'); x * x; torch.neuron.synchronize()\n"
    )
    done = python(code, tmp_path)  # stock PyTorch crashes here (pytorch-adapter.md section 9)
    assert done.returncode == 0, done.stderr
    (session,) = sessions(tmp_path)
    assert "1 of 1 pairs matched" in opscope("info", session)
