"""opkit's `enters:` and `known_failures:` keys: what an operator promises about graphs."""

from __future__ import annotations

import datetime
import re

import yaml

from opkit.model.contract import GRAPHS, WORDS, Contract, KnownFailure, Promise
from opkit.read.document import Document, describe
from opkit.shape.errors import nearest

CODE = "OPK044"

_Item = tuple[yaml.Node, yaml.Node]
_VERSION = re.compile(r"(opkit|torch_npu) (\d+(?:\.\d+)*)")
_FAILURE_KEYS = ("promise", "reason", "until")


def read_contract(document: Document, enters: _Item | None, failures: _Item | None) -> Contract | None:
    """Read both keys, each given as (key, value); None when the operator promises nothing, not even that."""
    if enters is None:
        if failures is not None:
            help = "say what is promised: enters: [npugraph_ex, ge]"
            document.report(
                CODE, "`known_failures` stands without `enters`", document.mark(failures[0]), help
            )
        return None
    promises = _promises(document, enters[1])
    words = [promise.word for promise in promises]
    known: tuple[KnownFailure, ...] = ()
    if failures is not None:
        known = _known_failures(document, failures[1], words)
    return Contract(promises, known, document.mark(enters[0]))


def _promises(document: Document, node: yaml.Node) -> tuple[Promise, ...]:
    if not isinstance(node, yaml.SequenceNode):
        help = "write enters: [npugraph_ex, ge]; an empty list promises to enter no graph"
        document.report(CODE, f"`enters` is a list, found {describe(node)}", document.mark(node), help)
        return ()
    promises: list[Promise] = []
    for item in node.value:
        mark = document.mark(item)
        word = item.value if isinstance(item, yaml.ScalarNode) else ""
        if word not in WORDS:
            help = nearest(word, WORDS) or f"the promises are {', '.join(WORDS)}"
            document.report(CODE, f"`enters` knows no promise {describe(item)}", mark, help)
        elif (first := next((p for p in promises if p.word == word), None)) is not None:
            document.report(
                CODE,
                f"`{word}` is promised twice",
                mark,
                "remove one",
                related=(("the first one", first.mark),),
            )
        else:
            promises.append(Promise(word, mark))
    if promises and not any(promise.word in GRAPHS for promise in promises):
        text = f"`{promises[0].word}` is promised of a graph, and no graph is promised"
        document.report(CODE, text, promises[0].mark, "add npugraph_ex or ge")
    return tuple(promises)


def _known_failures(document: Document, node: yaml.Node, words: list[str]) -> tuple[KnownFailure, ...]:
    if not isinstance(node, yaml.SequenceNode):
        help = "write - {promise: ge, reason: ..., until: 2027-03-01}"
        document.report(
            CODE, f"`known_failures` is a list, found {describe(node)}", document.mark(node), help
        )
        return ()
    found: dict[str, KnownFailure] = {}
    for item in node.value:
        failure = _known_failure(document, item, words)
        if failure is None:
            continue
        if failure.word in found:
            related = (("the first one", found[failure.word].mark),)
            text = f"`{failure.word}` is a known failure twice"
            document.report(CODE, text, failure.mark, "put both reasons into one", related=related)
        else:
            found[failure.word] = failure
    return tuple(found.values())


def _known_failure(document: Document, node: yaml.Node, words: list[str]) -> KnownFailure | None:
    items = document.items(node, "a known failure")
    if items is None:
        return None
    for name, (key, _) in items.items():
        if name not in _FAILURE_KEYS:
            help = nearest(name, _FAILURE_KEYS)
            document.report(CODE, f"a known failure has no key `{name}`", document.mark(key), help)
    values = {}
    for name in _FAILURE_KEYS:
        if name not in items:
            document.report(
                CODE, f"the known failure has no `{name}`", document.mark(node), f"add {name}: ..."
            )
        else:
            values[name] = document.string(items[name][1], f"`{name}`")
    word, reason, until = (values.get(name) for name in _FAILURE_KEYS)
    if word is not None and word not in words:
        help = f"add {word} to `enters`" if word in WORDS else nearest(word, words)
        text = f"`enters` does not promise `{word}`, so that it fails needs no word"
        document.report(CODE, text, document.mark(items["promise"][1]), help)
        word = None
    if until is not None and not _is_end(until):
        help = "write a day (2027-03-01) or a version (opkit 0.3, torch_npu 2.14)"
        document.report(CODE, f"`until` is no end: `{until}`", document.mark(items["until"][1]), help)
        until = None
    if word is None or reason is None or until is None:
        return None
    return KnownFailure(word, reason, until, document.mark(node))


def _is_end(text: str) -> bool:
    if _VERSION.fullmatch(text):
        return True
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
