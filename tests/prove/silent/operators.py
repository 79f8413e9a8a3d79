"""Settings that make npugraph_ex run eagerly or capture again without an error, each for one operator."""

import inspect

import torch

OPTIONS = {
    "silent::force_eager": {"force_eager": True},
    "silent::force_recapture": {"force_recapture": True},
    "silent::capture_limit": {"capture_limit": 1},
}
LIBRARY = torch.library.Library("silent", "DEF")
for name in ("force_eager", "force_recapture", "capture_limit", "healthy"):
    LIBRARY.define(name + "(Tensor x) -> Tensor")
    LIBRARY.impl(name, torch.empty_like, "Meta")


def writes_while_captured(x):
    # The host writes the memory itself, which no graph repeats.
    from opkit.cann.views import cpu_view

    cpu_view(x).add_(1)
    return torch.relu(x)


LIBRARY.define("writes_while_captured(Tensor(a!) x) -> Tensor")
LIBRARY.impl("writes_while_captured", torch.empty_like, "Meta")
LIBRARY.impl("writes_while_captured", writes_while_captured, "PrivateUse1")

compile_as_it_is = torch.compile


def compile_with_options(model, **settings):
    # Only the models of one operator hold it; those of the composition are compiled as they are.
    operator = inspect.getclosurevars(model).nonlocals.get("operator")
    options = operator and OPTIONS.get(operator._schema.name)
    if settings["backend"] == "npugraph_ex" and options:
        settings["options"] = options
    return compile_as_it_is(model, **settings)


torch.compile = compile_with_options
