"""Refuses a second profile while another is recording, if either of them has device `neuron`.

PyTorch lets the second one through: Kineto then drops the first with everything it had collected, and says
so only when the first ends. One function stands before every profile; it is wrapped here.
"""

from __future__ import annotations

import functools

import torch
import torch.autograd.profiler as autograd_profiler
from torch.autograd import ProfilerActivity

from .. import _C


def install() -> None:
    """Idempotent; called when this package is imported."""
    prepare = autograd_profiler._prepare_profiler
    if getattr(prepare, "_refuses_second_profile", False):
        return

    @functools.wraps(prepare)
    def guarded(config, activities, *args, **kwargs):
        running = "a profile of device neuron" if _C._is_profiling() else None
        if running is None and ProfilerActivity.PrivateUse1 in activities and torch.autograd._profiler_enabled():
            running = "a profile"
        if running is not None:
            raise RuntimeError(
                f"{running} is already recording in this process; leave it (or call its stop()) before "
                "starting another one: PyTorch would discard what the first has collected"
            )
        return prepare(config, activities, *args, **kwargs)

    guarded._refuses_second_profile = True
    autograd_profiler._prepare_profiler = guarded
