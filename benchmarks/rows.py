"""A measured number beside what is asked of it, and the table of all."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import ge, le


@dataclass
class Row:
    """One line of the table."""

    name: str
    value: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the number is as asked; None where nothing is asked."""
        asked: list[tuple[Callable[[float, float], bool], float | None]] = [(ge, self.at_least), (le, self.at_most)]
        answers = [compare(self.value, bound) for compare, bound in asked if bound is not None]
        return all(answers) if answers else None

    @property
    def asked(self) -> str:
        """What is asked, in words."""
        bounds = [("≥", self.at_least), ("≤", self.at_most)]
        return ", ".join(f"{sign} {number(bound)}" for sign, bound in bounds if bound is not None)


def number(value: float) -> str:
    """Write a number in four significant digits, whole ones as such."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"


def table(rows: Iterable[Row]) -> str:
    """Lay rows out in columns."""
    marks = {True: "yes", False: "NO", None: ""}
    cells = [("", "measured", "asked", "holds", "")]
    cells += [(row.name, f"{number(row.value)} {row.unit}", row.asked, marks[row.holds], row.note) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    return "\n".join(
        "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[4]]).rstrip()
        for line in cells
    )
