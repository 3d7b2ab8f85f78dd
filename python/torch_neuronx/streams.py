"""Streams and events of device `neuron`: torch.Stream and torch.Event with the device filled in.

Streams of one device share its core: work runs in submission order, and copies of one stream may overlap
computation of another in simulated time.
"""

from __future__ import annotations

import torch

from torch_neuronx._device import device_index


class Stream(torch.Stream):
    """Stream(device=None, priority=0); priority has no effect: one core runs all work in submission order."""

    def __new__(cls, device=None, priority=0, **kwargs):
        if "stream_id" in kwargs:
            return super().__new__(cls, priority=priority, **kwargs)
        return super().__new__(cls, device=torch.device("neuron", device_index(device)), priority=priority)

    def __repr__(self) -> str:
        return f"torch.neuron.Stream(device={self.device}, stream_id={self.stream_id})"


class _EventType(type):
    """isinstance(e, torch.neuron.Event) holds for every torch.Event of this device."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, torch.Event) and obj.device.type == "neuron"


class Event(metaclass=_EventType):
    """Event(enable_timing=False, blocking=False) makes a torch.Event of this device, whose elapsed_time
    is simulated milliseconds. Not a subclass: torch.Event.elapsed_time accepts its exact type only."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise RuntimeError(
                "neuron events cannot be shared between processes; leave interprocess at False and "
                "synchronize in each process"
            )
        return torch.Event(torch.device("neuron"), enable_timing=enable_timing, blocking=blocking)


def _own(stream) -> Stream:
    return Stream(stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type)


def current_stream(device=None) -> Stream:
    return _own(torch.accelerator.current_stream(device_index(device)))


def default_stream(device=None) -> Stream:
    like = torch.accelerator.current_stream(device_index(device))
    return Stream(stream_id=0, device_index=like.device_index, device_type=like.device_type)


def set_stream(stream) -> None:
    """Makes a stream, and its device, current on the calling thread. None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """with stream(s): makes s current within the block; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream
        self._previous = None
        self._device = None

    def __enter__(self):
        if self.stream is None:
            return None
        from torch_neuronx import _C

        self._device = _C._current_device()
        self._previous = torch.accelerator.current_stream(self.stream.device)
        set_stream(self.stream)
        return self.stream

    def __exit__(self, *exc):
        if self.stream is not None:
            from torch_neuronx import _C

            set_stream(self._previous)
            _C._exchange_device(self._device)
        return False


def stream(stream) -> StreamContext:
    return StreamContext(stream)


def wait_stream(stream) -> None:
    """Later work of the current stream waits for what `stream` has been given so far."""
    current_stream().wait_stream(stream)


def wait_event(event) -> None:
    current_stream().wait_event(event)


def record_event(event=None):
    """Records an event (a new one by default) on the current stream and returns it."""
    event = event if event is not None else Event()
    event.record(current_stream())
    return event
