"""torch.compile for device `neuron`.

`lazy` makes `neuron_backend` the default backend without importing dynamo; `backend` drives AOTAutograd;
`partition` finds the parts of a graph that the C compiler takes; `lowering` turns one part into an
osc_graph; `device_interface` tells dynamo about streams and devices.
"""


def neuron_backend(gm, example_inputs, **kwargs):
    """Entry point `torch_dynamo_backends: neuron`; see backend.neuron_backend."""
    from .backend import neuron_backend as backend

    return backend(gm, example_inputs, **kwargs)


#: torch._dynamo.list_backends() reads the tags of a registered function.
neuron_backend._tags = ()

__all__ = ["neuron_backend"]
