"""The examples in the pages of the codes about source files are true."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from comparing import HEAD, against

from opkit.rules.pages import PAGES, page

SOURCES = [code for code in PAGES if "OPK220" <= code < "OPK300"]
# Code -> the schema its example is about, where the example does not say, and what surrounds the example.
SCHEMAS = {
    "OPK220": "f(Tensor x) -> Tensor",
    "OPK226": "my_op(Tensor x) -> ()",
    "OPK233": "my_op(Tensor x1) -> ()",
}
AROUND = {
    "OPK220": 'lib = Library("npu", "FRAGMENT")\ndef f_meta(x): return x.clone()\n{}',
    "OPK229": '@impl(m, "my_op")\ndef my_op_meta(x):\n    {}\n    return x.new_empty(n)\n',
    "OPK232": "DTYPES = {{}}\n{}",
    "OPK233": '@impl(m, "my_op")\n{}\n',
    "OPK242": "TORCH_LIBRARY_FRAGMENT(npu, m) {{ {} }}\n",
    "OPK243": "namespace meta {{ at::Tensor my_op(const at::Tensor& x) {{ {} }} }}\n",
    "OPK240": "std::tuple<at::Tensor, at::Tensor> my_cache(at::Tensor& kv, at::Tensor& k_cache) {{ {} }}\n",
    "OPK245": "at::Tensor my_op(const at::Tensor& x, const at::Tensor& n) {{ {} }}\n"
    'TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {{ m.impl("my_op", &my_op); }}',
    "OPK241": "at::Tensor NAME(const at::Tensor& self, const at::Tensor& x) {{ {} }}\n",
}
CPP = {"OPK226", "OPK240", "OPK241", "OPK242", "OPK243", "OPK245"}


def block(code: str, section: str) -> str:
    """The indented lines of a section."""
    part = page(code).split(f"\n{section}\n", 1)[1].split("\n", 1)[1]
    lines = re.split(r"^\S.*\n-+$", part, flags=re.MULTILINE)[0].splitlines()
    return textwrap.dedent("\n".join(line for line in lines if line.startswith("    ") or not line)).strip()


def codes_of(directory: Path, code: str, section: str) -> set[str]:
    text = block(code, section)
    said = re.search(r"(?:#|//) (\w+\(.*)", text) or re.search(r"(?:#|//) (\w+\(.*)", block(code, "Example"))
    schema = said[1] if said else SCHEMAS.get(code, "my_op(Tensor x) -> Tensor")
    if code == "OPK226" and section != "Example":  # the example's other line stays
        text = block(code, "Example").split("\n")[0] + "\n" + text
    if "..." in text:
        text = text.replace(": ...", ": raise ValueError")
    text = re.sub(r"^//.*\n", "", text)
    text = textwrap.indent(text, "    ").strip() if code == "OPK229" else text
    around = AROUND.get(code, "{}").replace("NAME", schema.partition("(")[0])
    text = around.format(text)
    if "my_ns::my_op" in text:
        schema = f"my_ns::{schema}"
    name = "code.cpp" if code in CPP else "code.py"
    return {d.code for d in against(directory, schema, text if code in CPP else HEAD + text, name)}


@pytest.mark.parametrize("code", [code for code in SOURCES if code != "OPK227"])
def test_example_of_the_page(tmp_path: Path, code: str) -> None:
    assert code in codes_of(tmp_path, code, "Example")
    assert codes_of(tmp_path, code, "Use instead") == set()


def test_example_about_the_yaml(tmp_path: Path) -> None:
    from opkit.against import compare
    from opkit.read import read_text

    (tmp_path / "metas.py").write_text(HEAD + '@impl(m, "other")\ndef other(x): raise ValueError\n')
    for section, shown in (("Example", True), ("Use instead", False)):
        text = "custom:\n  - func: other(Tensor x) -> Tensor\n" + textwrap.indent(
            block("OPK227", section), "  "
        )
        op_file, _ = read_text(text + "\n", "ops.yaml")
        assert op_file is not None
        found = {d.code for d in compare([op_file], [str(tmp_path / "metas.py")])}
        assert found == ({"OPK227"} if shown else set())
