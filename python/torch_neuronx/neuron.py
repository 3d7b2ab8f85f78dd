"""torch.neuron: the device module that PyTorch and users call (torchneuron-face.md 1.6)."""

from __future__ import annotations

import torch

from torch_neuronx import _C
from torch_neuronx._device import device_index
from torch_neuronx.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from torch_neuronx.metrics import get_dynamo_metrics, reset_dynamo_metrics
from torch_neuronx.random import (
    default_generators,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_neuronx.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    record_event,
    set_stream,
    stream,
    wait_event,
    wait_stream,
)


def is_initialized() -> bool:
    """Whether the runtime runs in this process."""
    return _C._is_initialized() and not _is_in_bad_fork()


def is_available() -> bool:
    return _C._device_count() > 0


def init() -> None:
    """Starts the runtime; happens by itself at first use."""
    _lazy_init()


def _lazy_init() -> None:
    _C._init()


def _is_in_bad_fork() -> bool:
    return _C._in_bad_fork()


def device_count() -> int:
    """Logical NeuronCores visible to this process."""
    return _C._device_count()


def current_device() -> int:
    return _C._current_device()


def set_device(device) -> None:
    _C._exchange_device(device_index(device))


def get_device_name(device=None) -> str:
    return f"neuron:{device_index(device)}"


class NeuronDeviceProperties:
    """name: instance family ("trn2"); total_memory: device memory in bytes."""

    def __init__(self, name: str, total_memory: int, is_virtual: bool):
        self.name = name
        self.total_memory = total_memory
        self.is_virtual = is_virtual

    def __repr__(self) -> str:
        return (
            f"NeuronDeviceProperties(name='{self.name}', total_memory={self.total_memory}, "
            f"is_virtual={self.is_virtual})"
        )


def get_device_properties(device=None) -> NeuronDeviceProperties:
    device_index(device)
    info = _C._info()
    return NeuronDeviceProperties(info["instance_type"], info["hbm_bytes"], info["is_virtual"])


def get_device_capability(device=None) -> tuple[int, int]:
    """The generation of the instance family, as (major, 0)."""
    name = get_device_properties(device).name
    return int("".join(c for c in name if c.isdigit()) or 0), 0


class device:  # noqa: N801  (the name is PyTorch's)
    """Context manager that makes a device current. None or a negative index changes nothing."""

    def __init__(self, device):
        keep = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if keep else device_index(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = _C._exchange_device(self.idx)

    def __exit__(self, *exc):
        if self.idx >= 0:
            _C._exchange_device(self.prev_idx)
        return False


class device_of(device):  # noqa: N801
    """Context manager that makes the device of a tensor current."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.device.type == "neuron" else None)


def _exchange_device(device: int) -> int:
    return _C._exchange_device(device) if device >= 0 else -1


def _maybe_exchange_device(device: int) -> int:
    return _exchange_device(device)


def synchronize(device=None) -> None:
    """Waits until the device (default: current) has done all its work, in simulated time too."""
    _C._synchronize(device_index(device))


def is_bf16_supported() -> bool:
    return True


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float32, torch.float16, torch.bfloat16]


def set_bake_scalars(on: bool) -> None:
    """True: a Python number in an operator becomes part of the program instead of a 4-byte write to the
    device ahead of it. Every new value is then a new program. Default: OPSCOPE_BAKE_SCALARS=1 or off."""
    _C._set_bake_scalars(bool(on))


def _sleep(cycles: int) -> None:
    """Does nothing, as in the vendor's package."""


__all__ = [
    "Event",
    "NeuronDeviceProperties",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "default_generators",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_dynamo_metrics",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "record_event",
    "reset_accumulated_memory_stats",
    "reset_dynamo_metrics",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_bake_scalars",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
    "wait_event",
    "wait_stream",
]
