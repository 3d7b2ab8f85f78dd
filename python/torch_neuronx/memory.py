"""Device memory: statistics and cache (torchneuron-face.md section 7)."""

from __future__ import annotations

from torch_neuronx import _C
from torch_neuronx._device import device_index


def _raw(device) -> dict:
    return _C._memory_stats(device_index(device))


def memory_stats(device=None) -> dict:
    """Nested counters: allocated_bytes and active_bytes with current, peak, allocated and freed;
    reserved_bytes with current and peak; num_ooms, num_tensor_frees, allocation_requests."""
    raw = _raw(device)
    allocated = {
        "current": raw["allocated"],
        "peak": raw["peak_allocated"],
        "allocated": raw["total_allocated_bytes"],
        "freed": raw["total_freed_bytes"],
    }
    return {
        "allocated_bytes": allocated,
        "reserved_bytes": {"current": raw["reserved"], "peak": raw["peak_reserved"]},
        "active_bytes": dict(allocated),
        "num_ooms": raw["oom_count"],
        "num_tensor_frees": raw["free_count"],
        "allocation_requests": raw["alloc_count"],
    }


def memory_allocated(device=None) -> int:
    return _raw(device)["allocated"]


def max_memory_allocated(device=None) -> int:
    return _raw(device)["peak_allocated"]


def memory_reserved(device=None) -> int:
    return _raw(device)["reserved"]


def max_memory_reserved(device=None) -> int:
    return _raw(device)["peak_reserved"]


def mem_get_info(device=None) -> tuple[int, int]:
    """(free, total) bytes."""
    raw = _raw(device)
    return raw["capacity"] - raw["allocated"], raw["capacity"]


def reset_peak_memory_stats(device=None) -> None:
    _C._memory_reset_peak(device_index(device))


def reset_accumulated_memory_stats(device=None) -> None:
    _C._memory_reset_totals(device_index(device))


def empty_cache() -> None:
    """Gives cached blocks of all devices back."""
    _C._empty_cache()


def _size(n: int) -> str:
    value = float(n)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def memory_summary(device=None, abbreviated: bool = False) -> str:
    """The statistics as a table for people."""
    index = device_index(device)
    raw = _raw(index)
    rows = [
        ("allocated", raw["allocated"], raw["peak_allocated"]),
        ("reserved", raw["reserved"], raw["peak_reserved"]),
    ]
    lines = [f"neuron:{index} memory, capacity {_size(raw['capacity'])}", f"{'':<12}{'current':>14}{'peak':>14}"]
    lines += [f"{name:<12}{_size(now):>14}{_size(peak):>14}" for name, now, peak in rows]
    if not abbreviated:
        lines.append(
            f"{raw['alloc_count']} allocations, {raw['free_count']} frees, {raw['oom_count']} out-of-memory errors"
        )
    return "\n".join(lines)
