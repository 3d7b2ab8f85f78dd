"""The wheel holds the extension, every package and the entry points; the editable install has them too."""
import importlib.metadata
import pathlib
import subprocess
import sys
import zipfile

import pytest

PYTHON = pathlib.Path(__file__).resolve().parents[2] / "python"


def groups(text):
    return {line for line in text.splitlines() if "=" in line}


ENTRY_POINTS = {"torch_neuronx = torch_neuronx:_autoload", "neuron = torch_neuronx.compile:neuron_backend"}


def test_wheel(tmp_path):
    if not list((PYTHON / "torch_neuronx").glob("_C*.so")):
        pytest.skip("the extension is not in the source tree (out-of-tree build)")
    # A copy: setuptools leaves build folders beside the sources.
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", PYTHON, source], check=True)
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
                    "--no-index", "-w", tmp_path, source], check=True, timeout=200)
    (wheel,) = tmp_path.glob("*.whl")
    assert "none-any" not in wheel.name
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    for part in ("torch_neuronx/__init__.py", "torch_neuronx/neuron.py", "torch_neuronx/compile/__init__.py",
                 "torch_neuronx/profiling/__init__.py"):
        assert part in names
    assert sum(n.startswith("torch_neuronx/_C.") and n.endswith(".so") for n in names) == 1
    modules = {p.relative_to(PYTHON).as_posix() for p in (PYTHON / "torch_neuronx").rglob("*.py")}
    assert modules <= set(names)
    (entries,) = [n for n in names if n.endswith("entry_points.txt")]
    assert ENTRY_POINTS <= groups(archive.read(entries).decode())


def test_entry_points_are_installed():
    found = {f"{e.name} = {e.value}" for e in importlib.metadata.entry_points(group="torch.backends")}
    found |= {f"{e.name} = {e.value}" for e in importlib.metadata.entry_points(group="torch_dynamo_backends")}
    assert ENTRY_POINTS <= found
