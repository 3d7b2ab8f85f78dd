"""NeuronConfig: the capture's settings, validated at once, carried to Kineto as one string.

torch.profiler accepts only its own `_ExperimentalConfig` type and copies it in places; a copy keeps the
C++ fields and loses Python attributes (pytorch-adapter.md section 2). So the string is the only state:
every property is read back from it.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Sequence

import torch
from torch._C._profiler import _ExperimentalConfig

__all__ = ["NeuronConfig", "ProfileMode"]

_MOST_EVENTS = 2**63 - 1
_CORES = re.compile(r"\s*[0-9]{1,9}\s*(-\s*[0-9]{1,9}\s*)?(,\s*[0-9]{1,9}\s*(-\s*[0-9]{1,9}\s*)?)*")


class ProfileMode(enum.Enum):
    """What a capture collects, and the files it makes (torchneuron-face.md 1.2)."""

    DEVICE = "device"  #: instructions and transfers: .neff and .ntff
    RUNTIME = "runtime"  #: runtime and core intervals: ntrace.pb and trace_info.pb
    CPU_UTIL = "cpu_util"  #: host CPU utilisation samples: cpu_util.pb
    HOST_MEMORY = "host_memory"  #: host memory samples: host_mem.pb


def _encode(text: str) -> str:
    """Keeps a path in one `key:value;` segment, blanks at its ends included."""
    return "".join("%%%02X" % ord(c) if c in "%; \t\r\n" else c for c in text)


def _decode(text: str) -> str:
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), text)


def _check_modes(value) -> list[ProfileMode]:
    allowed = ", ".join(f"ProfileMode.{m.name}" for m in ProfileMode)
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise TypeError(f"NeuronConfig: modes must be a list of ProfileMode, not {type(value).__name__}; allowed: {allowed}")
    for mode in value:
        if not isinstance(mode, ProfileMode):
            raise TypeError(f"NeuronConfig: modes holds {mode!r} of type {type(mode).__name__}; allowed: {allowed}")
    if not value:
        raise ValueError(f"NeuronConfig: modes is empty; it needs at least one of {allowed}")
    return sorted(set(value), key=list(ProfileMode).index)


def _check_bool(field: str, value) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"NeuronConfig: {field} must be True or False, not {value!r} of type {type(value).__name__}")
    return value


def _check_events(value) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"NeuronConfig: max_events_per_nc must be an int, not {type(value).__name__}")
    if not 1 <= value <= _MOST_EVENTS:
        raise ValueError(f"NeuronConfig: max_events_per_nc is {value}; allowed: 1 to {_MOST_EVENTS}")
    return value


def _check_cores(value) -> str:
    if not isinstance(value, str):
        raise TypeError(
            "NeuronConfig: capture_enabled_for_nc must be a string of core indices and ranges such as '0,2-5', "
            f"not {type(value).__name__}"
        )
    if not _CORES.fullmatch(value):
        raise ValueError(f"NeuronConfig: capture_enabled_for_nc is {value!r}; allowed: indices and inclusive ranges such as '0,2-5'")
    count = torch.neuron.device_count()
    for part in value.split(","):
        first, _, last = (n.strip() for n in part.partition("-"))
        if last and int(last) < int(first):
            raise ValueError(f"NeuronConfig: capture_enabled_for_nc has the range {part.strip()!r}, which runs backwards")
        if int(last or first) >= count:
            raise ValueError(
                f"NeuronConfig: capture_enabled_for_nc names core {int(last or first)}; allowed: 0 to {count - 1} "
                f"({count} visible, see NEURON_RT_NUM_CORES)"
            )
    return "".join(value.split())


def _check_path(field: str, value) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"NeuronConfig: {field} must be a path (str or os.PathLike), not {type(value).__name__}")
    path = os.fspath(value)
    if not isinstance(path, str):
        raise TypeError(f"NeuronConfig: {field} must be a text path, not bytes")
    if not path or "\0" in path or not _is_unicode(path):
        raise ValueError(f"NeuronConfig: {field} is {path!r}; allowed: a directory name in UTF-8")
    return path


def _is_unicode(text: str) -> bool:
    """False for a file name that is no UTF-8, which Python holds as lone surrogates; PyTorch's string cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class NeuronConfig(_ExperimentalConfig):
    """Settings of one capture. Pass it as `experimental_config=` and to `NeuronProfiler`.

    modes: what to collect; default [DEVICE, RUNTIME].
    max_events_per_nc: cap of system-trace events per core, 1..2**63-1; beyond it the newest are dropped,
        counted, and a warning is given once. Unset: 1,000,000.
    capture_enabled_for_nc: cores to capture, indices and inclusive ranges as a string ("0,2-5"). Unset: all.
    profile_output_dir: where session directories go. Unset: "./output".
    neff_cache_dir: where NEFFs are cached. When set, the session gets its NEFFs at stop, not while the window is open
        (a killed process then leaves none). Unset: each is written at its program's first captured execution.
    precache_node_info: serialise the NEFFs of programs that ran during warm-up before the window opens, so that the
        profiled step does not pay for it. Default True.
    correlate_device_time: give PyTorch the device intervals, linked to operators; the device columns of
        `key_averages()` exist only then. Default False.

    Raises TypeError or ValueError, naming the field and what is allowed.
    """

    def __init__(
        self,
        modes: Sequence[ProfileMode] | None = None,
        *,
        max_events_per_nc: int | None = None,
        capture_enabled_for_nc: str | None = None,
        profile_output_dir: str | os.PathLike | None = None,
        neff_cache_dir: str | os.PathLike | None = None,
        precache_node_info: bool = True,
        correlate_device_time: bool = False,
    ):
        modes = [ProfileMode.DEVICE, ProfileMode.RUNTIME] if modes is None else _check_modes(modes)
        options = {"modes": ",".join(m.value for m in modes)}
        if max_events_per_nc is not None:
            options["max_events_per_nc"] = str(_check_events(max_events_per_nc))
        if capture_enabled_for_nc is not None:
            options["capture_enabled_for_nc"] = _check_cores(capture_enabled_for_nc)
        if profile_output_dir is not None:
            options["profile_output_dir"] = _encode(_check_path("profile_output_dir", profile_output_dir))
        if neff_cache_dir is not None:
            options["neff_cache_dir"] = _encode(_check_path("neff_cache_dir", neff_cache_dir))
        options["precache_node_info"] = str(_check_bool("precache_node_info", precache_node_info)).lower()
        options["correlate_device_time"] = str(_check_bool("correlate_device_time", correlate_device_time)).lower()
        super().__init__(custom_profiler_config=";".join(f"{k}:{v}" for k, v in options.items()))

    def _option(self, key: str) -> str | None:
        for segment in self.custom_profiler_config.split(";"):
            name, _, value = segment.partition(":")
            if name == key:
                return value
        return None

    @property
    def modes(self) -> list[ProfileMode]:
        return [ProfileMode(v) for v in self._option("modes").split(",")]

    @property
    def max_events_per_nc(self) -> int | None:
        value = self._option("max_events_per_nc")
        return None if value is None else int(value)

    @property
    def capture_enabled_for_nc(self) -> str | None:
        return self._option("capture_enabled_for_nc")

    @property
    def profile_output_dir(self) -> str | None:
        value = self._option("profile_output_dir")
        return None if value is None else _decode(value)

    @property
    def neff_cache_dir(self) -> str | None:
        value = self._option("neff_cache_dir")
        return None if value is None else _decode(value)

    @property
    def precache_node_info(self) -> bool:
        return self._option("precache_node_info") == "true"

    @property
    def correlate_device_time(self) -> bool:
        return self._option("correlate_device_time") == "true"

    def _fields(self) -> dict:
        return {
            "modes": self.modes,
            "max_events_per_nc": self.max_events_per_nc,
            "capture_enabled_for_nc": self.capture_enabled_for_nc,
            "profile_output_dir": self.profile_output_dir,
            "neff_cache_dir": self.neff_cache_dir,
            "precache_node_info": self.precache_node_info,
            "correlate_device_time": self.correlate_device_time,
        }

    def __repr__(self) -> str:
        return "NeuronConfig(" + ", ".join(f"{k}={v!r}" for k, v in self._fields().items()) + ")"

    def __eq__(self, other) -> bool:
        return isinstance(other, NeuronConfig) and self.custom_profiler_config == other.custom_profiler_config

    __hash__ = None

    def __reduce__(self):
        return _rebuild, (self._fields(),)


def _rebuild(fields: dict) -> NeuronConfig:
    return NeuronConfig(**fields)
