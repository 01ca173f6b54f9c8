"""The scheduler against simulated shells: random plans, random workers, random order of what happens."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalengine.engine import commands, facts
from evalengine.engine.scheduler import IllegalFactError, Limits, Scheduler, Task
from evalengine.results import Status
from evalengine.wire import RunKey

TIMEOUT_S = 10.0

EXPECTED = {
    "passes": Status.PASSED,
    "fails": Status.FAILED,
    "litters": Status.PASSED,  # leaves something running that may kill its worker later
    "kills": Status.CRASHED,  # its worker, each time
    "yields": Status.TIMEOUT,  # never ends by itself, but when cancelled
    "hangs": Status.TIMEOUT,  # neither; its worker's loop goes on
    "hogs": Status.TIMEOUT,  # blocks its worker's loop
}


@dataclass
class Process:
    alone: bool
    ready: bool = False
    killed: bool = False
    littered: bool = False
    sent: list[RunKey] = field(default_factory=list)
    standby: list[RunKey] = field(default_factory=list)
    asked_back: bool = False
    running: list[RunKey] = field(default_factory=list)
    cancelled: dict[RunKey, Status] = field(default_factory=dict)
    dispatches: int = 0


class World:
    """Workers that do what cases make them do. It checks every command against what it knows."""

    def __init__(self, behaviours, files, limits, random, *, warm=0):
        self.behaviours = behaviours
        self.limits = limits
        self.random = random
        self.now = 0.0
        self.tasks = [Task(case, 0, file, TIMEOUT_S) for case, file in enumerate(files)]
        self.scheduler = Scheduler(self.tasks, limits, ready_workers=range(warm))
        self.processes = {worker: Process(alone=False, ready=True) for worker in range(warm)}
        self.gone = []
        self.in_flight = {}
        self.finished_early = set()
        self.retried = defaultdict(list)
        self.loss = set()
        self.groups = {}
        """By case, the suspects of the loss that it is suspected of."""
        self.verdicts = {}
        self.attempts = Counter()
        self.starts = []
        self.suspects = set()
        self.reported = []
        self.over = self.stopping = self.failed = self.stood = False
        self.obey(self.scheduler.start(self.now))

    # What the scheduler decides

    def tell(self, fact):
        self.obey(self.scheduler.handle(fact, self.now))

    def obey(self, decided):
        for command in decided:
            assert not self.over, "nothing may follow the end of the run"
            getattr(self, "do_" + re.sub(r"\B([A-Z])", r"_\1", type(command).__name__).lower())(command)
            self.check_limits()
        if not self.over:
            self.check_work_conserved()
        self.check_counts()

    def do_spawn(self, command):
        assert command.worker not in self.processes
        assert command.worker not in self.gone
        self.processes[command.worker] = Process(alone=command.alone)

    def do_release(self, command):
        process = self.processes.pop(command.worker)
        assert not process.sent
        assert not process.standby
        assert not process.killed
        self.gone.append(command.worker)

    def do_kill(self, command):
        process = self.processes[command.worker]
        assert not process.killed
        process.killed = True

    def do_dispatch(self, command):
        process = self.processes[command.worker]
        assert process.ready
        assert not process.killed
        assert not self.stopping
        key = command.key
        assert key[:2] not in self.in_flight
        assert key[:2] not in self.verdicts
        self.attempts[key.case] += 1
        assert key.attempt == self.attempts[key.case]
        assert process.alone == (key.case in self.suspects)
        process.dispatches += 1
        assert not ((process.alone or self.limits.single_use) and process.dispatches > 1)
        if command.standby:
            assert not process.alone
            assert not process.asked_back
            process.standby.append(key)
        else:
            self.enter(command.worker, key)

    def do_begin(self, command):
        process = self.processes[command.worker]
        assert not process.killed
        assert not self.stopping
        if command.key in process.standby:
            process.standby.remove(command.key)
            self.enter(command.worker, command.key)

    def do_withdraw(self, command):
        process = self.processes[command.worker]
        assert not process.asked_back
        assert not process.killed
        process.asked_back = True

    def enter(self, worker, key):
        """Take a slot in a worker, by whoever's decision."""
        self.processes[worker].sent.append(key)
        self.in_flight[key[:2]] = worker
        self.starts.append(key.case)

    def leave_standby(self, process):
        for key in process.standby:
            self.attempts[key.case] -= 1
        process.standby.clear()

    def do_cancel(self, command):
        process = self.processes[command.worker]
        assert command.key in process.sent
        assert command.key not in process.cancelled
        process.cancelled[command.key] = command.status

    def do_accept(self, command):
        self.land(command.key, command.status)

    def do_retry(self, command):
        verdict = command.verdict
        assert not self.stopping
        assert verdict.status in (Status.ERROR, Status.TIMEOUT, Status.CRASHED)
        assert verdict.key[:2] not in self.verdicts
        self.in_flight.pop(verdict.key[:2], None)
        self.retried[verdict.key.case].append(verdict.status)
        assert len(self.retried[verdict.key.case]) <= self.limits.retries
        # One that a loss was blamed on runs alone.
        if isinstance(verdict, commands.Settle):
            self.clear_others(verdict.key.case)
            self.suspects.add(verdict.key.case)
        else:
            self.suspects.discard(verdict.key.case)
            self.groups.pop(verdict.key.case, set()).discard(verdict.key.case)

    def do_stand(self, command):
        assert self.stopping
        assert command.status is self.retried[command.key.case][-1]
        self.stood = True
        self.verdicts[command.key[:2]] = command.status

    def do_settle(self, command):
        assert command.status in (Status.TIMEOUT, Status.CRASHED, Status.NOT_RUN)
        if command.status is not Status.NOT_RUN:
            self.clear_others(command.key.case)
        self.land(command.key, command.status)

    def clear_others(self, case):
        """One that lost its own worker, too, is the guilty one: the others wait in line, but for those that run."""
        others = self.groups.pop(case, set()) - {case}
        for other in others:
            del self.groups[other]
            if (other, 0) not in self.in_flight:
                self.suspects.discard(other)

    def land(self, key, status):
        assert key[:2] not in self.verdicts
        assert key[:2] in self.in_flight or key[:2] in self.finished_early or status is Status.NOT_RUN
        self.in_flight.pop(key[:2], None)
        self.verdicts[key[:2]] = status
        self.suspects.discard(key.case)
        self.groups.pop(key.case, set()).discard(key.case)

    def do_requeue(self, command):
        assert not self.stopping
        del self.in_flight[command.key[:2]]
        if command.alone:
            self.suspects.add(command.key.case)
            if command.key.case not in self.groups:
                self.groups[command.key.case] = self.loss
                self.loss.add(command.key.case)

    def do_report_loss(self, command):
        assert command.worker in self.gone
        self.reported.append(command)

    def do_announce_stop(self, command):
        assert not self.stopping
        self.stopping = True

    def do_fail_engine(self, command):
        assert not self.in_flight
        self.failed = self.stopping = True

    def do_end_run(self, command):
        self.over = True
        assert len(self.verdicts) == len(self.tasks)
        assert all(process.killed for process in self.processes.values())

    # What must hold at every instant

    def check_limits(self):
        assert len(self.in_flight) <= self.limits.budget
        assert len(self.processes) <= self.limits.workers
        in_files = Counter(self.tasks[case].file for case, _ in self.in_flight)
        assert all(in_files[file] <= cap for file, cap in self.limits.file_caps.items())

    def usable(self):
        """The workers that may be sent something."""
        return list(self.processes.values())

    def check_work_conserved(self):
        if self.stopping or len(self.in_flight) == self.limits.budget:
            return
        in_files = Counter(self.tasks[case].file for case, _ in self.in_flight)
        eligible = [
            task
            for task in self.tasks
            if (task.case, 0) not in self.in_flight
            and (task.case, 0) not in self.verdicts
            and not any(task.case == key.case for process in self.processes.values() for key in process.standby)
            and task.case not in self.suspects
            and in_files[task.file] < self.limits.file_caps.get(task.file, self.limits.budget)
        ]
        shared = [process for process in self.usable() if not process.alone]
        if self.limits.single_use:
            shared = [process for process in shared if not process.dispatches]
        ready = [process for process in shared if process.ready and not process.killed]
        if eligible and ready:
            assert all(process.sent for process in ready), "a worker idles while a case waits"
            assert not all(process.ready for process in shared), "a slot is free while a case waits"
        if not eligible:
            holders = [process for process in ready if process.standby]
            assert all(process.asked_back for process in holders), "a slot is free while cases stand by"

    def check_counts(self):
        counts = self.scheduler.counts()
        assert counts.in_flight == len(self.in_flight)
        assert counts.settled == len(self.verdicts)
        assert sum(counts[:4]) == len(self.tasks)
        assert counts.verdicts == {status: Counter(self.verdicts.values())[status] for status in Status}

    # What happens in the workers

    def prompt(self):
        """Everything that a worker would do by itself, and soon."""
        happenings = []
        for worker, process in self.processes.items():
            if process.asked_back and not process.killed and not self.is_hogged(process):
                happenings.append((self.give_back, worker))
            if process.killed:
                happenings.append((self.lose, worker, "killed"))
            elif not process.ready:
                happenings.append((self.get_ready, worker))
            elif not self.is_hogged(process):
                happenings += [(self.begin, worker, key) for key in process.sent if key not in process.running]
                happenings += [(self.go_on, worker, key) for key in process.running if self.can_go_on(process, key)]
        return happenings

    def is_hogged(self, process):
        return any(self.behaviours[key.case] == "hogs" for key in process.running)

    def give_back(self, worker):
        process = self.processes[worker]
        keys = list(process.standby)
        self.leave_standby(process)
        process.asked_back = False
        self.tell(facts.StandbyReturned(worker, keys))

    def can_go_on(self, process, key):
        behaviour = self.behaviours[key.case]
        return behaviour not in ("hangs", "yields") or (behaviour == "yields" and key in process.cancelled)

    def get_ready(self, worker):
        self.processes[worker].ready = True
        self.tell(facts.WorkerReady(worker))

    def begin(self, worker, key):
        self.processes[worker].running.append(key)
        self.tell(facts.AttemptStarted(worker, key))

    def go_on(self, worker, key):
        process = self.processes[worker]
        if self.behaviours[key.case] == "kills":
            self.lose(worker, "SIGSEGV")
            return
        process.littered |= self.behaviours[key.case] == "litters"
        self.finish(worker, key, EXPECTED[self.behaviours[key.case]])

    def finish(self, worker, key, status):
        process = self.processes[worker]
        process.sent.remove(key)
        if key in process.running:
            process.running.remove(key)
        following = process.standby.pop(0) if process.standby else None
        if following is not None:
            del self.in_flight[key[:2]]
            self.finished_early.add(key[:2])
            self.enter(worker, following)
            assert len(self.in_flight) <= self.limits.budget
        self.tell(facts.AttemptFinished(worker, key, status, int(process.littered), following))

    def lose(self, worker, cause, proven=None):
        self.leave_standby(self.processes.pop(worker))
        self.loss = set()
        self.gone.append(worker)
        self.tell(facts.WorkerLost(worker, cause, proven))

    def pass_time(self):
        deadline = self.scheduler.next_deadline()
        assert deadline is not None, "the run is stuck"
        self.now = max(self.now, deadline)
        self.tell(facts.Ticked())

    def act(self, happening):
        happening[0](*happening[1:])


