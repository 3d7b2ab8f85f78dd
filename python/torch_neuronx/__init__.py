"""The virtual NeuronCore as PyTorch device `neuron`.

`import torch` loads this package through the entry point group torch.backends; importing it first works
too. The order below matters: `_autoload` exists before torch is imported, because torch calls it while
this module is still half-initialised (pytorch-adapter.md section 4). Nothing here imports dynamo or the
profiling package: names that need them are looked up on first use.
"""

__version__ = "0.1.0"

_loaded = False


def _autoload():
    """Called by `import torch`, once; makes device `neuron` and torch.neuron exist."""
    global _loaded
    if _loaded:
        return
    _loaded = True

    import atexit

    import torch

    from torch_neuronx import _C, _patches, neuron
    from torch_neuronx.compile import lazy

    torch.utils.rename_privateuse1_backend("neuron")
    torch._register_device_module("neuron", neuron)
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
    _patches.install()
    lazy.install()
    atexit.register(_shutdown)


def _shutdown():
    """At exit: ends a profiler that was left open, so its window is completed while everything it needs
    still exists (later, PyTorch itself would crash), then drains the devices and joins their threads."""
    from torch_neuronx import _C

    if torch._C._autograd._profiler_enabled():
        torch.autograd._disable_profiler()
    _C._shutdown()


import torch  # noqa: E402

_autoload()

from torch_neuronx import metrics  # noqa: E402
from torch_neuronx.memory import (  # noqa: E402
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from torch_neuronx.neuron import is_initialized as is_neuron_runtime_initialized  # noqa: E402
from torch_neuronx.neuron import synchronize  # noqa: E402
from torch_neuronx.nki import nki_op, wrap_nki  # noqa: E402
from torch_neuronx.streams import (  # noqa: E402
    Event,
    Stream,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from torch_neuronx.tracking import (  # noqa: E402
    clear_op_tracking,
    get_executed_ops,
    get_fallback_counts,
    get_fallback_ops,
)

__all__ = [
    "Event",
    "NeuronConfig",
    "NeuronProfiler",
    "ProfileMode",
    "Stream",
    "clear_op_tracking",
    "current_stream",
    "default_stream",
    "empty_cache",
    "get_executed_ops",
    "get_fallback_counts",
    "get_fallback_ops",
    "is_neuron_runtime_initialized",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "metrics",
    "nki_op",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_stream",
    "stream",
    "synchronize",
    "wrap_nki",
]

_PROFILING = ("NeuronConfig", "NeuronProfiler", "ProfileMode")


def __getattr__(name):
    if name in _PROFILING:
        from torch_neuronx import profiling

        return getattr(profiling, name)
    raise AttributeError(f"module 'torch_neuronx' has no attribute {name!r}")
