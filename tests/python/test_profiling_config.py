"""NeuronConfig: every field, its validation, its way through the string that Kineto carries."""

import copy
import pathlib
import pickle

import pytest
import torch
from torch_neuronx import _C
from torch_neuronx.profiling import NeuronConfig, NeuronProfiler, ProfileMode

ALL = dict(
    modes=[ProfileMode.HOST_MEMORY, ProfileMode.DEVICE, ProfileMode.CPU_UTIL, ProfileMode.RUNTIME],
    max_events_per_nc=500_000,
    capture_enabled_for_nc="0",
    profile_output_dir="odd: name; 100 %/x",
    neff_cache_dir="cache;dir",
    precache_node_info=False,
    correlate_device_time=True,
)


def test_defaults():
    c = NeuronConfig()
    assert c.modes == [ProfileMode.DEVICE, ProfileMode.RUNTIME]
    assert c.max_events_per_nc is None and c.capture_enabled_for_nc is None
    assert c.profile_output_dir is None and c.neff_cache_dir is None
    assert c.precache_node_info is True and c.correlate_device_time is False


def test_is_what_torch_profiler_accepts():
    assert isinstance(NeuronConfig(), torch._C._profiler._ExperimentalConfig)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_every_field_survives_a_copy(clone):
    c = clone(NeuronConfig(**ALL))
    for field, value in ALL.items():
        if field != "modes":
            assert getattr(c, field) == value, field
    assert c.modes == list(ProfileMode)


def test_the_session_reads_what_python_wrote():
    parsed = _C._parse_profiler_config(NeuronConfig(**ALL).custom_profiler_config)
    assert parsed["warnings"] == []
    assert parsed["modes"] == 0xF
    assert parsed["profile_output_dir"] == ALL["profile_output_dir"]
    assert parsed["neff_cache_dir"] == ALL["neff_cache_dir"]
    assert parsed["cores"] == [0]
    assert parsed["max_events_per_nc"] == 500_000
    assert parsed["precache_node_info"] is False and parsed["correlate_device_time"] is True


def test_paths_may_be_path_objects():
    assert NeuronConfig(profile_output_dir=pathlib.Path("a") / "b").profile_output_dir == "a/b"


@pytest.mark.parametrize(
    "field, value, error, says",
    [
        ("modes", "device", TypeError, "ProfileMode.DEVICE"),
        ("modes", ["device"], TypeError, "'device'"),
        ("modes", [], ValueError, "at least one"),
        ("modes", ProfileMode.DEVICE, TypeError, "list"),
        ("max_events_per_nc", "5", TypeError, "int"),
        ("max_events_per_nc", True, TypeError, "int"),
        ("max_events_per_nc", 0, ValueError, "1 to"),
        ("max_events_per_nc", 2**63, ValueError, "1 to"),
        ("capture_enabled_for_nc", 0, TypeError, "'0,2-5'"),
        ("capture_enabled_for_nc", "", ValueError, "'0,2-5'"),
        ("capture_enabled_for_nc", "0,x", ValueError, "'0,2-5'"),
        ("capture_enabled_for_nc", "1-0", ValueError, "backwards"),
        ("capture_enabled_for_nc", "999", ValueError, "0 to"),
        ("profile_output_dir", 3, TypeError, "path"),
        ("profile_output_dir", "", ValueError, "directory"),
        ("profile_output_dir", b"x", TypeError, "path"),
        ("neff_cache_dir", 3, TypeError, "path"),
        ("precache_node_info", 1, TypeError, "True or False"),
        ("correlate_device_time", "yes", TypeError, "True or False"),
    ],
)
def test_wrong_values_are_refused_by_name(field, value, error, says):
    with pytest.raises(error) as info:
        NeuronConfig(**{field: value})
    assert field in str(info.value) and says in str(info.value)


def test_unknown_field():
    with pytest.raises(TypeError, match="host_memory"):
        NeuronConfig(host_memory=True)


def test_exporter_needs_a_config(tmp_path):
    with pytest.raises(TypeError, match="NeuronConfig"):
        NeuronProfiler({"modes": []})


def test_exporter_refuses_a_directory_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file") as info:
        NeuronProfiler(NeuronConfig(profile_output_dir=tmp_path / "file" / "sub"))
    assert "profile_output_dir" in str(info.value)


@pytest.mark.parametrize(
    "text, warns",
    [
        ("", 0),
        (" ; ;", 0),
        ("max_events_per_nc:7;", 0),
        ("  max_events_per_nc : 7 ; profile_output_dir:/tmp/a:b", 0),
        ("no colon", 1),
        ("unknown:1;max_events_per_nc:7", 1),
        ("max_events_per_nc:seven;correlate_device_time:maybe;capture_enabled_for_nc:2-1", 3),
        ("host_memory:TRUE", 0),
    ],
)
def test_the_tolerant_parser(text, warns):
    parsed = _C._parse_profiler_config(text)
    assert len(parsed["warnings"]) == warns
    if "max_events_per_nc:7" in text.replace(" ", ""):
        assert parsed["max_events_per_nc"] == 7
    if "/tmp/a:b" in text:
        assert parsed["profile_output_dir"] == "/tmp/a:b"
    if "host_memory" in text:
        assert parsed["modes"] == 0x8 | 0x3


def test_modes_in_a_path_are_not_the_key():
    parsed = _C._parse_profiler_config("profile_output_dir:/tmp/modes")
    assert parsed["modes"] == 0x3 and parsed["profile_output_dir"] == "/tmp/modes"
