"""Writes trace.json from the collected activities.

PyTorch 2.13's own writer leaves quotes in names unescaped and loses non-ASCII names
(kineto-trace-format.md section 5), and it can be used once per window only. This one reads the same
activities, keeps every name, always writes valid JSON, and adds the lane that Kineto must not see: one
`privateuse1_driver` event per piece of device work, from submission to completion, under the
operator's own name (pytorch-adapter.md 3.2, option a). Those events carry `"opscope_lane": 1` because
`key_averages()` never counted them.

Times: microseconds with three decimals, relative to baseTimeNanoseconds, so exact nanoseconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator

#: Categories whose own id is not an operator id; they have an External id only through a link.
_DEVICE_SIDE = frozenset(["kernel", "gpu_memcpy", "gpu_memset", "privateuse1_runtime", "privateuse1_driver", "cuda_runtime", "cuda_driver"])
_FLOW_NAMES = {1: "fwdbwd", 2: "ac2g"}
_SECOND = 1_000_000_000
#: Device processes sort below every host process in viewers (pids end at 4,194,304).
_DEVICE_SORT_INDEX = 5_000_000


class _Microseconds:
    """A time in ns, written as microseconds with three decimals: a binary float cannot hold an epoch's nanosecond."""

    def __init__(self, ns: int):
        sign, ns = ("-", -ns) if ns < 0 else ("", ns)
        self.text = f"{sign}{ns // 1000}.{ns % 1000:03d}"


def _arguments(metadata_json: str) -> dict:
    """Kineto hands metadata over as the inside of a JSON object, which a name with a quote in it breaks."""
    if not metadata_json:
        return {}
    try:
        return json.loads("{" + metadata_json + "}", strict=False)
    except ValueError:
        return {"unparsed": metadata_json}


def _dump(event: dict) -> str:
    """One event as JSON; every event has a name, so the times can follow after a comma."""
    text = json.dumps({k: v for k, v in event.items() if not isinstance(v, _Microseconds)})
    times = "".join(f', "{k}": {v.text}' for k, v in event.items() if isinstance(v, _Microseconds))
    return text[:-1] + times + "}"


