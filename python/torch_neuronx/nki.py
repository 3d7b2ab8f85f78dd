"""NKI kernels inside PyTorch come with a later release; the names exist so that programs say so clearly."""


def _later(name: str):
    raise NotImplementedError(
        f"torch_neuronx.{name}: NKI kernels are not part of this release. Write the function with "
        "PyTorch operators and use torch.compile, which fuses it into one device program"
    )


def nki_op(*args, **kwargs):
    """Registers an NKI kernel as a PyTorch operator in a later release; raises NotImplementedError."""
    _later("nki_op")


def wrap_nki(*args, **kwargs):
    """Makes an NKI kernel callable from PyTorch in a later release; raises NotImplementedError."""
    _later("wrap_nki")
