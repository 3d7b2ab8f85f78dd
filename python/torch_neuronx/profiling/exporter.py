"""NeuronProfiler: on_trace_ready handler that completes the session directory of a window."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import warnings

from .. import _C
from ..tracking import get_fallback_counts
from .config import NeuronConfig
from .facts import fallback_facts, process_facts, profile_facts
from .trace_writer import TraceWriter

__all__ = ["NeuronProfiler"]


def _require_writable(directory: str) -> None:
    """Raises OSError naming the directory while there is still nothing to lose."""
    try:
        os.makedirs(directory, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as e:
        message = f"cannot write profiles there ({e.strerror}); choose another NeuronConfig(profile_output_dir=...)"
        raise type(e)(e.errno or errno.EIO, message, directory) from None


def _write(writer: TraceWriter, path: str) -> None:
    """A full disk's OSError names no file by itself."""
    try:
        writer.write(path)
    except OSError as e:
        message = f"cannot write the trace ({e.strerror}); what the runtime captured before is beside it"
        raise type(e)(e.errno or errno.EIO, message, path) from None


class NeuronProfiler:
    """Pass `export_trace` as on_trace_ready. `config` is the NeuronConfig given to the profile.

    Raises TypeError for anything but a NeuronConfig and OSError when its output directory cannot be written.
    """

    def __init__(self, config: NeuronConfig):
        if not isinstance(config, NeuronConfig):
            raise TypeError(f"NeuronProfiler needs the NeuronConfig of the profile, not {type(config).__name__}")
        self.config = config
        #: trace.json of the newest exported window, None before the first.
        self.last_path: str | None = None
        self._exported = 0
        self._facts = process_facts()
        self._fallbacks = get_fallback_counts()
        _require_writable(config.profile_output_dir or "./output")
        _C._set_capture_facts(json.dumps(self._facts))
        # Kineto prints two probe lines per window on stderr otherwise (pytorch-adapter.md 3.7).
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")

    def export_trace(self, prof) -> None:
        """Writes trace.json beside what the runtime wrote for this window and brings run.json up to date.

        Raises RuntimeError when no window of device `neuron` was captured, OSError when writing fails; what
        was captured before stays in place. A second call for the same window only warns.
        """
        capture = _C._last_capture()
        results = getattr(getattr(prof, "profiler", None), "kineto_results", None)
        if capture is None or results is None:
            raise RuntimeError(
                "NeuronProfiler.export_trace: no window was captured; profile with activities=[ProfilerActivity.CPU, "
                "ProfilerActivity.PrivateUse1] and experimental_config=NeuronConfig(...)"
            )
        if capture["id"] == self._exported:
            warnings.warn(f"this window is already exported to {self.last_path}", stacklevel=2)
            return
        if not capture["dir"]:
            reason = capture["error"] or "give the NeuronConfig to torch.profiler.profile as experimental_config"
            raise RuntimeError(f"NeuronProfiler.export_trace: the window has no session directory: {reason}")
        path = os.path.join(capture["dir"], "trace.json")
        metadata = dict(getattr(prof, "_trace_metadata", None) or {})
        metadata["opscope"] = json.dumps({"simulated": True, "launch_model": "fitted", "dropped_events": capture["dropped"]})
        # PyTorch's table adds doubles that count from here; with it the text can be rebuilt to the last digit.
        metadata["opscope_trace_start_ns"] = str(results.trace_start_ns())
        writer = TraceWriter(results.trace_activities(), capture["ops"], _properties(capture["device_json"]), metadata)
        _write(writer, path)
        fallbacks = get_fallback_counts()
        facts = {**self._facts, **profile_facts(prof, self.config, capture["ops"]),
                 "cpu_fallbacks": fallback_facts(self._fallbacks, fallbacks)}
        self._fallbacks = fallbacks
        _C._write_manifest(capture["dir"], json.dumps(facts))
        self.last_path, self._exported = path, capture["id"]
        self._say_what_is_missing(capture)

    def _say_what_is_missing(self, capture: dict) -> None:
        if capture["error"]:
            warnings.warn(f"{capture['dir']}: {capture['error']}", stacklevel=4)
        if capture["dropped"]:
            warnings.warn(
                f"{capture['dropped']} trace events were dropped (the newest); raise NeuronConfig(max_events_per_nc=...) "
                "or profile fewer steps",
                stacklevel=4,
            )


def _properties(device_json: str) -> list:
    if not device_json:
        return []
    value = json.loads(device_json)
    return value if isinstance(value, list) else [value]
