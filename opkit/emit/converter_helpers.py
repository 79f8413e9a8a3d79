"""Functions a generated converter module holds when one of its converters calls them."""

from __future__ import annotations

_STATIC_HELPER = '''
def _static(value, operator, name):
    """Give a size that is known now: an Ascend IR attribute is fixed when the graph is built."""
    if isinstance(value, ge.Tensor):
        raise RuntimeError(
            f"{operator}: {name} is symbolic, but as an attribute of the Ascend IR operator it must be known "
            "when the graph is built. Compile with dynamic=False, or make it an input of the IR prototype."
        )
    return value
'''

_AS_TENSOR_HELPER = '''
def _as_tensor(value, dtype):
    """Give GE a host value as an input: a constant, or the tensor that already stands for a symbolic size."""
    if isinstance(value, ge.Tensor):
        return value if value.dtype == dtype else ge.Cast(value, dst_type=dtype)
    return ge.Const(value, dtype=dtype)
'''

_MUST_BE_NONE_HELPER = '''
def _must_be_none(value, operator, name):
    """Refuse an argument that GE has no type for."""
    if value is not None:
        raise RuntimeError(f"{operator}: GE has no type for {name}; leave it None in a GE graph.")
'''

_DTYPE_HELPER = '''
_GE_DTYPES = {
    torch.float32: ge.DataType.DT_FLOAT,
    torch.float16: ge.DataType.DT_FLOAT16,
    torch.bfloat16: ge.DataType.DT_BF16,
    torch.float64: ge.DataType.DT_DOUBLE,
    torch.int8: ge.DataType.DT_INT8,
    torch.int16: ge.DataType.DT_INT16,
    torch.int32: ge.DataType.DT_INT32,
    torch.int64: ge.DataType.DT_INT64,
    torch.uint8: ge.DataType.DT_UINT8,
    torch.bool: ge.DataType.DT_BOOL,
    torch.complex64: ge.DataType.DT_COMPLEX64,
    torch.complex128: ge.DataType.DT_COMPLEX128,
}


def _ge_dtype(dtype):
    """Give GE's number for a torch dtype."""
    if dtype not in _GE_DTYPES:
        raise RuntimeError(f"{dtype} has no Ascend IR data type known to this converter.")
    return _GE_DTYPES[dtype]
'''

_RENAME_HELPER = '''
def _rename(**names):
    """Let torchair pass an argument by its schema name where Python allows no parameter of that name."""

    def decorate(converter):
        @functools.wraps(converter)
        def renamed(*args, **kwargs):
            return converter(*args, **{names.get(name, name): value for name, value in kwargs.items()})

        return renamed

    return decorate
'''

_LOAD_HELPER = '''
def _load(file, function):
    """Take a function out of a file that lies beside this module or in a directory above it."""
    for directory in pathlib.Path(__file__).resolve().parents:
        path = directory / file
        if path.is_file():
            spec = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return getattr(module, function)
    raise FileNotFoundError(f"{file} is neither beside {__file__} nor in a directory above it")
'''

_KEEP_HELPER = '''
def _keep_last_node():
    """Let GE keep the node that was just made, although no result depends on it."""
    from torchair.ge._ge_graph import ControlTensor, get_default_ge_graph

    graph = get_default_ge_graph()
    graph.dont_prune_me(ControlTensor(graph.op[-1]))
'''

# How a helper is called -> its text, and the import it needs.
HELPERS = {
    "_static(": (_STATIC_HELPER, ""),
    "_as_tensor(": (_AS_TENSOR_HELPER, ""),
    "_keep_last_node(": (_KEEP_HELPER, ""),
    "_must_be_none(": (_MUST_BE_NONE_HELPER, ""),
    "_ge_dtype(": (_DTYPE_HELPER, ""),
    "@_rename(": (_RENAME_HELPER, "import functools\n"),
    "_load(": (_LOAD_HELPER, "import importlib.util\nimport pathlib\n"),
}
