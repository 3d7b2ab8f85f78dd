"""Counters of the compile caches, and of dynamo where it has been used."""

from __future__ import annotations

import sys

from torch_neuronx import _C


def compilation_cache_stats() -> dict:
    """memory_hits, memory_misses, disk_hits, disk_misses, compilations, compile_ns, unsupported."""
    return _C._cache_stats()


def get_dynamo_metrics() -> dict:
    """Copies of dynamo's counters; empty while dynamo has not been imported."""
    utils = sys.modules.get("torch._dynamo.utils")
    return {} if utils is None else {group: dict(counts) for group, counts in utils.counters.items()}


def reset_dynamo_metrics() -> None:
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is not None:
        utils.counters.clear()
