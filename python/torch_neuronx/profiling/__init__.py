"""Profiling of device `neuron` through torch.profiler.

    config = NeuronConfig(modes=[ProfileMode.DEVICE, ProfileMode.RUNTIME], correlate_device_time=True)
    exporter = NeuronProfiler(config)
    with torch.profiler.profile(activities=[...CPU, ...PrivateUse1], experimental_config=config,
                                on_trace_ready=exporter.export_trace) as prof: ...

`config` says what is captured and where it goes; `exporter` writes trace.json and run.json into the
session directory that the runtime opened for the window.
"""

from . import guard
from .config import NeuronConfig, ProfileMode
from .exporter import NeuronProfiler

guard.install()

__all__ = ["NeuronConfig", "NeuronProfiler", "ProfileMode"]
