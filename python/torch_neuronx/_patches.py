"""The few places where PyTorch would treat a neuron tensor silently wrongly."""

from __future__ import annotations

import functools

import torch


def _refuse_sharing() -> None:
    """PyTorch's share_memory_ returns at once for every device but the CPU, as if it had shared."""
    original = torch.UntypedStorage.share_memory_

    @functools.wraps(original)
    def share_memory_(self, *args, **kwargs):
        if self.device.type == "neuron":
            raise RuntimeError(
                "share_memory_() is not supported for neuron tensors: device memory belongs to one "
                "process. Share a copy on the CPU instead: tensor.cpu().share_memory_()"
            )
        return original(self, *args, **kwargs)

    torch.UntypedStorage.share_memory_ = share_memory_


def _refuse_distributed() -> None:
    """init_process_group(backend="neuron") says when it comes instead of "unknown backend"."""
    if not torch.distributed.is_available():
        return

    def create(*args, **kwargs):
        raise NotImplementedError(
            'torch.distributed backend "neuron": collectives are not part of this release. '
            'Use backend="gloo" with CPU tensors (tensor.cpu()) to exchange values between processes'
        )

    backend = torch.distributed.Backend
    backend.register_backend("neuron", create, devices=["neuron"])
    # Not a default: init_process_group() without a backend must keep working for CPU tensors.
    backend.default_device_backend_map.pop("neuron", None)


def install() -> None:
    _refuse_sharing()
    _refuse_distributed()
