"""The torch.compile backend: AOTAutograd graphs, compiled by the C core, one launch each."""

from __future__ import annotations

import logging
import warnings

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.utils import counters
from torch._functorch._aot_autograd.logging_utils import get_aot_compilation_context
from torch.utils._pytree import tree_leaves

from .. import _C
from .lowering import Lowering, Unsupported
from .partition import partition

log = logging.getLogger(__name__)

_DEFAULT_MODEL = "model_default"


def _decompositions() -> dict:
    """core ATen, without the operators that the C compiler takes whole."""
    from torch._decomp import core_aten_decompositions

    known = {name.partition(".")[0] for name in _C._compiler_ops()}
    return {op: fn for op, fn in core_aten_decompositions().items() if op._schema.name not in known}


class _Part:
    """A compiled part; falls back to its own nodes when an input is not laid out as it was at compile time."""

    def __init__(self, name: str, module: torch.fx.GraphModule):
        lowering = Lowering(name, module.graph)
        self._graph = lowering.compile()
        self._slots = lowering.result_slots
        self._module = module
        placeholders = module.graph.find_nodes(op="placeholder")
        self._layouts = [(tuple(n.meta["val"].shape), n.meta["val"].stride()) for n in placeholders]
        (output,) = module.graph.find_nodes(op="output")
        self._single = isinstance(output.args[0], torch.fx.Node)

    def __call__(self, *inputs: torch.Tensor):
        if any((tuple(x.shape), x.stride()) != layout for x, layout in zip(inputs, self._layouts)):
            return self._module(*inputs)
        results = self._graph.launch(list(inputs))
        if self._single:
            return results[0]
        return tuple(results[i] for i in self._slots)


class _PartModule(torch.nn.Module):
    """FX calls submodules; this one is a launch."""

    def __init__(self, part: _Part):
        super().__init__()
        self._part = part

    def forward(self, *inputs):
        return self._part(*inputs)


def _graph_name(model: str) -> str:
    """`{model}_{aot id}_{inference|forward|backward}_{n}` (torchneuron-face.md 5.1)."""
    being_compiled, _, nth = get_aot_compilation_context()
    return f"{model}_{'_'.join(being_compiled)}_{nth}"


def _compile_parts(gm: torch.fx.GraphModule, name: str) -> torch.fx.GraphModule:
    fused, submodules, reasons = partition(gm)
    compiled = 0
    for i, submodule in enumerate(submodules):
        part_name = name if len(submodules) == 1 else f"{name}_part{i}"
        try:
            part = _Part(part_name, fused.get_submodule(submodule))
        except (Unsupported, _C.GraphUnsupported) as e:
            reasons[part_name] = str(e)
            continue
        fused.set_submodule(submodule, _PartModule(part))
        compiled += 1
    _count(compiled, reasons)
    if reasons:
        log.info("graph %s: outside its %d compiled parts: %s", name, compiled, reasons)
    fused.recompile()
    return fused


def _count(parts: int, outside: dict[str, str]) -> None:
    """For torch.neuron.get_dynamo_metrics(): graphs, compiled parts, and what stayed outside with its reason."""
    counters["neuron"]["graphs"] += 1
    counters["neuron"]["compiled_parts"] += parts
    for what, reason in outside.items():
        counters["neuron_outside"][f"{what}: {reason}"] += 1


def _compiler(model: str):
    def compile_graph(gm: torch.fx.GraphModule, example_inputs):
        module = _compile_parts(gm, _graph_name(model))

        def run(args: list):
            inputs = list(args)
            args.clear()  # the boxed convention: inputs may be freed as soon as they are used
            return module(*inputs)

        run._boxed_call = True
        return run

    return compile_graph


def neuron_backend(gm: torch.fx.GraphModule, example_inputs, *, mode: str | None = None, options: dict | None = None):
    """`torch.compile(f, backend="neuron", options={"model_name": ...})`.

    options: model_name (prefix of graph names in profiles). Other keys raise ValueError.
    """
    if mode not in (None, "default"):
        warnings.warn(f"Neuron backend does not support mode='{mode}', falling back to default mode.", stacklevel=2)
    options = dict(options or {})
    model = options.pop("model_name", _DEFAULT_MODEL)
    if options.pop("dynamic", False):
        raise ValueError("torch.compile(backend='neuron'): option 'dynamic' can only be False: a program has fixed shapes")
    if options:
        raise ValueError(f"torch.compile(backend='neuron'): unknown option {sorted(options)[0]!r}; allowed: 'model_name', 'dynamic'")
    compile_graph = _compiler(model)
    driver = aot_autograd(fw_compiler=compile_graph, bw_compiler=compile_graph, decompositions=_decompositions,
                          keep_inference_input_mutations=True)
    return driver(gm, example_inputs)


neuron_backend._tags = ()


def _on_neuron(gm: torch.fx.GraphModule, example_inputs) -> bool:
    tensors = [*tree_leaves(example_inputs), *gm.parameters(), *gm.buffers()]
    if any(isinstance(t, torch.Tensor) and t.device.type == "neuron" for t in tensors):
        return True
    # Factory functions: a graph without inputs may still create its tensors on the device.
    values = [v for node in gm.graph.nodes for v in tree_leaves(node.meta.get("example_value"))]
    return any(isinstance(v, torch.Tensor) and v.device.type == "neuron" for v in values)


def default_backend(gm: torch.fx.GraphModule, example_inputs, **kwargs):
    """What a plain `torch.compile(f)` uses: ours for graphs on `neuron`, inductor for all others."""
    if _on_neuron(gm, example_inputs):
        return neuron_backend(gm, example_inputs, **kwargs)
    inductor = torch._TorchCompileInductorWrapper(kwargs.get("mode") or "default", kwargs.get("options"), None)
    return inductor(gm, example_inputs)


default_backend._tags = ()
