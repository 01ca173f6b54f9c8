"""Cases that stand by in workers: sent ahead, begun when another attempt of the same worker ends.

While many cases wait, a worker holds as many more as it has in flight. When one of its attempts ends, the next that
stands by takes its slot at once, without a word from the scheduler: the budget holds, and nobody waits for
messages. They are not in flight, and stand by in the order of the plan. They are asked back when the run stops,
when their worker is spoiled or may have to be killed, or when a slot is free elsewhere and none waits in line; a
worker answers with those that have not begun. Caps of files, and a limit of failures, need a decision for each
start: then none stand by.
"""

from collections.abc import Iterator, Sequence

from evalengine.engine.commands import Dispatch
from evalengine.engine.fleet import Fleet
from evalengine.engine.ledger import Ledger
from evalengine.engine.plan import Limits, Task
from evalengine.engine.states import Attempt, AttemptState, IllegalFactError, Worker
from evalengine.engine.waiting import WaitingLine
from evalengine.wire import RunKey


class Standby:
    """Moves cases between the line and the workers they stand by in."""

    def __init__(
        self, tasks: Sequence[Task], limits: Limits, line: WaitingLine, fleet: Fleet, ledger: Ledger
    ) -> None:
        self._tasks = tasks
        self._least_waiting = limits.budget
        self._is_possible = limits.max_failures is None and not limits.file_caps
        self._line = line
        self._fleet = fleet
        self._ledger = ledger

    def __len__(self) -> int:
        return self._fleet.standing_by()

    def fill(self) -> Iterator[Dispatch]:
        """Send cases ahead, while so many wait that none of these will be missed elsewhere."""
        while self._is_possible and len(self._line) > self._least_waiting:
            worker = self._fleet.neediest()
            index = self._line.take() if worker is not None else None
            if worker is None or index is None:
                return
            key = self._ledger.next_key(index)
            worker.standby[key[:2]] = Attempt(index, key, worker, AttemptState.STANDBY)
            yield Dispatch(worker.id, key, self._tasks[index].file, standby=True)

    def ask_back(self, worker: Worker | None = None) -> list[Worker]:
        """Return the workers, or the one, that are to be asked for what stands by in them, and were not yet."""
        asked = [holder for holder in self._fleet.holders() if worker in (None, holder)]
        for holder in asked:
            holder.withdrawing = True
        return asked

    def take_back(self, worker: Worker, keys: Sequence[RunKey]) -> None:
        """Put what a worker gave back in line; raises IllegalFactError for anything but all it holds."""
        if not worker.withdrawing or {key[:2] for key in keys} != set(worker.standby):
            raise IllegalFactError(f"worker {worker.id} gave back what does not stand by in it: {keys}")
        worker.withdrawing = False
        self.free(worker)

    def free(self, worker: Worker) -> None:
        """Put what stands by in a worker back in line: it never began there."""
        for attempt in worker.standby.values():
            self._line.add(attempt.index)
        worker.standby.clear()
