"""Text that knows where in its file each of its characters stands."""

from __future__ import annotations

from bisect import bisect_right
from typing import Callable

from opkit.model.diagnostic import Mark

# Line and column of a character, both from 1.
Place = tuple[int, int]


class SourceText:
    """A piece of text with the place of each character.

    A YAML scalar may be folded, quoted or a literal block, so the text a schema is parsed from is not the
    text in the file. `places` computes the place of every character; it is called only when a position is
    first asked for. Without it the characters follow each other in the file.
    """

    __slots__ = ("_line_starts", "_makes_places", "_places", "_start", "file", "text")

    def __init__(
        self, text: str, file: str, start: Place, places: Callable[[], list[Place]] | None = None
    ) -> None:
        self.text = text
        self.file = file
        self._start = start
        self._makes_places = places
        self._places: list[Place] | None = None
        self._line_starts: list[int] | None = None

    @classmethod
    def at(cls, text: str, mark: Mark) -> SourceText:
        """Text that stands in the file as it is, beginning at `mark`."""
        return cls(text, mark.file, (mark.line, mark.column))

    def place(self, offset: int) -> Place:
        """Find the place of a character; an offset past the end gives the place after the last character."""
        if self._makes_places is not None:
            if self._places is None:
                self._places = self._makes_places()
            if offset < len(self._places):
                return self._places[offset]
            line, column = self._places[-1] if self._places else self._start
            return line, column + (1 if self._places else 0)
        line, column = self._start
        if "\n" not in self.text:
            return line, column + offset
        if self._line_starts is None:
            self._line_starts = [0, *(i + 1 for i, c in enumerate(self.text) if c == "\n")]
        index = bisect_right(self._line_starts, offset) - 1
        if index == 0:
            return line, column + offset
        return line + index, 1 + offset - self._line_starts[index]

    def mark(self, start: int = 0, end: int | None = None) -> Mark:
        """Mark the characters from `start` to before `end`, as far as they stand on the first one's line."""
        last = (len(self.text) if end is None else end) - 1
        if self._makes_places is None and "\n" not in self.text:
            return Mark(self.file, self._start[0], self._start[1] + start, max(last - start + 1, 1))
        line, column = self.place(start)
        while last > start and self.place(last)[0] != line:
            last -= 1
        length = self.place(last)[1] - column + 1 if last > start else 1
        return Mark(self.file, line, column, max(length, 1))
