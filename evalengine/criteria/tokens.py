"""Words of a text in any script: what ROUGE counts and the lexical judge compares.

Rules: width and compatibility forms are unified (NFKC), case is folded, punctuation and symbols separate words.
Scripts that are written without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese, Tibetan) give one token a
character, with its marks. Nothing is stemmed.
"""

import re
import unicodedata

_SEPARATOR, _LETTER, _ALONE, _MARK, _IGNORED = range(5)

_UNSPACED = (
    (0x0E00, 0x0FFF),  # Thai, Lao, Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),
    (0x3031, 0x312F),  # Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_VARIATION_SELECTORS = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_ZERO_WIDTH_SPACE = "\u200b"
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_INSIDE_NUMBER = re.compile(r"(?<=\d)[.,](?=\d)")
_NUMBER_POINT = "\ue000"
"""A private-use character that keeps the parts of a number together while words are cut."""


class _Kinds(dict[str, int]):
    """What each character is to a word; looked up once, then remembered."""

    def __missing__(self, char: str) -> int:
        kind = self[char] = _kind(char)
        return kind


def _kind(char: str) -> int:
    category = unicodedata.category(char)
    code = ord(char)
    if char == _NUMBER_POINT:
        return _LETTER
    if category == "Me" or _is_in(code, _VARIATION_SELECTORS):
        return _IGNORED
    if category in ("Mn", "Mc"):
        return _MARK
    if category == "Cf" and char != _ZERO_WIDTH_SPACE:
        return _IGNORED
    if category[0] not in "LN":
        return _SEPARATOR
    return _ALONE if _is_in(code, _UNSPACED) else _LETTER


def _is_in(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


_kinds = _Kinds()


def fold(text: str) -> str:
    """Return the text with case and width unified and white space collapsed; punctuation stays."""
    return " ".join(_unify(text).split())


def _unify(text: str) -> str:
    return (
        text.lower()
        if text.isascii()
        else unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    )


def tokens(text: str) -> list[str]:
    """Return the words of a text; a number with a point or comma in it gives its parts."""
    return _cut(_unify(text))


def words(text: str) -> list[str]:
    """Return the words of a text; a number stays whole, so that ``12`` is no word of ``12.5``."""
    whole = _INSIDE_NUMBER.sub(_NUMBER_POINT, _unify(text))
    return [word.replace(_NUMBER_POINT, ".") for word in _cut(whole)]


def _cut(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    found: list[str] = []
    word = ""
    alone = False
    for char in text:
        kind = _kinds[char]
        if kind == _IGNORED or (kind == _MARK and not word):
            continue
        if kind == _MARK or (kind == _LETTER and not alone):
            word += char
            continue
        if word:
            found.append(word)
        alone = kind == _ALONE
        word = "" if kind == _SEPARATOR else char
    if word:
        found.append(word)
    return found
