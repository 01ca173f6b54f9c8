"""Which of the cases found are run: the ``-k`` expression, tags, and ids named on the command line.

``-k`` has pytest's grammar: names, ``and``, ``or``, ``not`` and parentheses. A name holds for a case when it is
part, in any case of letters, of the case's label, its set's name or one of its tags. A name with blanks stands in
quotes. Several tags select the cases that have any of them. Nothing here is ever evaluated as Python.

    expression: and_test ("or" and_test)*
    and_test:   not_test ("and" not_test)*
    not_test:   "not" not_test | "(" expression ")" | name
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from evalengine.errors import ConfigurationError, NoCasesError

_TOKEN = re.compile(
    r"""\s*(?:(?P<open>\()|(?P<close>\))|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+))"""
)
_WORDS = {"and", "or", "not"}
_DEEPEST = 50
_END = "the end"

_Test = Callable[[Sequence[str]], bool]


class _Token(NamedTuple):
    kind: str
    """``(``, ``)``, ``and``, ``or``, ``not``, ``name`` or ``the end``."""
    text: str
    column: int


class Selection:
    """Keeps the cases that ``-k`` and ``--tag`` select."""

    def __init__(self, keyword: str | None = None, tags: Sequence[str] = ()) -> None:
        """Compile a selection; raise ConfigurationError with the column where ``keyword`` is no expression."""
        self._keyword = keyword if keyword and keyword.strip() else None
        self._test = _Parser(self._keyword).parse() if self._keyword else None
        self._tags = frozenset(tags)

    def keeps(self, label: str, set_name: str, tags: Sequence[str]) -> bool:
        """Tell whether a case is selected."""
        if self._tags and self._tags.isdisjoint(tags):
            return False
        if self._test is None:
            return True
        return self._test([name.lower() for name in (label, set_name, *tags)])

    def nothing_kept(self, cases: int, known_tags: Iterable[str] = ()) -> NoCasesError:
        """Return the error for a selection that keeps none of the cases found."""
        said = [f"--tag {tag}" for tag in sorted(self._tags)]
        if self._keyword is not None:
            said.insert(0, f"-k {self._keyword!r}")
        known = sorted(set(known_tags))
        hint = _nearest_of(self._tags, known) if self._tags else ""
        return NoCasesError(f"No eval cases selected: {' with '.join(said)} keeps none of {cases}{hint}")


class Chosen(Selection):
    """Keeps, of what a selection keeps, the cases with these labels."""

    def __init__(self, labels: Iterable[str], keyword: str | None = None, tags: Sequence[str] = ()) -> None:
        """Compile the selection, and narrow it down to the labels."""
        super().__init__(keyword, tags)
        self._labels: frozenset[str] | None = frozenset(labels)

    def keeps(self, label: str, set_name: str, tags: Sequence[str]) -> bool:
        """Tell whether a case is selected."""
        return (self._labels is None or label in self._labels) and super().keeps(label, set_name, tags)

    def widen(self) -> str:
        """Keep all that the selection keeps, and return why."""
        count = len(self._labels or ())
        self._labels = None
        those = "the case that did not pass is" if count == 1 else f"the {count} cases that did not pass are"
        return f"--last-failed: {those} not among the cases found: no choice is made"


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def parse(self) -> _Test:
        test = self._expression()
        if self._peek().kind != _END:
            raise self._unexpected("'and', 'or' or the end")
        return test

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, kind: str) -> bool:
        found = self._peek().kind == kind
        self._at += found
        return found

    def _expression(self) -> _Test:
        tests = [self._and_test()]
        while self._take("or"):
            tests.append(self._and_test())
        return tests[0] if len(tests) == 1 else lambda names: any(test(names) for test in tests)

    def _and_test(self) -> _Test:
        tests = [self._not_test()]
        while self._take("and"):
            tests.append(self._not_test())
        return tests[0] if len(tests) == 1 else lambda names: all(test(names) for test in tests)

    def _not_test(self) -> _Test:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("it is nested too deep", self._peek().column)
        try:
            return self._innermost()
        finally:
            self._depth -= 1

    def _innermost(self) -> _Test:
        if self._take("not"):
            inner = self._not_test()
            return lambda names: not inner(names)
        if self._take("("):
            inner = self._expression()
            if not self._take(")"):
                raise self._unexpected("')'")
            return inner
        name = self._peek().text.lower()
        if not self._take("name"):
            raise self._unexpected("a name, 'not' or '('")
        return lambda names: any(name in candidate for candidate in names)

    def _unexpected(self, expected: str) -> ConfigurationError:
        token = self._peek()
        found = token.kind if token.kind == _END else repr(token.text)
        return self._error(f"expected {expected}, found {found}", token.column)

    def _error(self, what: str, column: int) -> ConfigurationError:
        return ConfigurationError(f"-k {self._text!r} (command line): {what} at column {column}")


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise ConfigurationError(f"-k {text!r} (command line): a quote that is not closed at column {column}")
        tokens.append(_token(found))
        at = found.end()
    return [*tokens, _Token(_END, "", end + 1)]


def _token(found: re.Match[str]) -> _Token:
    group = found.lastgroup or ""
    text = found[group]
    column = found.start(group) + 1
    if group == "word":
        return _Token(text if text in _WORDS else "name", text, column)
    if group in {"open", "close"}:
        return _Token(text, text, column)
    return _Token("name", text, column - 1)


class _Named(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def selected_ids(self) -> Sequence[str] | None: ...


def check_ids(files: Iterable[_Named], found: Mapping[str, Sequence[str]]) -> None:
    """Check that each case named as ``path::id`` exists.

    ``found`` maps the labels of the files that could be loaded to the ids of their cases. Raises NoCasesError that
    names the nearest ids of the file.
    """
    for file in files:
        if file.selected_ids is None or file.label not in found:
            continue
        known = found[file.label]
        for wanted in file.selected_ids:
            if wanted not in known:
                raise NoCasesError(f"No case {wanted!r} in {file.label}{_nearest_of([wanted], known)}")


def _nearest_of(wanted: Iterable[str], known: Sequence[str]) -> str:
    close = [near for name in wanted for near in difflib.get_close_matches(name, known, n=3, cutoff=0.5)]
    if close:
        return f"; did you mean {' or '.join(map(repr, dict.fromkeys(close)))}?"
    if not known:
        return ""
    more = f" and {len(known) - 10} more" if len(known) > 10 else ""  # noqa: PLR2004 - one line
    return f"; known: {', '.join(known[:10])}{more}"
