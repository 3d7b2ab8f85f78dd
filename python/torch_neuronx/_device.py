"""Device arguments as indices, for all functions of torch.neuron."""

from __future__ import annotations

import torch

from torch_neuronx import _C


def device_index(device=None) -> int:
    """None, an int, "neuron:1", or a torch.device -> index. ValueError for another device type or a
    wrong index."""
    if device is None:
        return _C._current_device()
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "neuron":
            raise ValueError(f"Expected a neuron device, but got: {device}")
        device = _C._current_device() if device.index is None else device.index
    count = _C._device_count()
    if not 0 <= device < count:
        raise ValueError(f"Invalid device id: {device}. Valid range is 0 to {count - 1}")
    return device
