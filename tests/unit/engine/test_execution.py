"""The execution over a fake pool: what is sent, what is recorded and when, what lies cost."""

import asyncio

import msgspec

from evalengine import events, wire
from evalengine.cases import EvalCase
from evalengine.engine.autopsy import Findings
from evalengine.engine.execution import Execution
from evalengine.engine.planning import LoadedFile, Plan, PlanEntry
from evalengine.engine.recorded import Recorded
from evalengine.journal import Journal, read_events
from evalengine.results import EvalCaseResult, Status
from evalengine.settings import RunSettings


class FakePool:
    """Takes commands; its workers do what the test says."""

    def __init__(self):
        self.sent = []
        self.killed = []
        self.stopped = []
        self.started = []
        self.workers = []
        self.leaving = []

    def send(self, worker, command):
        self.sent.append((worker, command))

    def flush(self):
        for leave in self.leaving:
            leave()
        self.leaving.clear()

    def kill(self, worker, reason):
        self.killed.append((worker, reason))

    def stop(self, worker):
        self.stopped.append(worker)

    def start(self, worker):
        self.started.append(worker)

    def running(self):
        """The attempts that were given a slot, in that order."""
        standing_by, running = {}, []
        for _, command in self.sent:
            if isinstance(command, wire.RunCase) and command.standby:
                standing_by[command.key] = command
            elif isinstance(command, wire.RunCase):
                running.append(command)
            elif isinstance(command, wire.BeginCase):
                running.append(standing_by.pop(command.key))
        return running


def planned(ids, *, skip=None, cap=None):
    cases = [
        wire.PlannedCase(
            eval_id=id_,
            set_id="s",
            set_name="s",
            digest="d",
            payload=wire.encode_case(EvalCase.single_turn(id_, "q", "r")),
            skip=(skip or {}).get(id_),
        )
        for id_ in ids
    ]
    spec = wire.FileSpec(path="/p/x_eval.py", label="x_eval.py", max_concurrency=cap)
    entries = [PlanEntry(0, f"x_eval.py::{case.eval_id}", case) for case in cases]
    return Plan(files={0: LoadedFile(spec=spec, cases=cases)}, entries=entries)


class Stage:
    """An execution on a loop, with its journal and fake pool."""

    def __init__(self, tmp_path, plan, *, workers=1, budget=1, sinks=(), **settings):
        self.journal = Journal.create(tmp_path)
        self.pool = FakePool()
        self.marks = {}
        self.kept = {}
        self.climbed = []
        self.execution = Execution(
            plan,
            RunSettings(
                root=tmp_path,
                eval_dir=tmp_path,
                output_dir=tmp_path,
                workers=workers,
                max_concurrency=budget,
                **settings,
            ),
            self.pool,
            Recorded(self.journal, sinks),
            ready=set(range(1, workers + 1)),
            next_worker=workers + 1,
            spawn=self.pool.start,
            traces=self,
            ladder=self,
        )
        self.over = asyncio.ensure_future(self.execution.finish())

    def kill(self, worker, reason):
        self.pool.kill(worker, reason)

    def watch_import(self, worker):
        pass

    def climb(self, worker, key, grace_s, is_running):
        self.climbed.append((worker, key))

    def begun(self, worker):
        return self.marks.get(worker, [])

    def finished(self, worker):
        return self.kept.get(worker, [])

    async def begin(self):
        # One turn for the first commands, one for the sinks to hear of them.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return self

    def run_one(self, command, worker=1, status=Status.PASSED, **fields):
        self.execution.started(worker, wire.Started(command.case, command.repeat, command.attempt))
        result = EvalCaseResult(
            eval_id=command.eval_id, passed=status is Status.PASSED, status=status, label=command.label, **fields
        )
        raw = msgspec.json.encode(result)
        self.execution.finished(worker, wire.Finished(command.case, command.repeat, command.attempt, raw))
        self.execution.settle_turn()

    def verdicts(self):
        told = [event for event in read_events(self.journal.path) if isinstance(event, events.CaseFinished)]
        return {event.label.partition("::")[2]: event.status for event in told}


def finished(command, **fields):
    """What a worker says of a case that passed."""
    result = EvalCaseResult(eval_id=command.eval_id, passed=True, status=Status.PASSED, label=command.label)
    return wire.Finished(*command.key, msgspec.json.encode(result), **fields)


def staged(scenario):
    """Run an async test to its end on a loop of its own."""

    def test(tmp_path):
        asyncio.run(asyncio.wait_for(scenario(tmp_path), 30))

    return test