class TraceWriter:
    """One trace.json. `activities`: what `_ProfilerResult.trace_activities()` returns; `ops`: capture records."""

    def __init__(self, activities: Iterable, ops: list[dict], properties: list, metadata: dict[str, str]):
        self._activities = list(activities)
        self._ops = ops
        self._properties = properties
        self._metadata = metadata
        starts = [a.timestamp() for a in self._activities] + [op["enter_ns"] for op in ops]
        ends = [a.timestamp() + max(a.duration(), 0) for a in self._activities] + [op["end_ns"] for op in ops]
        self._first, self._last = min(starts, default=0), max(ends, default=0)
        self._base = self._first // _SECOND * _SECOND

    def write(self, path: str) -> None:
        """Writes to a neighbour and renames, so that a reader never meets half a file."""
        partial = f"{path}.partial"
        try:
            with open(partial, "w", encoding="ascii") as f:
                f.write('{\n"schemaVersion": 1,\n')
                f.write(f'"deviceProperties": {json.dumps(self._properties)},\n')
                for key, value in self._metadata.items():
                    f.write(f"{json.dumps(key)}: {_valid_json(value)},\n")
                f.write(f'"displayTimeUnit": "ms",\n"baseTimeNanoseconds": {self._base},\n"traceEvents": [\n')
                f.writelines(_dump(event) + ",\n" for event in self._events())
                f.write(_dump(self._end_marker()) + f'\n],\n"traceName": {json.dumps(path)}\n}}\n')
            os.replace(partial, path)
        except BaseException:
            if os.path.exists(partial):
                os.unlink(partial)
            raise

    def _time(self, ns: int) -> _Microseconds:
        return _Microseconds(ns - self._base)

    def _events(self) -> Iterator[dict]:
        yield from self._names()
        for activity in self._activities:
            event = self._activity(activity)
            yield event
            flow = activity.flow_id()
            if flow > 0:
                yield self._flow(activity, event, flow)
        for op in self._ops:
            yield self._driver(op)
        yield self._span()
        yield {"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces",
               "tid": "Trace PyTorch Profiler", "ts": self._time(self._first)}

    def _names(self) -> Iterator[dict]:
        """Process and thread names, in the order in which the lanes first appear."""
        host = os.getpid()
        lanes = dict.fromkeys((a.device_id(), abs(a.resource_id())) for a in self._activities)
        lanes.update(dict.fromkeys((op["device"], f"Stream {op['stream']}") for op in self._ops))
        for pid in dict.fromkeys(pid for pid, _ in lanes):
            is_host = pid == host or pid < 0
            yield self._name("process_name", pid, 0, name="python" if is_host else f"NEURON {pid}")
            yield self._name("process_labels", pid, 0, labels="CPU" if is_host else f"NC {pid}, simulated time")
            yield self._name("process_sort_index", pid, 0, sort_index=pid if is_host else _DEVICE_SORT_INDEX + pid)
        for pid, tid in lanes:
            is_host = pid == host or pid < 0
            label = tid if isinstance(tid, str) else f"thread {tid}" if is_host else f"NC {pid} stream {tid}"
            yield self._name("thread_name", pid, tid, name=label)

    def _name(self, what: str, pid, tid, **args) -> dict:
        return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args, "ts": self._time(self._first)}

    def _activity(self, activity) -> dict:
        category = activity.type()
        args = {}
        linked = activity.linked_correlation_id()
        own = activity.correlation_id()
        if linked:
            args["External id"] = linked
        elif own and category not in _DEVICE_SIDE:
            args["External id"] = own
        args.update(_arguments(activity.metadata_json()))
        event = {"ph": "X", "cat": category, "name": activity.name(), "pid": activity.device_id(),
                 "tid": abs(activity.resource_id()), "ts": self._time(activity.timestamp())}
        if category == "cpu_instant_event":
            event.update(ph="i", s="t")
        else:
            event["dur"] = _Microseconds(max(activity.duration(), 0))
        if args:
            event["args"] = args
        return event

    def _flow(self, activity, event: dict, flow: int) -> dict:
        name = _FLOW_NAMES.get(activity.flow_type(), "ac2g")
        arrow = {"ph": "s" if activity.flow_start() else "f", "id": flow, "pid": event["pid"], "tid": event["tid"],
                 "ts": event["ts"], "cat": name, "name": name}
        if not activity.flow_start():
            arrow["bp"] = "e"
        return arrow

    def _driver(self, op: dict) -> dict:
        args = {"nrt_sequence_id": op["sequence"], "device": op["device"], "opscope_lane": 1}
        if op["correlation"]:
            args["External id"] = op["correlation"]
        if op["neff_hash"]:
            args.update(neff_cache_key=op["cache_key"], exec_id=op["exec_id"], neff=str(op["neff_hash"]),
                        launch_ns=op["launch_ns"], body_ns=op["body_ns"])
        else:
            args["bytes"] = op["bytes"]
        return {"ph": "X", "cat": "privateuse1_driver", "name": op["name"], "pid": op["device"],
                "tid": f"Stream {op['stream']}", "ts": self._time(op["submit_ns"]),
                "dur": _Microseconds(max(op["end_ns"] - op["submit_ns"], 0)), "args": args}

    def _span(self) -> dict:
        return {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
                "ts": self._time(self._first), "dur": _Microseconds(self._last - self._first), "args": {"Op count": 0}}

    def _end_marker(self) -> dict:
        return {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": self._time(self._last)}


def _valid_json(text: str) -> str:
    """User metadata arrives as JSON text; anything else is kept as a string."""
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return json.dumps(text)
