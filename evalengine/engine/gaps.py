"""Times in which this process stood still: it was stopped, the machine slept, or something kept its loop busy.

A timer that was due long ago shows it. What cases did meanwhile cannot be known, so nobody is charged for it.
"""

LONGEST_DELAY_S = 1.0
"""What is later than this was kept from running."""


class Gaps:
    """Finds each gap once."""

    def __init__(self, interval_s: float) -> None:
        """Take how often the timer that is looked at fires."""
        self._interval_s = interval_s
        self._accounted = float("-inf")

    def found(self, now: float, due: float) -> float:
        """Return how many seconds were lost that were not yet told, if the timer due then has not fired by now."""
        if now < due + LONGEST_DELAY_S:
            return 0.0
        gap_s = now - max(due - self._interval_s, self._accounted)
        if gap_s < LONGEST_DELAY_S:
            return 0.0
        self._accounted = now
        return gap_s