@st.composite
def worlds(draw, behaviours=tuple(EXPECTED), warm=True):
    cases = draw(st.lists(st.sampled_from(behaviours), max_size=24))
    files = [draw(st.integers(0, 3)) for _ in cases]
    workers = draw(st.integers(1, 4))
    limits = Limits(
        budget=draw(st.integers(1, 6)),
        workers=workers,
        retries=draw(st.integers(0, 2)),
        single_use=draw(st.booleans()),
        file_caps=draw(st.just({}) | st.dictionaries(st.integers(0, 3), st.integers(1, 3), max_size=3)),
    )
    random = draw(st.randoms(use_true_random=False))
    return World(cases, files, limits, random, warm=draw(st.integers(0, workers)) if warm else 0)


def run_fairly(world):
    """Let everything happen in a random order, but nothing be so slow that a deadline passes without a reason."""
    litter_deaths = 3
    steps = 0
    while not world.over:
        steps += 1
        assert steps < 10_000, "the run does not get on"
        happenings = world.prompt()
        littered = [worker for worker, process in world.processes.items() if process.littered]
        if littered and litter_deaths and world.random.random() < 0.2:
            litter_deaths -= 1
            world.lose(world.random.choice(littered), "SIGABRT")
        elif happenings:
            world.act(world.random.choice(happenings))
        else:
            world.pass_time()


