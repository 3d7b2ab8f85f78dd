"""Which operators ran on the device and which fell back to the CPU, since start or the last clear."""

from __future__ import annotations

from torch_neuronx import _C


def get_fallback_ops() -> list[str]:
    """Operators that ran on the CPU, e.g. ["aten::sort"]."""
    return [name for name, _ in _C._fallback_counts()]


def get_fallback_counts() -> dict[str, int]:
    """How often each of them did."""
    return dict(_C._fallback_counts())


def get_executed_ops() -> list[str]:
    """Operators that ran as device programs."""
    return _C._executed_ops()


def clear_op_tracking() -> None:
    _C._clear_op_tracking()
