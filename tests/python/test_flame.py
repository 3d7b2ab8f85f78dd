"""`opscope flame --like-torch` against PyTorch's own export_stacks() on a capture made here."""

import subprocess
from pathlib import Path

import pytest
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

OPSCOPE = Path(__file__).resolve().parents[2] / "build/opscope"
METRIC = "self_cpu_time_total"

pytestmark = pytest.mark.skipif(not OPSCOPE.exists(), reason="build/opscope is not there: make build")


def capture(folder, verbose):
    """Path of the trace, and the events, of two training steps with python stacks."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    data = torch.randn(8, 16)
    model(data).sum().backward()
    config = _ExperimentalConfig(verbose=verbose)
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, with_modules=True, experimental_config=config) as prof:
        for _ in range(2):
            model(data).sum().backward()
    prof.export_chrome_trace(str(folder / "trace.json"))
    prof.export_stacks(str(folder / "stacks.txt"), METRIC)
    return folder / "trace.json", prof.events()


def flame(*arguments):
    return subprocess.run([OPSCOPE, "flame", *arguments], capture_output=True, text=True, check=True).stdout


def line_of(event):
    """PyTorch's line of an event from exact nanoseconds, "" when it has none: doubles may lose a whole microsecond."""
    value = round(event.self_cpu_time_total * 1000) // 1000
    if not event.stack or value <= 0:
        return ""
    names = [name.translate(str.maketrans(" ;\t\n", "____")) for name in reversed(event.stack)]
    return ";".join(names) + f" {value}\n"


def test_the_text_is_that_of_export_stacks(tmp_path):
    trace, events = capture(tmp_path, verbose=True)
    written = (tmp_path / "stacks.txt").read_text()
    got = flame(trace, "--like-torch", METRIC)
    assert got == "".join(map(line_of, events))
    assert len(written.splitlines()) > 50
    assert abs(len(got.splitlines()) - len(written.splitlines())) <= 2


def test_without_verbose_both_are_empty(tmp_path):
    trace, _ = capture(tmp_path, verbose=False)
    assert (tmp_path / "stacks.txt").read_text() == ""
    assert flame(trace, "--like-torch", METRIC) == ""
    assert "aten::addmm" in flame(trace)


def test_folded_stacks_add_up_to_the_host_time(tmp_path):
    """Self times of all events, frames included, are the total of the flame graph."""
    trace, events = capture(tmp_path, verbose=True)
    total = sum(round(event.self_cpu_time_total * 1000) for event in events)
    lines = flame(trace, "--unit", "ns").splitlines()
    assert len(lines) == len({line.rpartition(" ")[0] for line in lines})
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == pytest.approx(total, rel=1e-3)