@given(worlds())
@settings(max_examples=400, deadline=None)
def test_each_case_gets_its_own_verdict_whatever_its_neighbours_do(world):
    run_fairly(world)
    assert not world.failed
    for task in world.tasks:
        expected = EXPECTED[world.behaviours[task.case]]
        assert world.verdicts[task.case, 0] is expected
        failures = world.limits.retries if expected in (Status.TIMEOUT, Status.CRASHED) else 0
        assert world.retried[task.case] == [expected] * failures


@given(worlds(behaviours=("passes", "fails")))
@settings(max_examples=100, deadline=None)
def test_nothing_runs_twice_where_nothing_is_lost(world):
    run_fairly(world)
    assert set(world.attempts.values()) <= {1}


@given(st.lists(st.sampled_from(tuple(EXPECTED)), max_size=10), st.integers(0, 1), st.integers(0))
@settings(max_examples=100, deadline=None)
def test_a_sequential_run_starts_cases_in_the_order_of_the_plan(behaviours, warm, seed):
    world = World(behaviours, [0] * len(behaviours), Limits(budget=1, workers=1), Random(seed), warm=warm)
    run_fairly(world)
    assert list(dict.fromkeys(world.starts)) == list(range(len(behaviours)))


def disturb(world, random):
    """Do something that a well-behaved world would not."""
    workers = list(world.processes)
    choice = random.randrange(7)
    if choice == 0 and workers:
        worker = random.choice(workers)
        sent = world.processes[worker].sent
        world.lose(worker, "SIGKILL", random.choice([*sent, None]))
    elif choice == 1 and world.scheduler.next_deadline() is not None:
        world.pass_time()
    elif choice == 2 and world.gone:
        before = world.scheduler.counts()
        key = RunKey(0, 0, 1)
        gone = random.choice(world.gone)
        late = [facts.WorkerReady(gone), facts.AttemptStarted(gone, key), facts.WorkerLost(gone, "again")]
        world.tell(random.choice([*late, facts.AttemptFinished(gone, key, Status.PASSED)]))
        assert world.scheduler.counts() == before
    elif choice == 3 and workers:
        worker = random.choice(workers)
        if world.processes[worker].ready:
            world.tell(facts.WorkerSpoiled(worker))
    elif choice == 4:
        world.tell(facts.ClockPaused(random.random() * 100))
    elif choice == 5 and workers and not world.over:
        refuse_lies(world, random.choice(workers))
    elif choice == 6 and workers:
        worker = random.choice(workers)
        cancelled = [key for key in world.processes[worker].cancelled if key in world.processes[worker].sent]
        if cancelled:
            world.tell(facts.AttemptAnswered(worker, random.choice(cancelled)))


