"""Hooks that act when dynamo is imported, and cost nothing before.

`torch._dynamo` takes one to two seconds to import, so `import torch` must not pull it in
(pytorch-adapter.md section 5). A finder on sys.meta_path wraps the loader of the two modules that matter
and runs our registration right after each has executed.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys


def _default_backend(gm, example_inputs, **kwargs):
    # Imported at the first compilation: this module runs while torch._dynamo itself is half imported.
    from .backend import default_backend

    return default_backend(gm, example_inputs, **kwargs)


def _after_registry(registry) -> None:
    registry.set_default_backend(_default_backend)


def _after_device_interface(module) -> None:
    from .device_interface import register

    register(module)


_HOOKS = {
    "torch._dynamo.backends.registry": _after_registry,
    "torch._dynamo.device_interface": _after_device_interface,
}


class _Loader(importlib.abc.Loader):
    def __init__(self, wrapped, hook):
        self._wrapped, self._hook = wrapped, hook

    def create_module(self, spec):
        return self._wrapped.create_module(spec)

    def exec_module(self, module):
        self._wrapped.exec_module(module)
        self._hook(module)

    def __getattr__(self, name):  # get_source, get_code and friends stay the real loader's
        return getattr(self._wrapped, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        hook = _HOOKS.get(fullname)
        if hook is None:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(spec.loader, hook)
                return spec
        return None


def install() -> None:
    """Called once by autoload. Modules that are already imported are hooked at once."""
    sys.meta_path.insert(0, _Finder())
    for name, hook in _HOOKS.items():
        if name in sys.modules:
            hook(sys.modules[name])
