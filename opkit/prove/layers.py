"""A module that owns tensors: parameters where torch allows them, buffers for the rest."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any


def module_of(
    call: Callable[[dict[str, Any]], Any], owned: Mapping[str, Any], written: Container[str]
) -> Any:
    """Make a module with a method `attend` that calls an operator with the tensors it owns.

    What the operator writes is a buffer, and so is what cannot have a gradient.
    """
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            for name, tensor in owned.items():
                if name in written or not (tensor.is_floating_point() or tensor.is_complex()):
                    self.register_buffer(attribute_of(name), tensor.clone())
                else:
                    self.register_parameter(attribute_of(name), torch.nn.Parameter(tensor.clone()))

        def attend(self, values: dict[str, Any]) -> Any:
            mine = {name: getattr(self, attribute_of(name)) for name in owned}
            return call({**values, **mine})

    return Module()


def attribute_of(name: str) -> str:
    """Give the module's attribute for an argument."""
    # Arguments may be called `self` or `training`, which a module has of its own.
    return f"{name}_"
