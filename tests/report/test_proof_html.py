"""The HTML report: one file, no network, everything escaped, both languages, graphs drawn."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from proofs import HARM, IR, breaking, entering, harmful, proof, unjudged

from opkit.model.diagnostic import Diagnostic, Severity
from opkit.prove.protocol import STAGES, ModeResult, failed
from opkit.report.html import render
from opkit.report.html.layout import Edge, lay_out
from opkit.report.html.picture import MOST_NODES, picture
from opkit.report.html.words import CHINESE

VOID = {"meta", "input", "img", "br", "link"}


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: elements with attributes, and the text of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, class_: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.elements if class_ in (attrs.get("class") or "").split()]

    def text(self, tag: str) -> str:
        return "\n".join(self.texts.get(tag, []))


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render(proof(entering(), entering(style="custom-op"), breaking(), unjudged())))


def test_it_stands_alone() -> None:
    text = render(proof(entering(), breaking()))
    page = Page(text)
    assert {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "base", "form"} == set()
    assert not [a for _, attrs in page.elements for a in attrs if a in ("src", "href", "action", "style")]
    assert not re.search(r"https?:|@import|url\((?!#arrow)", text)


def test_only_its_own_script_and_style_may_run() -> None:
    text = render(harmful())
    policy = next(a["content"] for tag, a in Page(text).elements if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (own,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_texts_from_outside_are_text() -> None:
    text = render(harmful())
    page = Page(text)
    assert Counter(tag for tag, _ in page.elements)["script"] == 2
    assert not [tag for tag, attrs in page.elements if tag == "img" or "onerror" in attrs]
    assert "49" not in page.text("code")
    shown = [part for tag in ("code", "dd", "div", "p", "li", "text") for part in page.texts.get(tag, [])]
    assert sum(HARM in part for part in shown) > 5


def test_what_breaks_comes_first_and_is_open(page: Page) -> None:
    names = [text for text in page.texts["div"] if text in ("f", "g", "h")]
    assert names == ["g", "h", "f"]
    runs = page.all("run")
    assert ["open" in run for run in runs] == [True, True, False, False]
    assert [run["data-ge"] for run in runs] == ["breaks", "not run", "enters", "enters"]
    assert [run["data-style"] for run in runs] == ["library", "library", "library", "custom-op"]


def test_it_counts() -> None:
    text = render(proof(entering(), breaking(), unjudged()))
    assert re.search(r'<h1><span class="bad">2</span>.* 5 ', text)
    for verdict, number in (("enters", 2), ("not run", 1), ("breaks", 2)):
        assert re.search(rf"<b>{number}</b> <span data-t=\"{verdict}\">", text)


def test_every_exhibit_is_there(page: Page) -> None:
    code = page.text("code")
    for text in ("- func: f(Tensor x, Tensor y) -> Tensor", "def f(x, y): ...", "def convert(x, y): ..."):
        assert text in code
    for text in ("class Before:", "class After:", "npu::f", "aclnnAdd", "F: MyOp(x=arg0_1:0) -> out"):
        assert text in code
    assert "converters.py:12" in page.text("span")
    # The text of a source that was generated in memory has no place worth telling.
    assert not [part for parts in page.texts.values() for part in parts if "<meta of" in part]
    assert page.text("pre").count("opkit prove ops.yaml --op f --style library --mode ge") == 1
    assert "a note" in page.text("li")


def test_a_source_that_two_styles_share_is_shown_once(page: Page) -> None:
    assert page.text("code").count("def convert(x, y): ...") == 1
    assert "library, custom-op" in page.text("b")


def test_filters_offer_what_there_is(page: Page) -> None:
    values = [attrs["value"] for tag, attrs in page.elements if tag == "button" and "value" in attrs]
    assert values == ["en", "zh", "", "breaks", "not run", "enters", "", "npugraph_ex", "ge", "", "library",
                      "custom-op"]  # fmt: skip
    alone = Page(render(proof(entering())))
    picks = [attrs["data-kind"] for attrs in alone.all("pick")]
    assert picks == ["mode"]


def test_every_word_of_the_page_is_there_in_chinese(page: Page) -> None:
    keys = ("data-t", "data-placeholder", "data-label")
    said = {attrs[key] for _, attrs in page.elements for key in keys if key in attrs}
    assert {word for word in said if word not in CHINESE} == {"SoC", "torch", "torch_npu", "opkit"}


def test_every_stage_has_a_chinese_name() -> None:
    assert {stage for stages in STAGES.values() for stage in stages} <= set(CHINESE)


def test_the_script_of_a_failure_is_there_to_be_copied() -> None:
    stage = failed("host", "differs", script="import torch\n")
    operator = replace(breaking(), modes=(ModeResult("ge", (stage,)),))
    page = Page(render(proof(operator)))
    assert "import torch\n" in page.texts["pre"]
    assert "Smallest script" in page.text("span")
    assert "script" not in page.texts.get("dt", [])


def test_names_of_arguments_are_not_translated() -> None:
    operator = replace(entering(), inputs={"values": "f32[8]"})
    text = render(proof(operator))
    assert "<dt><code>values</code></dt>" in text
    assert 'data-t="values"' not in text


def test_it_opens_in_a_language_that_was_asked_for() -> None:
    assert '<html lang="en" data-language="zh">' in render(proof(entering()), "zh")


def test_a_gate_shows_its_findings() -> None:
    found = Diagnostic("OPK902", Severity.ERROR, "f promises ge <b>", None, "mend it", "f")
    text = render(replace(proof(entering()), gate=(found,)))
    assert "f promises ge &lt;b&gt;" in text
    assert "ops.yaml:3" in text.partition('class="say"')[2].partition("</div>")[0]


def test_nothing_at_all() -> None:
    assert "no operator was proved" in Page(render(proof())).text("p")


# ---- graphs


def overlap(one: Any, two: Any) -> bool:
    return (
        one.x < two.x + two.width
        and two.x < one.x + one.width
        and one.y < two.y + two.height
        and two.y < one.y + one.height
    )


def test_a_graph_is_drawn(page: Page) -> None:
    text = page.text("text")
    for label in ("MyOp", "n = 3", "arg0_1", "float[4, 8]", "x", "y", "out"):
        assert label in text.splitlines()
    drawn = picture(IR)
    assert drawn is not None
    assert [box.kind for box in drawn.boxes] == ["data", "data", "operator", "plumbing"]
    assert not [1 for i, a in enumerate(drawn.boxes) for b in drawn.boxes[i + 1 :] if overlap(a, b)]
    assert [line.control for line in drawn.lines] == [False, False, False, True]
    for box in drawn.boxes:
        assert 0 <= box.x <= box.x + box.width <= drawn.width
        assert 0 <= box.y <= box.y + box.height <= drawn.height


def test_inputs_come_in_their_order() -> None:
    drawn = picture(IR)
    assert drawn is not None
    ends = {line.label: line.x for line in drawn.lines if line.label in ("x", "y")}
    assert ends["x"] < ends["y"]
    assert drawn.boxes[0].x < drawn.boxes[1].x


def test_what_is_no_picture() -> None:
    assert picture([]) is None
    assert picture([{**IR[0], "name": f"n{i}"} for i in range(MOST_NODES + 1)]) is None
    circle = [{**IR[2], "name": a, "inputs": [{"name": "x", "from": [b, 0]}]} for a, b in ("pq", "qp")]
    assert picture(circle) is None


def test_a_layout_keeps_layers_and_routes_around_nodes() -> None:
    names = [f"n{i}" for i in range(6)]
    edges = [Edge(a, b) for a, b in zip(names, names[1:])] + [Edge("n0", "n5")]
    placed = lay_out(dict.fromkeys(names, (80.0, 30.0)), edges)
    tops = [placed.nodes[name][1] for name in names]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(tops)
    around = placed.edges[-1][1:-1]
    for x, y in around:
        assert not [
            n
            for n in names
            if placed.nodes[n][0] < x < placed.nodes[n][0] + 80 and abs(placed.nodes[n][1] - y) < 30
        ]


def test_a_layout_unties_crossings() -> None:
    sizes = dict.fromkeys("abcd", (60.0, 30.0))
    placed = lay_out(sizes, [Edge("a", "d"), Edge("b", "c")])
    assert (placed.nodes["a"][0] < placed.nodes["b"][0]) == (placed.nodes["d"][0] < placed.nodes["c"][0])


def test_a_cycle_has_no_layers() -> None:
    with pytest.raises(ValueError, match="cycle"):
        lay_out(dict.fromkeys("ab", (10.0, 10.0)), [Edge("a", "b"), Edge("b", "a")])
