"""One FX (sub)graph of ATen operators into an osc_graph, node by node.

Arguments are handed over in schema order with defaults filled in, dtypes as their numbers, and
layout, device, memory format as None: the C compiler reads them like the ATen documentation.
"""

from __future__ import annotations

import operator

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .. import _C

#: torch dtype -> osc_dtype (include/opscope/dtype.h).
DTYPES = {
    torch.bool: 1, torch.uint8: 2, torch.int8: 3, torch.int16: 4, torch.int32: 5, torch.int64: 6, torch.float16: 7,
    torch.bfloat16: 8, torch.float32: 9, torch.float64: 10, torch.uint16: 11, torch.uint32: 12,
}
_FOREIGN = (torch.device, torch.layout, torch.memory_format)


class Unsupported(Exception):
    """This node, named in the message, cannot be part of a compiled graph."""


def schema_name(target: torch._ops.OpOverload) -> str:
    """"aten::mul.Tensor"; no dot for the default overload."""
    name, overload = target._schema.name, target._schema.overload_name
    return f"{name}.{overload}" if overload else name


def _is_static(value: torch.Tensor) -> bool:
    return all(isinstance(n, int) for n in (*value.shape, *value.stride()))


def check_tensor(value, where: str) -> FakeTensor:
    if not isinstance(value, torch.Tensor):
        raise Unsupported(f"{where}: {type(value).__name__} is not a tensor")
    if value.device.type != "neuron":
        raise Unsupported(f"{where}: a tensor on {value.device}")
    if value.dtype not in DTYPES:
        raise Unsupported(f"{where}: dtype {value.dtype}")
    if not _is_static(value):
        raise Unsupported(f"{where}: dynamic shape {tuple(value.shape)}")
    return value


class Lowering:
    """Lowers `graph` under `name`; `inputs` are its placeholders, `outputs` the nodes it must return."""

    def __init__(self, name: str, graph: torch.fx.Graph):
        self._builder = _C.GraphBuilder(name)
        self._values: dict[torch.fx.Node, int | list[int | None]] = {}
        self._graph = graph
        (output,) = graph.find_nodes(op="output")
        returned = output.args[0]
        self._returned = [returned] if isinstance(returned, torch.fx.Node) else list(returned)

    def compile(self) -> _C.CompiledGraph:
        for node in self._graph.find_nodes(op="placeholder"):
            value = check_tensor(node.meta["val"], str(node))
            self._values[node] = self._builder.add_input(DTYPES[value.dtype], list(value.shape), list(value.stride()))
        outputs = {node: self._add_output(node) for node in dict.fromkeys(self._returned)}
        for node in self._graph.nodes:
            if node.op == "call_function":
                self._lower(node, outputs)
            elif node.op not in ("placeholder", "output"):
                raise Unsupported(f"{node.op} {node.target}")
        return self._builder.compile()

    @property
    def result_slots(self) -> list[int]:
        """For each returned value its place among the launch's outputs (a node may be returned twice)."""
        order = list(dict.fromkeys(self._returned))
        return [order.index(node) for node in self._returned]

    def _add_output(self, node: torch.fx.Node) -> int:
        if node.op == "placeholder":
            raise Unsupported(f"{node}: an input that is returned unchanged")
        value = check_tensor(node.meta["val"], str(node))
        return self._builder.add_output(DTYPES[value.dtype], list(value.shape), list(value.stride()), value.dtype)

    def _lower(self, node: torch.fx.Node, outputs: dict) -> None:
        if node.target is operator.getitem:
            return  # its source named the value already
        results = self._result_values(node, outputs)
        args = [self._argument(a, node) for a in self._schema_order(node)]
        file, line = _source_of(node)
        self._builder.add_op(schema_name(node.target), args, results, file, line)

    def _result_values(self, node: torch.fx.Node, outputs: dict) -> list[int]:
        if isinstance(node.meta["val"], torch.Tensor):
            self._values[node] = outputs[node] if node in outputs else self._intermediate(node, node.meta["val"])
            return [self._values[node]]
        users = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        results = []
        for i, value in enumerate(node.meta["val"]):
            user = users.get(i)
            if user is None:
                results.append(0xFFFFFFFF)  # OSC_NO_VALUE: nobody needs it
                continue
            self._values[user] = outputs[user] if user in outputs else self._intermediate(user, value)
            results.append(self._values[user])
        return results

    def _intermediate(self, node: torch.fx.Node, value) -> int:
        value = check_tensor(value, str(node))
        return self._builder.add_intermediate(DTYPES[value.dtype], list(value.shape), list(value.stride()))

    @staticmethod
    def _schema_order(node: torch.fx.Node) -> list:
        arguments = []
        for i, parameter in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                arguments.append(node.args[i])
            else:
                arguments.append(node.kwargs.get(parameter.name, parameter.default_value))
        return arguments

    def _argument(self, value, node: torch.fx.Node):
        if isinstance(value, torch.fx.Node):
            return ("t", self._values[value])
        if value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, torch.dtype):
            if value not in DTYPES:
                raise Unsupported(f"{node.target}: dtype {value}")
            return DTYPES[value]
        if isinstance(value, _FOREIGN):
            return None
        if isinstance(value, str):
            return _STRINGS[value] if value in _STRINGS else self._refuse(value, node)
        if isinstance(value, (list, tuple)):
            if all(isinstance(v, torch.fx.Node) for v in value) and value:
                return ("ts", [self._values[v] for v in value])
            if all(isinstance(v, int) for v in value):
                return list(value)
        return self._refuse(value, node)

    @staticmethod
    def _refuse(value, node: torch.fx.Node):
        raise Unsupported(f"{node.target}: argument {value!r}")


#: String arguments the compiler knows by number (gelu's `approximate`).
_STRINGS = {"none": 0, "tanh": 1}


def _source_of(node: torch.fx.Node) -> tuple[str, int]:
    """File and line of the user's statement, from the innermost frame that FX recorded."""
    frames = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip().startswith('File "')]
    if not frames:
        return "", 0
    name, _, rest = frames[-1][len('File "'):].partition('", line ')
    number = rest.split(",")[0]
    return name, int(number) if number.isdigit() else 0
