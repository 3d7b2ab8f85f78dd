"""What run.json records about the program: script, source state, versions, settings, environment."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys

import torch

_RELEVANT_ENV = ("NEURON_", "TORCH_NEURONX_", "OPSCOPE_", "XLA_", "NKI_", "KINETO_", "PYTORCH_", "TORCH_", "OMP_NUM_THREADS")
_PROFILE_FLAGS = ("record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory", "acc_events")
_SCHEDULE_FIELDS = ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")


def _script() -> dict | None:
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not path or not os.path.isfile(path):
        return None
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    return {"path": os.path.abspath(path), "sha256": digest, "arguments": len(sys.argv) - 1}


def _git(directory: str) -> dict | None:
    def run(*args: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", directory, *args], capture_output=True, text=True, timeout=5)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    commit = run("rev-parse", "HEAD")
    if commit is None:
        return None
    changed = run("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed_files": None if changed is None else len(changed.splitlines())}


def _versions() -> dict:
    from torch_neuronx import __version__

    return {"python": platform.python_version(), "torch": torch.__version__, "torch_neuronx": __version__,
            "platform": platform.platform()}


def process_facts() -> dict:
    """Facts that hold for the whole process; git is asked once per call."""
    script = _script()
    return {
        "framework": "pytorch",
        "script": script,
        "git": _git(os.path.dirname(script["path"]) if script else os.getcwd()),
        "versions": _versions(),
        "environment": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_RELEVANT_ENV)},
    }


def schedule_facts(schedule) -> dict | None:
    """The numbers given to torch.profiler.schedule, which keeps them in a closure; None for anything else."""
    code, cells = getattr(schedule, "__code__", None), getattr(schedule, "__closure__", None)
    if code is None or not cells:
        return None
    values = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells)}
    return {k: values[k] for k in _SCHEDULE_FIELDS if isinstance(values.get(k), int)} or None


def fallback_facts(before: dict[str, int], now: dict[str, int]) -> dict | None:
    """Operators that ran on the CPU between two counts, most frequent first; None when there were none."""
    calls = {name: n - before.get(name, 0) for name, n in now.items() if n > before.get(name, 0)}
    if not calls:
        return None
    ranked = sorted(calls, key=lambda name: (-calls[name], name))
    return {"calls": calls, "names": ", ".join(f"{name} ({calls[name]})" for name in ranked)}


def profile_facts(prof, config, ops: list[dict]) -> dict:
    """Facts about one window: every profiler setting and which way the work was compiled."""
    graphs = sorted({op["name"] for op in ops if op["neff_hash"] and "::" not in op["name"]})
    return {
        "profiler": {
            "activities": sorted(str(a) for a in getattr(prof, "activities", None) or []),
            "step_num": getattr(prof, "step_num", None),
            "schedule": schedule_facts(getattr(prof, "schedule", None)),
            **{flag: getattr(prof, flag, None) for flag in _PROFILE_FLAGS},
            "neuron_config": config.custom_profiler_config,
        },
        "compile_path": {"kind": "torch.compile" if graphs else "eager", "graphs": graphs},
    }
