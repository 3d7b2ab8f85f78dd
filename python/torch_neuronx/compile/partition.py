"""Splits a graph into parts that the C compiler takes and the rest, which runs operator by operator.

Views cost nothing on device and stay outside; so does every operator without a lowering, and the
reason is kept, so that a profile can be explained.
"""

from __future__ import annotations

import operator

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .. import _C
from .lowering import DTYPES, schema_name

#: 64-bit types exist at the border only; operators on them run through the eager path (docs/model.md).
_COMPUTED = frozenset(DTYPES) - {torch.int64, torch.float64}


def _tensors(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [v for v in value if isinstance(v, torch.Tensor)] if isinstance(value, (list, tuple)) else []


class Support(OperatorSupportBase):
    """Which nodes may be compiled; `reasons` says why the others may not."""

    def __init__(self):
        self._ops = frozenset(_C._compiler_ops())
        self.reasons: dict[str, str] = {}

    def is_node_supported(self, submodules, node: torch.fx.Node) -> bool:
        if node.op != "call_function":
            return False
        if node.target is operator.getitem:
            source = node.args[0]
            return isinstance(source, torch.fx.Node) and self.is_node_supported(submodules, source)
        reason = self._reason(node)
        if reason:
            self.reasons[str(node.target)] = reason
        return reason is None

    def _reason(self, node: torch.fx.Node) -> str | None:
        if not isinstance(node.target, torch._ops.OpOverload):
            return "not an ATen operator"
        if schema_name(node.target) not in self._ops:
            return "no lowering"
        for value in [v for n in (node, *node.all_input_nodes) for v in _tensors(n.meta.get("val"))]:
            if value.device.type != "neuron":
                return f"a tensor on {value.device}"
            if value.dtype not in _COMPUTED:
                return f"dtype {value.dtype}"
        return None


def partition(gm: torch.fx.GraphModule) -> tuple[torch.fx.GraphModule, list[str], dict[str, str]]:
    """Returns the graph with each part as a submodule, the submodules' names, and why nodes stayed outside."""
    support = Support()
    partitioner = CapabilityBasedPartitioner(gm, support, allows_single_node_partition=True)
    fused = partitioner.partition_and_fuse()
    names = [node.target for node in fused.graph.nodes if node.op == "call_module"]
    return fused, names, support.reasons