def refuse_lies(world, worker):
    before = (world.scheduler.counts(), world.scheduler.next_deadline())
    stranger = RunKey(len(world.tasks), 0, 1)
    lies = [
        facts.AttemptStarted(worker, stranger),
        facts.AttemptFinished(worker, stranger, Status.PASSED),
        facts.StandbyReturned(worker, [stranger]),
    ]
    lies += [facts.AttemptFinished(worker, key, Status.PASSED, 0, stranger) for key in world.processes[worker].sent]
    for lie in lies:
        with pytest.raises(IllegalFactError):
            world.scheduler.handle(lie, world.now)
    assert (world.scheduler.counts(), world.scheduler.next_deadline()) == before


class Chaos(World):
    """A world in which spoiled workers, too, are known not to be idle."""

    def __init__(self, *args, **options):
        self.spoiled = set()
        super().__init__(*args, **options)

    def tell(self, fact):
        if isinstance(fact, facts.WorkerSpoiled):
            self.spoiled.add(fact.worker)
        super().tell(fact)

    def usable(self):
        return [process for worker, process in self.processes.items() if worker not in self.spoiled]

    def do_dispatch(self, command):
        assert command.worker not in self.spoiled
        super().do_dispatch(command)


@given(
    st.lists(st.sampled_from(tuple(EXPECTED)), max_size=24),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from([None, 1, 3]),
    st.integers(0, 2),
    st.just({}) | st.dictionaries(st.integers(0, 2), st.integers(1, 3)),
    st.sampled_from([None, facts.StopRequested("Ctrl-C"), facts.StopNowRequested("Ctrl-C twice")]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=400, deadline=None)
def test_every_case_gets_one_verdict_and_the_run_ends_whatever_happens(
    behaviours, budget, workers, max_failures, retries, caps, stop, random
):
    limits = Limits(budget=budget, workers=workers, max_failures=max_failures, retries=retries, file_caps=caps)
    files = [random.randrange(3) for _ in behaviours]
    world = Chaos(behaviours, files, limits, random, warm=random.randrange(workers + 1))
    for _ in range(60):
        if world.over:
            break
        happenings = world.prompt()
        if happenings and random.random() < 0.7:
            world.act(random.choice(happenings))
        else:
            disturb(world, random)
        if stop is not None and random.random() < 0.05:
            world.tell(stop)
    run_fairly(world)
    assert set(world.verdicts) == {(case, 0) for case in range(len(behaviours))}
    assert world.scheduler.handle(facts.Ticked(), world.now) == []


@given(worlds())
@settings(max_examples=50, deadline=None)
def test_workers_that_never_get_ready_fail_the_engine(world):
    while not world.over:
        starting = [worker for worker, process in world.processes.items() if not process.ready]
        if starting:
            world.lose(world.random.choice(starting), "exited with 1")
        elif happenings := world.prompt():
            world.act(world.random.choice(happenings))
        else:
            world.pass_time()
    waiting = [status for status in world.verdicts.values() if status is Status.NOT_RUN]
    assert world.failed == (bool(waiting) or world.stood)
