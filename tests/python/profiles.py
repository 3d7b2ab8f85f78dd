"""Helpers of the profiling tests: run a window, read what it left, call the program."""

import json
import pathlib
import subprocess
import sys

import torch
from torch.profiler import ProfilerActivity
from torch_neuronx.profiling import NeuronConfig, NeuronProfiler, ProfileMode

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPSCOPE = ROOT / "build" / "opscope"
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def config(output, **fields) -> NeuronConfig:
    fields.setdefault("modes", [ProfileMode.DEVICE, ProfileMode.RUNTIME])
    fields.setdefault("correlate_device_time", True)
    return NeuronConfig(profile_output_dir=output, **fields)


def profile(work, output, steps=1, schedule=None, flags=(), **fields):
    """Profiles `steps` calls of work; returns (prof, exporter)."""
    c = config(output, **fields)
    exporter = NeuronProfiler(c)
    with torch.profiler.profile(activities=BOTH, experimental_config=c, on_trace_ready=exporter.export_trace,
                                schedule=schedule, **dict.fromkeys(flags, True)) as prof:
        for _ in range(steps):
            work()
            torch.neuron.synchronize()
            if schedule is not None:
                prof.step()
    return prof, exporter


def sessions(output) -> list[pathlib.Path]:
    return sorted(pathlib.Path(output).glob("*_pid_*/*/"))


def trace(session) -> dict:
    return json.loads((session / "trace.json").read_text())


def events(session, category) -> list[dict]:
    return [e for e in trace(session)["traceEvents"] if e.get("cat") == category]


def operators(prof) -> dict:
    """Rows of operators: name -> (calls, self device ns)."""
    return {e.key: (e.count, round(e.self_device_time_total * 1000)) for e in prof.key_averages()
            if "CPU" in str(e.device_type)}


def opscope(*args, code=0) -> str:
    done = subprocess.run([str(OPSCOPE), *map(str, args)], capture_output=True, text=True)
    assert done.returncode == code, f"opscope {args}: exit {done.returncode}: {done.stderr}"
    return done.stdout if code == 0 else done.stderr


def python(script: str, *args, env=None, timeout=240) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", script, *map(str, args)], capture_output=True, text=True, env=env, timeout=timeout)