@staged
async def test_cases_run_one_by_one_in_the_order_of_the_plan(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b", "c"])).begin()

    for number in range(3):
        command = stage.pool.running()[number]
        assert len(stage.pool.running()) == number + 1
        stage.run_one(command)

    assert await stage.over == "complete"
    assert [command.eval_id for command in stage.pool.running()] == ["a", "b", "c"]
    assert list(stage.verdicts().values()) == [Status.PASSED] * 3


@staged
async def test_a_worker_is_told_of_a_file_once_before_its_first_case(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"])).begin()
    stage.run_one(stage.pool.running()[0])

    kinds = [type(command) for _, command in stage.pool.sent]

    assert kinds == [wire.UseFile, wire.RunCase, wire.RunCase]
    stage.run_one(stage.pool.running()[1])
    await stage.over


class Heard:
    """A sink that notes what it hears, and the pool's frames as they leave."""

    def __init__(self):
        self.notes = []

    def handle(self, event, result=None):
        if isinstance(event, events.CaseFinished):
            self.notes.append(f"told {result.eval_id}")

    def flush(self):
        pass


@staged
async def test_a_verdict_is_on_disk_before_its_slot_is_filled_and_told_after(tmp_path):
    heard = Heard()
    stage = await Stage(tmp_path, planned(["a", "b"]), sinks=[heard]).begin()
    send = stage.pool.send

    def leave(command):
        heard.notes.append(f"{command.eval_id} leaves, on disk: {', '.join(stage.verdicts())}")

    def send_with_the_next_flush(worker, command):
        if isinstance(command, wire.RunCase):
            stage.pool.leaving.append(lambda: leave(command))
        send(worker, command)

    stage.pool.send = send_with_the_next_flush
    stage.run_one(stage.pool.running()[0])
    await asyncio.sleep(0)

    assert heard.notes == ["b leaves, on disk: a", "told a"]
    stage.run_one(stage.pool.running()[1])
    await stage.over


@staged
async def test_a_result_of_the_wrong_types_is_told_with_its_own_status(tmp_path):
    heard = Heard()
    stage = await Stage(tmp_path, planned(["a"]), sinks=[heard]).begin()
    command = stage.pool.running()[0]
    stage.execution.started(1, wire.Started(command.case, 0, 1))
    raw = b'{"eval_id":"a","passed":true,"status":"passed","tags":"none"}'
    stage.execution.finished(1, wire.Finished(command.case, 0, 1, raw))
    stage.execution.settle_turn()
    await stage.over

    assert stage.verdicts() == {"a": Status.PASSED}
    assert heard.notes == ["told a"]


@staged
async def test_skipped_cases_get_their_verdict_and_are_never_sent(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"], skip={"a": "not today"})).begin()

    assert [command.eval_id for command in stage.pool.running()] == ["b"]
    stage.run_one(stage.pool.running()[0])
    await stage.over

    assert stage.verdicts() == {"a": Status.SKIPPED, "b": Status.PASSED}


@staged
async def test_nothing_but_skipped_cases_is_a_complete_run(tmp_path):
    stage = await Stage(tmp_path, planned(["a"], skip={"a": "x"})).begin()

    assert await stage.over == "complete"
    assert stage.verdicts() == {"a": Status.SKIPPED}


@staged
async def test_the_only_case_in_flight_crashed_when_its_worker_died(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"])).begin()
    first = stage.pool.running()[0]
    stage.execution.started(1, wire.Started(first.case, 0, 1))
    stage.execution.lost(1, 4711, Findings("killed by SIGSEGV", words="last words"))
    await asyncio.sleep(0.01)
    replacement = stage.pool.started[-1]
    stage.execution.ready(replacement)
    stage.execution.settle_turn()
    stage.run_one(stage.pool.running()[1], worker=replacement)
    await stage.over

    assert stage.verdicts() == {"a": Status.CRASHED, "b": Status.PASSED}
    result = msgspec.json.decode(next(stage.journal.results([(0, 0)])), type=EvalCaseResult)
    assert "SIGSEGV" in result.error
    assert result.traceback == "last words"
    assert result.expected == [{"user_input": "q", "response": "r"}]


@staged
async def test_a_case_that_was_marked_as_begun_is_blamed_though_its_worker_could_not_say_so(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"]), budget=2).begin()
    first, second = stage.pool.running()
    stage.marks[1] = [first.key]
    stage.execution.lost(1, 4711, Findings("exited with 0", words="last words"))
    await asyncio.sleep(0.01)

    assert stage.verdicts() == {"a": Status.CRASHED}
    assert second.key not in stage.execution._running.get(1, {})
    stage.over.cancel()


@staged
async def test_what_a_lost_worker_had_kept_counts_and_only_what_it_began_then_is_blamed(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b", "c"])).begin()
    first, second = [command for _, command in stage.pool.sent if isinstance(command, wire.RunCase)]
    assert second.standby
    stage.execution.started(1, wire.Started(*first.key))
    stage.kept[1] = [finished(first, next=second.key)]
    stage.marks[1] = [first.key, second.key]
    stage.execution.lost(1, 4711, Findings("killed by SIGSEGV", words="last words"))
    await asyncio.sleep(0.01)

    assert stage.verdicts() == {"a": Status.PASSED, "b": Status.CRASHED}
    stage.over.cancel()


@staged
async def test_what_came_before_the_loss_does_not_come_again_from_what_was_kept(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b", "c"])).begin()
    first = stage.pool.running()[0]
    stage.run_one(first)
    stage.kept[1] = [finished(first)]
    stage.execution.lost(1, 4711, Findings("killed by SIGKILL", words="last words"))
    await asyncio.sleep(0.01)

    assert stage.verdicts() == {"a": Status.PASSED}
    stage.over.cancel()


@staged
async def test_a_worker_is_told_how_many_of_its_results_are_recorded(tmp_path):
    stage = await Stage(tmp_path, planned("abcdef")).begin()
    stage.run_one(stage.pool.running()[0])
    stage.run_one(stage.pool.running()[1])
    taken = [command.taken for _, command in stage.pool.sent if isinstance(command, wire.RunCase)]

    assert taken == [0, 0, 1, 2]
    stage.over.cancel()


@staged
async def test_what_stood_by_and_was_given_back_runs_elsewhere(tmp_path):
    stage = await Stage(tmp_path, planned("abcdef")).begin()
    first = stage.pool.running()[0]
    stage.execution.started(1, wire.Started(*first.key))
    stage.execution.stop("Ctrl-C")
    assert (1, wire.WithdrawCases()) in stage.pool.sent
    stage.run_one(first)
    assert not stage.over.done()
    stage.execution.withdrawn(1, wire.CasesWithdrawn([wire.RunKey(1)]))
    await stage.over

    assert stage.verdicts() == {"a": Status.PASSED, **dict.fromkeys("bcdef", Status.NOT_RUN)}


@staged
async def test_the_clock_of_a_case_whose_worker_is_blocked_starts_by_its_mark(tmp_path):
    stage = await Stage(tmp_path, planned(["a"])).begin()
    command = stage.pool.running()[0]
    stage.execution._look_for_starts()
    assert stage.execution._running == {}
    stage.marks[1] = [command.key]
    stage.execution._look_for_starts()

    assert list(stage.execution._running[1]) == [command.key]
    stage.run_one(command)
    assert await stage.over == "complete"
    started = [event for event in read_events(stage.journal.path) if isinstance(event, events.CaseStarted)]
    assert len(started) == 1


@staged
async def test_a_result_nobody_asked_for_costs_the_worker_and_no_verdict(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"])).begin()
    raw = msgspec.json.encode(EvalCaseResult(eval_id="b", passed=True, status=Status.PASSED))

    stage.execution.finished(1, wire.Finished(1, 0, 1, raw))

    assert stage.pool.killed
    assert stage.verdicts() == {}
    stage.over.cancel()


@staged
async def test_a_result_that_cannot_be_read_is_an_error_of_its_case(tmp_path):
    stage = await Stage(tmp_path, planned(["a"])).begin()
    command = stage.pool.running()[0]
    stage.execution.started(1, wire.Started(command.case, 0, 1))
    stage.execution.finished(1, wire.Finished(command.case, 0, 1, b'{"eval_id": 3}'))
    stage.execution.settle_turn()
    await stage.over

    assert stage.verdicts() == {"a": Status.ERROR}


@staged
async def test_a_long_result_comes_through_a_file_of_the_runs_folder_alone(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"])).begin()
    inside, outside = stage.journal.folder / "spilled", tmp_path / "elsewhere"
    raw = msgspec.json.encode(EvalCaseResult(eval_id="a", passed=True, status=Status.PASSED))
    for path in (inside, outside):
        path.write_bytes(raw)
    for path, number in ((inside, 0), (outside, 1)):
        command = stage.pool.running()[number]
        stage.execution.started(1, wire.Started(command.case, 0, 1))
        stage.execution.finished(1, wire.Finished(command.case, 0, 1, b"", spill=str(path)))
        stage.execution.settle_turn()
    await stage.over

    assert stage.verdicts() == {"a": Status.PASSED, "b": Status.ERROR}
    assert [path.name for path in tmp_path.rglob("*") if path.name in ("spilled", "elsewhere")] == ["elsewhere"]


@staged
async def test_after_so_many_failures_no_case_is_started_and_the_rest_is_not_run(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b", "c"]), max_failures=1).begin()
    stage.run_one(stage.pool.running()[0], status=Status.FAILED)

    assert await stage.over == "stopped"
    assert stage.verdicts() == {"a": Status.FAILED, "b": Status.NOT_RUN, "c": Status.NOT_RUN}


@staged
async def test_a_stop_lets_running_cases_finish(tmp_path):
    stage = await Stage(tmp_path, planned(["a", "b"])).begin()
    command = stage.pool.running()[0]
    stage.execution.stop("enough")
    stage.run_one(command)

    assert await stage.over == "interrupted"
    assert stage.verdicts() == {"a": Status.PASSED, "b": Status.NOT_RUN}


@staged
async def test_workers_that_never_live_fail_the_run_and_leave_no_case_without_a_verdict(tmp_path):
    stage = await Stage(tmp_path, planned(["a"])).begin()
    starts = asyncio.Queue()
    stage.execution._spawn = starts.put_nowait
    worker = 1
    for _ in range(5):
        stage.execution.lost(worker, None, Findings("exited with 1", words="last words"))
        if stage.execution.failure is None:
            worker = await starts.get()

    assert await stage.over == "incomplete"
    assert "in a row" in stage.execution.failure
    assert stage.verdicts() == {"a": Status.NOT_RUN}
