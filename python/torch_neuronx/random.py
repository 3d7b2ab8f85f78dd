"""Random state of the devices. Values are those of the CPU generator with the same seed."""

from __future__ import annotations

import torch

from torch_neuronx import _C
from torch_neuronx._device import device_index


def _generator(device=None) -> torch.Generator:
    return _C._default_generator(device_index(device))


class _DefaultGenerators:
    """torch.neuron.default_generators[i], made on demand."""

    def __len__(self) -> int:
        return _C._device_count()

    def __getitem__(self, index: int) -> torch.Generator:
        if not 0 <= index < len(self):
            raise IndexError(index)
        return _generator(index)


default_generators = _DefaultGenerators()


def manual_seed(seed: int) -> None:
    """Seeds the current device."""
    _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    for generator in default_generators:
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device from a non-deterministic source."""
    _generator().seed()


def seed_all() -> None:
    """Seeds every device with the same number from a non-deterministic source."""
    number = None
    for generator in default_generators:
        if number is None:
            number = generator.seed()
        else:
            generator.manual_seed(number)


def initial_seed() -> int:
    return _generator().initial_seed()


def get_rng_state(device="neuron") -> torch.Tensor:
    return _generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    return [generator.get_state() for generator in default_generators]


def set_rng_state(new_state: torch.Tensor, device="neuron") -> None:
    _generator(device).set_state(new_state)


def set_rng_state_all(new_states) -> None:
    for i, state in enumerate(new_states):
        set_rng_state(state, i)
