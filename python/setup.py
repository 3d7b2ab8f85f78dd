"""Packages torch_neuronx with the extension that CMake built (`make build`).

The extension is not compiled here: it links the C core, which CMake builds, and pip's build isolation
would download torch a second time. So the wheel is platform-specific though setuptools sees no extension.
Build it with `make wheel` or `pip wheel --no-build-isolation --no-deps python/`.
"""
import glob
import os
import sys

from setuptools import setup
from setuptools.dist import Distribution


class BinaryDistribution(Distribution):
    """A distribution that contains machine code: tagged for this Python and platform."""

    def has_ext_modules(self):
        return True


here = os.path.dirname(os.path.abspath(__file__))
if "bdist_wheel" in sys.argv and not glob.glob(os.path.join(here, "torch_neuronx", "_C*.so")):
    sys.exit("torch_neuronx/_C is not built: run `make build` in the project's root first")

setup(distclass=BinaryDistribution)
