"""Windows of profiling under unusual conditions: a changed directory, an outer profile, a full disk, odd settings."""

import errno
import os

import pytest
import torch
from torch.profiler import ProfilerActivity
from torch_neuronx.profiling import NeuronConfig, NeuronProfiler
from torch_neuronx.profiling import trace_writer

from profiles import BOTH, config, events, opscope, profile, sessions


def square():
    x = torch.ones(4, 8, device="neuron")
    return (x * x).cpu()


def test_the_program_may_change_its_directory_inside_a_window(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)

    def work():
        square()
        os.chdir(tmp_path / "elsewhere")
        square()

    _, exporter = profile(work, "run")
    (session,) = sessions(tmp_path / "run")
    assert os.path.samefile(exporter.last_path, session / "trace.json")
    assert events(session, "kernel") and list(session.glob("*.neff"))
    assert not list((tmp_path / "elsewhere").iterdir())
    opscope("info", session)


def test_a_profile_inside_another_of_the_cpu_is_refused_and_the_outer_survives(tmp_path):
    c = config(tmp_path)
    exporter = NeuronProfiler(c)
    with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as outer:
        square()
        with pytest.raises(RuntimeError, match="already recording"):
            with torch.profiler.profile(activities=BOTH, experimental_config=c, on_trace_ready=exporter.export_trace):
                square()
    assert "aten::mul" in {e.key for e in outer.key_averages()}
    assert exporter.last_path is None
    profile(square, tmp_path)
    assert len(sessions(tmp_path)) == 1


def test_a_full_disk_is_told_with_the_file(tmp_path, monkeypatch):
    def fails(event):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(trace_writer, "_dump", fails)
    with pytest.raises(OSError, match="cannot write the trace .No space left.*trace.json") as caught:
        profile(square, tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("cores", ["\u0660", "0-\u0661", "0" * 5000])
def test_cores_are_ascii_digits_of_a_sane_length(cores):
    with pytest.raises(ValueError, match="capture_enabled_for_nc"):
        NeuronConfig(capture_enabled_for_nc=cores)


def test_a_directory_name_that_is_no_utf8_is_named():
    with pytest.raises(ValueError, match="profile_output_dir"):
        NeuronConfig(profile_output_dir=os.fsdecode(b"caf\xe9"))
