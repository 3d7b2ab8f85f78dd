"""What dynamo asks about device `neuron`: current device, streams, events, properties."""

from __future__ import annotations

import torch


def register(module) -> None:
    """`module` is torch._dynamo.device_interface, just imported."""
    neuron = torch.neuron

    class NeuronInterface(module.DeviceInterface):
        device = neuron.device
        Event = torch.Event
        Stream = torch.Stream

        class Worker:
            set_device = staticmethod(neuron.set_device)
            current_device = staticmethod(neuron.current_device)
            get_device_properties = staticmethod(neuron.get_device_properties)

        current_device = staticmethod(neuron.current_device)
        set_device = staticmethod(neuron.set_device)
        device_count = staticmethod(neuron.device_count)
        is_available = staticmethod(neuron.is_available)
        stream = staticmethod(neuron.stream)
        current_stream = staticmethod(neuron.current_stream)
        set_stream = staticmethod(neuron.set_stream)
        synchronize = staticmethod(neuron.synchronize)
        get_device_properties = staticmethod(neuron.get_device_properties)
        memory_allocated = staticmethod(neuron.memory_allocated)

        @staticmethod
        def exchange_device(index: int) -> int:
            previous = neuron.current_device()
            neuron.set_device(index)
            return previous

        @staticmethod
        def maybe_exchange_device(index: int) -> int:
            return NeuronInterface.exchange_device(index) if index >= 0 else neuron.current_device()

        @staticmethod
        def get_raw_stream(index: int) -> int:
            return neuron.current_stream(index).stream_id

        @staticmethod
        def get_compute_capability(device=None) -> str:
            return neuron.get_device_properties(device).name

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return True

    for name in ["neuron", *(f"neuron:{i}" for i in range(neuron.device_count()))]:
        module.register_interface_for_device(name, NeuronInterface)
