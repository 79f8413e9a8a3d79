"""The NPU kernel that a proof runs: the operator's own, the reference function, or a bare launch."""

from __future__ import annotations

from opkit.prove.observe import needs_kernels
from opkit.prove.subject import Subject
from opkit.prove.watch import has_kernel


def describe_kernel(subject: Subject) -> str:
    """Say what runs when the operator is called on the NPU."""
    if is_bound(subject):
        return "reference function" if subject.declared.reference is not None else "launch only, no reference"
    if subject.setting.watch.is_python_kernel(subject.name):
        return "the operator's own Python kernel"
    if has_kernel(subject.name, "CompositeImplicitAutograd"):
        return "CompositeImplicitAutograd"
    return "the operator's own compiled kernel"


def is_bound(subject: Subject) -> bool:
    """Tell whether opkit gave the operator its kernel on the stand-in."""
    if not needs_kernels():
        return False
    from opkit.cann.reference import is_bound

    return is_bound(subject.name)


def calls(subject: Subject) -> int | None:
    """Count the calls of the kernel's host side so far; None for compiled code, which nothing counts."""
    if is_bound(subject):
        from opkit.cann.reference import kernel_calls

        return kernel_calls(subject.name)
    watch = subject.setting.watch
    return watch.kernel_calls[subject.name] if watch.is_python_kernel(subject.name) else None


def is_of_aten_operators(subject: Subject) -> bool:
    """Tell whether the kernel is Python, or a composite, of aten operators that the stand-in computes.

    How those lay out their results for a transposed input differs from one device and version to the next, so
    it is evidence about such a kernel, and no more.
    """
    made_of_them = subject.setting.watch.is_python_kernel(subject.name) or has_kernel(
        subject.name, "CompositeImplicitAutograd"
    )
    return needs_kernels() and made_of_them
