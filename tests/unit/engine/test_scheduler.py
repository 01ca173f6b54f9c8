"""The scheduler's rules, row by row."""

import math

import pytest

from evalengine.engine.commands import (
    Accept,
    AnnounceStop,
    Begin,
    Cancel,
    Dispatch,
    EndRun,
    FailEngine,
    Kill,
    Release,
    ReportLoss,
    Requeue,
    Retry,
    Settle,
    Spawn,
    Stand,
    Withdraw,
)
from evalengine.engine.facts import (
    AttemptAnswered,
    AttemptFinished,
    AttemptStarted,
    ClockPaused,
    StandbyReturned,
    StopNowRequested,
    StopRequested,
    Ticked,
    WorkerLost,
    WorkerReady,
    WorkerSpoiled,
)
from evalengine.engine.scheduler import IllegalFactError, Limits, Scheduler, Task
from evalengine.results import Status
from evalengine.wire import RunKey

PASSED, FAILED, ERROR, TIMEOUT, CRASHED, NOT_RUN = (
    Status.PASSED,
    Status.FAILED,
    Status.ERROR,
    Status.TIMEOUT,
    Status.CRASHED,
    Status.NOT_RUN,
)


def key(case, attempt=1):
    return RunKey(case, 0, attempt)


class Run:
    """A scheduler with a clock and the commands of the last fact."""

    def __init__(self, cases=1, *, budget=1, workers=1, ready=1, files=None, timeout_s=10.0, **limits):
        files = files or [0] * cases
        tasks = [Task(case, 0, file, timeout_s) for case, file in enumerate(files)]
        self.limits = Limits(budget=budget, workers=workers, **limits)
        self.scheduler = Scheduler(tasks, self.limits, ready_workers=range(ready))
        self.now = 0.0
        self.last = self.scheduler.start(self.now)

    def tell(self, *facts, at=None):
        """Hand facts in and return what was decided for all of them."""
        self.now = self.now if at is None else at
        self.last = [command for fact in facts for command in self.scheduler.handle(fact, self.now)]
        return self.last

    def start(self, worker, *cases, attempt=1):
        return self.tell(*(AttemptStarted(worker, key(case, attempt)) for case in cases))

    def finish(self, worker, case, status=PASSED, *, attempt=1, leftovers=0, at=None, following=None):
        following = None if following is None else key(following)
        return self.tell(AttemptFinished(worker, key(case, attempt), status, leftovers, following), at=at)

    def lose(self, worker, proven=None):
        return self.tell(WorkerLost(worker, "killed by SIGSEGV", proven))

    def overdue(self, at=10.0):
        """Let the deadline pass and then the grace."""
        return [*self.tell(Ticked(), at=at), *self.tell(Ticked(), at=at + 2.0)]


def of(kind, decided):
    return [command for command in decided if isinstance(command, kind)]


def verdicts(decided):
    return [(command.key.case, command.status) for command in decided if isinstance(command, Accept | Settle)]


# Slots and workers


def test_a_plan_of_nothing_ends_at_once():
    assert Run(0, ready=0).last == [EndRun()]


def test_a_plan_of_nothing_releases_the_workers_of_discovery():
    assert Run(0).last == [Release(0), EndRun()]


def test_workers_are_asked_for_as_far_as_they_can_be_kept_busy():
    assert Run(2, budget=4, workers=8, ready=0).last == [Spawn(0), Spawn(1)]


def test_a_capped_file_asks_for_no_more_workers_than_its_cap():
    assert Run(9, budget=4, workers=4, ready=0, file_caps={0: 2}).last == [Spawn(0), Spawn(1)]


def test_workers_that_live_already_are_used_and_new_ones_numbered_after_them():
    assert Run(4, budget=4, workers=3, ready=2).last[0] == Spawn(2)


def test_workers_beyond_what_can_be_kept_busy_are_released():
    assert Run(1, workers=3, ready=3).last == [Release(1), Release(2), Dispatch(0, key(0), 0)]


def test_the_budget_is_filled_in_order_over_the_workers():
    assert Run(6, budget=3, workers=2, ready=2).last == [
        Dispatch(0, key(0), 0),
        Dispatch(1, key(1), 0),
        Dispatch(0, key(2), 0),
    ]


def test_a_free_slot_goes_to_the_worker_with_the_fewest_in_flight():
    run = Run(8, budget=4, workers=2, ready=2)
    assert run.finish(1, 1) == [Accept(1, key(1), PASSED), Dispatch(1, key(4), 0)]


def test_the_verdict_is_recorded_before_its_slot_is_used_again():
    run = Run(2)
    assert [type(command) for command in run.finish(0, 0)] == [Accept, Dispatch]


def test_a_ready_worker_keeps_to_its_share_while_another_is_starting():
    run = Run(4, budget=4, workers=2)
    assert of(Dispatch, run.last) == [Dispatch(0, key(0), 0), Dispatch(0, key(1), 0)]
    assert run.tell(WorkerReady(1)) == [Dispatch(1, key(2), 0), Dispatch(1, key(3), 0)]


def test_workers_that_keep_dying_are_not_waited_for():
    run = Run(4, budget=4, workers=2)
    assert of(Dispatch, run.lose(1)) == [Dispatch(0, key(2), 0), Dispatch(0, key(3), 0)]


def test_a_capped_file_is_skipped_and_comes_again_when_it_has_room():
    run = Run(files=[7, 7, 8], budget=2, file_caps={7: 1})
    assert run.last == [Dispatch(0, key(0), 7), Dispatch(0, key(2), 8)]
    assert of(Dispatch, run.finish(0, 2)) == []
    assert of(Dispatch, run.finish(0, 0)) == [Dispatch(0, key(1), 7)]


def test_an_idle_worker_is_released_when_no_case_waits():
    run = Run(2, budget=2, workers=2, ready=2)
    assert run.finish(1, 1) == [Accept(1, key(1), PASSED), Release(1)]


def test_a_worker_that_is_still_starting_is_released_when_no_case_waits():
    run = Run(2, budget=2, workers=2)
    run.finish(0, 0)
    assert Release(1) in run.last


def test_the_end_comes_once_with_the_last_verdict():
    run = Run(1)
    assert run.finish(0, 0) == [Accept(0, key(0), PASSED), Release(0), EndRun()]
    assert run.tell(Ticked(), StopRequested("late"), WorkerLost(0, "exited with 1")) == []


def test_a_spoiled_worker_finishes_what_it_has_and_is_replaced():
    run = Run(3, budget=2, workers=1)
    run.tell(WorkerSpoiled(0))
    assert run.finish(0, 0) == [Accept(0, key(0), PASSED)]
    assert run.finish(0, 1) == [Accept(0, key(1), PASSED), Release(0), Spawn(1)]


def test_counts_add_up():
    run = Run(4, budget=2, workers=1)
    run.finish(0, 0, FAILED)
    counts = run.scheduler.counts()
    assert counts[:4] == (1, 0, 2, 1)
    assert counts.verdicts[FAILED] == 1


# Retries


def test_a_case_that_ended_in_error_runs_again_as_often_as_it_may():
    run = Run(1, retries=2)
    assert run.finish(0, 0, ERROR) == [Retry(Accept(0, key(0), ERROR)), Dispatch(0, key(0, 2), 0)]
    assert run.finish(0, 0, ERROR, attempt=2) == [Retry(Accept(0, key(0, 2), ERROR)), Dispatch(0, key(0, 3), 0)]
    assert run.finish(0, 0, ERROR, attempt=3)[0] == Accept(0, key(0, 3), ERROR)
    assert run.scheduler.counts().verdicts[ERROR] == 1


@pytest.mark.parametrize("status", [PASSED, FAILED, Status.SKIPPED])
def test_what_is_neither_error_nor_timeout_nor_crash_does_not_run_again(status):
    assert Run(1, retries=2).finish(0, 0, status)[0] == Accept(0, key(0), status)


def test_a_case_that_passes_after_a_retry_has_passed():
    run = Run(1, retries=2)
    run.finish(0, 0, TIMEOUT)
    assert verdicts(run.finish(0, 0, PASSED, attempt=2)) == [(0, PASSED)]


def test_a_case_that_killed_its_worker_runs_again_alone():
    run = Run(2, budget=1, retries=1)
    run.start(0, 0)
    assert [type(command) for command in run.lose(0)] == [Retry, Spawn]
    assert run.last[1].alone
    assert of(Dispatch, run.tell(WorkerReady(1))) == [Dispatch(1, key(0, 2), 0)]
    run.start(1, 0, attempt=2)
    assert verdicts(run.lose(1)) == [(0, CRASHED)]


def test_nothing_runs_again_once_the_run_stops_and_the_last_verdict_stands():
    run = Run(2, budget=2, retries=1)
    run.start(0, 0, 1)
    run.finish(0, 0, ERROR)
    run.tell(StopRequested("Ctrl-C"))
    assert verdicts(run.finish(0, 1, ERROR)) == [(1, ERROR)]
    assert verdicts(run.finish(0, 0, ERROR, attempt=2)) == [(0, ERROR)]


def test_a_case_that_waits_for_its_retry_when_the_run_stops_keeps_its_verdict():
    run = Run(2, retries=1, max_failures=9)
    run.start(0, 0)
    run.lose(0)
    assert run.tell(StopRequested("Ctrl-C"))[1:] == [
        Release(1),
        Stand(key(0), CRASHED),
        Settle(key(1), NOT_RUN, "Ctrl-C"),
        EndRun(),
    ]


def test_only_the_last_attempt_counts_against_a_limit_of_failures():
    run = Run(3, retries=1, max_failures=1)
    assert of(AnnounceStop, run.finish(0, 0, ERROR)) == []
    assert len(of(AnnounceStop, run.finish(0, 0, ERROR, attempt=2))) == 1


# A fresh worker for each case


def test_each_case_gets_a_worker_that_has_run_nothing():
    run = Run(2, single_use=True, ready=0)
    assert run.last == [Spawn(0)]
    assert run.tell(WorkerReady(0)) == [Dispatch(0, key(0), 0)]
    run.start(0, 0)
    assert run.finish(0, 0) == [Accept(0, key(0), PASSED), Release(0), Spawn(1)]
    assert run.tell(WorkerReady(1)) == [Dispatch(1, key(1), 0)]
    run.start(1, 1)
    assert run.finish(1, 1) == [Accept(1, key(1), PASSED), Release(1), EndRun()]


def test_workers_of_discovery_are_not_fresh():
    assert Run(2, single_use=True, ready=1).last == [Release(0), Spawn(1)]


def test_as_many_fresh_workers_live_as_may():
    run = Run(9, budget=4, workers=2, single_use=True, ready=0)
    assert of(Spawn, run.last) == [Spawn(0), Spawn(1)]
    assert of(Dispatch, run.tell(WorkerReady(0), WorkerReady(1))) == [
        Dispatch(0, key(0), 0),
        Dispatch(1, key(1), 0),
    ]


# Who is cleared


def test_the_other_suspects_of_a_loss_are_cleared_by_the_one_that_dies_again():
    run = Run(3, budget=3)
    run.start(0, 0, 1, 2)
    run.lose(0)
    run.tell(WorkerReady(1))
    run.start(1, 0, attempt=2)
    assert verdicts(run.lose(1)) == [(0, CRASHED)]
    assert of(Spawn, run.last) == [Spawn(2)]
    assert of(Dispatch, run.tell(WorkerReady(2))) == [Dispatch(2, key(1, 2), 0), Dispatch(2, key(2, 2), 0)]


def test_a_suspect_that_is_cleared_while_it_runs_alone_keeps_its_result():
    run = Run(4, budget=4, workers=2, ready=2)
    run.start(0, 0, 2)
    run.start(1, 1, 3)
    run.finish(1, 1)
    run.finish(1, 3)
    run.lose(0)
    run.tell(*(WorkerReady(command.worker) for command in of(Spawn, run.last)))
    suspected = {command.key.case: command.worker for command in of(Dispatch, run.last)}
    run.tell(*(AttemptStarted(worker, key(case, 2)) for case, worker in suspected.items()))
    assert verdicts(run.lose(suspected[0])) == [(0, CRASHED)]
    assert verdicts(run.finish(suspected[2], 2, attempt=2)) == [(2, PASSED)]
    assert of(ReportLoss, run.last) == []


def test_the_prime_suspect_runs_first():
    run = Run(3, budget=3)
    run.start(0, 0, 1, 2)
    run.tell(WorkerLost(0, "killed by SIGKILL", prime=key(2)))
    assert of(Dispatch, run.tell(WorkerReady(1))) == [Dispatch(1, key(2, 2), 0)]


# Standing by


def test_a_worker_holds_as_many_as_it_has_in_flight_while_many_wait():
    run = Run(20, budget=3, workers=2, ready=2)
    assert [(each.worker, each.key.case) for each in run.last if each.standby] == [(0, 3), (0, 4), (1, 5)]


def test_none_stands_by_where_no_more_wait_than_may_be_in_flight():
    assert not any(each.standby for each in Run(6, budget=3, workers=2, ready=2).last)


@pytest.mark.parametrize("limits", [{"max_failures": 3}, {"file_caps": {0: 2}}])
def test_none_stands_by_where_each_start_needs_a_decision(limits):
    assert not any(each.standby for each in of(Dispatch, Run(20, budget=2, workers=1, **limits).last))


def test_none_stands_by_while_a_worker_is_starting():
    assert not any(each.standby for each in of(Dispatch, Run(20, budget=2, workers=2).last))


def test_what_stands_by_is_not_in_flight():
    assert Run(20, budget=3, workers=2, ready=2).scheduler.counts()[:3] == (17, 0, 3)


def test_what_took_the_place_of_another_is_in_flight_and_one_more_stands_by():
    run = Run(9)
    assert run.finish(0, 0, following=1) == [Accept(0, key(0), PASSED), Dispatch(0, key(2), 0, standby=True)]
    assert run.scheduler.counts()[:4] == (7, 0, 1, 1)
    assert verdicts(run.finish(0, 1, following=2)) == [(1, PASSED)]


def test_what_stands_by_gets_the_slot_that_became_free_before_it_came():
    run = Run(9)
    assert run.finish(0, 0) == [Accept(0, key(0), PASSED), Begin(0, key(1)), Dispatch(0, key(2), 0, standby=True)]


def test_a_slot_given_to_one_that_took_another_meanwhile_is_given_on():
    run = Run(9, budget=2)
    run.finish(0, 0)  # Begin(0, key(2)) is on its way
    assert of(Begin, run.finish(0, 1, following=2)) == [Begin(0, key(3))]
    assert run.scheduler.counts().in_flight == 2


def test_a_start_that_is_known_before_the_end_of_the_one_before_it_is_taken():
    run = Run(9)
    run.start(0, 0)
    run.start(0, 1)
    assert verdicts(run.finish(0, 0, following=1)) == [(0, PASSED)]
    assert run.scheduler.counts().in_flight == 1


def test_what_does_not_stand_by_cannot_take_a_place():
    run = Run(9)
    for stranger in (5, 20):
        with pytest.raises(IllegalFactError):
            run.finish(0, 0, following=stranger)
    assert verdicts(run.finish(0, 0, following=1)) == [(0, PASSED)]


def test_what_stood_by_in_a_lost_worker_waits_again_and_is_charged_nothing():
    run = Run(9, budget=2, workers=2, ready=2)
    run.start(0, 0)
    run.start(1, 1)
    decided = [*run.lose(0), *run.finish(1, 1, following=3), *run.tell(WorkerReady(2))]
    assert [command.key for command in of(Dispatch, decided) if command.key.case == 2] == [key(2)]


def test_a_stop_asks_for_what_stands_by_and_ends_when_it_is_back():
    run = Run(9)
    run.start(0, 0)
    assert run.tell(StopRequested("Ctrl-C")) == [AnnounceStop("Ctrl-C"), Withdraw(0)]
    assert verdicts(run.finish(0, 0)) == [(0, PASSED)]
    decided = run.tell(StandbyReturned(0, [key(1)]))
    assert verdicts(decided) == [(case, NOT_RUN) for case in range(1, 9)]
    assert decided[-1] == EndRun()


def test_what_took_a_place_before_it_heard_of_the_stop_may_finish():
    run = Run(9)
    run.start(0, 0)
    run.tell(StopRequested("Ctrl-C"))
    assert verdicts(run.finish(0, 0, following=1)) == [(0, PASSED)]
    assert verdicts(run.tell(StandbyReturned(0, []))) == []
    assert verdicts(run.finish(0, 1))[0] == (1, PASSED)


def test_what_took_a_place_before_it_heard_of_the_stop_of_all_is_cancelled():
    run = Run(9)
    run.start(0, 0)
    run.tell(StopNowRequested("Ctrl-C twice"))
    assert of(Cancel, run.finish(0, 0, following=1)) == [Cancel(0, key(1), NOT_RUN, "Ctrl-C twice")]


def test_what_stands_by_is_asked_back_for_an_idle_worker_when_none_waits_in_line():
    run = Run(7, budget=2, workers=2, ready=2)
    run.start(0, 0)
    run.start(1, 1)
    for case, following in ((1, 3), (3, None), (4, None), (5, None)):
        run.finish(1, case, following=following)
    assert of(Dispatch, run.last) == [Dispatch(1, key(6), 0)]
    assert run.finish(1, 6) == [Accept(1, key(6), PASSED), Withdraw(0)]
    assert run.tell(StandbyReturned(0, [key(2)])) == [Dispatch(1, key(2), 0)]


def test_what_stands_by_beside_one_that_is_overdue_is_asked_back():
    run = Run(9)
    run.start(0, 0)
    assert run.tell(Ticked(), at=10.0) == [Cancel(0, key(0), TIMEOUT, "timed out after 10 s"), Withdraw(0)]


def test_a_worker_gives_back_all_that_stands_by_or_lies():
    run = Run(9)
    with pytest.raises(IllegalFactError):
        run.tell(StandbyReturned(0, [key(1)]))
    run.tell(StopRequested("Ctrl-C"))
    for keys in ([], [key(2)], [key(1), key(2)]):
        with pytest.raises(IllegalFactError):
            run.tell(StandbyReturned(0, keys))


def test_a_worker_that_gives_nothing_back_in_time_is_killed():
    run = Run(9)
    run.start(0, 0)
    run.tell(StopRequested("Ctrl-C"))
    run.finish(0, 0)
    assert [type(command) for command in run.tell(Ticked(), at=run.scheduler.next_deadline())] == [Kill]
    assert verdicts(run.lose(0)) == [(case, NOT_RUN) for case in range(1, 9)]


# Facts that cannot be true, and facts that come late


@pytest.mark.parametrize(
    "fact",
    [
        WorkerReady(0),
        WorkerReady(9),
        WorkerLost(9, "exited with 1"),
        WorkerSpoiled(-1),
        AttemptStarted(0, key(1)),
        AttemptStarted(0, key(0, attempt=2)),
        AttemptStarted(1, key(0)),
        AttemptFinished(0, key(5), PASSED),
        AttemptFinished(1, key(0), PASSED),
        ClockPaused(-1.0),
    ],
)
def test_a_fact_that_cannot_be_true_is_refused_and_changes_nothing(fact):
    run = Run(3, budget=2, workers=2, ready=2)
    before = run.scheduler.counts(), run.scheduler.next_deadline()
    with pytest.raises(IllegalFactError):
        run.tell(fact)
    assert (run.scheduler.counts(), run.scheduler.next_deadline()) == before


def test_an_attempt_cannot_start_twice():
    run = Run(1)
    run.start(0, 0)
    with pytest.raises(IllegalFactError):
        run.start(0, 0)


def test_an_attempt_cannot_finish_twice():
    run = Run(2, budget=2)
    run.finish(0, 0)
    with pytest.raises(IllegalFactError):
        run.finish(0, 0)


@pytest.mark.parametrize(
    "fact",
    [
        WorkerReady(0),
        AttemptAnswered(0, key(0)),
        WorkerLost(0, "again"),
        AttemptStarted(0, key(0)),
        AttemptFinished(0, key(0), PASSED),
    ],
)
def test_what_a_lost_worker_still_says_is_ignored(fact):
    run = Run(2)
    run.lose(0)
    before = run.scheduler.counts()
    assert run.tell(fact) == []
    assert run.scheduler.counts() == before


def test_a_result_without_a_start_counts():
    assert verdicts(Run(1).finish(0, 0, Status.ERROR)) == [(0, Status.ERROR)]


# Deadlines


def test_nothing_is_due_before_a_case_has_started_but_its_start():
    run = Run(1, start_timeout_s=60.0)
    assert run.scheduler.next_deadline() == 60.0


def test_the_clock_of_an_attempt_starts_with_its_start():
    run = Run(1)
    run.now = 3.0
    run.start(0, 0)
    assert run.scheduler.next_deadline() == 13.0
    assert run.tell(Ticked(), at=12.9) == []


def test_an_attempt_without_a_timeout_has_no_deadline():
    run = Run(1, timeout_s=math.inf)
    run.start(0, 0)
    assert run.scheduler.next_deadline() is None


def test_a_deadline_cancels():
    run = Run(1)
    run.start(0, 0)
    assert run.tell(Ticked(), at=10.0) == [Cancel(0, key(0), TIMEOUT, "timed out after 10 s")]
    assert run.scheduler.next_deadline() == 12.0


def test_a_cancelled_attempt_that_ends_in_its_grace_gives_its_own_verdict():
    run = Run(1)
    run.start(0, 0)
    run.tell(Ticked(), at=10.0)
    assert verdicts(run.finish(0, 0, TIMEOUT)) == [(0, TIMEOUT)]


def test_a_result_that_crossed_the_cancel_counts_as_what_it_is():
    run = Run(1)
    run.start(0, 0)
    run.tell(Ticked(), at=10.0)
    assert verdicts(run.finish(0, 0, PASSED)) == [(0, PASSED)]


def test_an_attempt_that_does_not_yield_costs_its_worker():
    run = Run(1)
    run.start(0, 0)
    decided = run.overdue()
    assert decided[1:] == [Kill(0, "a case did not end within 2 s of its cancellation")]
    assert run.scheduler.counts().settled == 0
    assert verdicts(run.lose(0)) == [(0, TIMEOUT)]


def test_a_result_that_comes_before_the_kill_is_reported_counts():
    run = Run(1)
    run.start(0, 0)
    run.overdue()
    assert verdicts(run.finish(0, 0, PASSED)) == [(0, PASSED)]


def test_a_killed_worker_gets_nothing_more():
    run = Run(3, budget=2)
    run.start(0, 0)
    run.overdue()
    assert of(Dispatch, run.finish(0, 1)) == []


def test_bystanders_of_a_kill_wait_again_with_a_clock_of_their_own():
    run = Run(2, budget=2)
    run.start(0, 0)
    run.now = 5.0
    run.start(0, 1)
    run.overdue()
    run.tell(AttemptAnswered(0, key(0)))
    decided = run.lose(0)
    assert verdicts(decided) == [(0, TIMEOUT)]
    assert of(Requeue, decided) == [Requeue(key(1), "its worker was lost: killed by SIGSEGV")]
    assert of(Dispatch, run.tell(WorkerReady(1))) == [Dispatch(1, key(1, attempt=2), 0)]
    run.now = 20.0
    run.start(1, 1, attempt=2)
    assert run.scheduler.next_deadline() == 30.0


def test_the_overdue_of_a_silent_worker_run_again_alone_since_another_may_have_blocked_them():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    run.overdue()
    decided = run.lose(0)
    assert verdicts(decided) == []
    assert [command.alone for command in of(Requeue, decided)] == [True, True]
    assert of(Spawn, decided) == [Spawn(1, alone=True)]


def test_who_is_told_to_go_on_though_it_was_cancelled_has_timed_out_and_nobody_else():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    run.tell(Ticked(), at=10.0)
    run.tell(AttemptAnswered(0, key(1)), at=11.3)
    run.tell(Ticked(), at=12.0)
    decided = run.lose(0)
    assert verdicts(decided) == [(1, TIMEOUT)]
    assert [(command.key.case, command.alone) for command in of(Requeue, decided)] == [(0, True)]


def test_a_worker_that_speaks_of_others_late_in_the_grace_clears_nobody():
    run = Run(3, budget=3)
    run.start(0, 0, 1, 2)
    run.tell(Ticked(), at=10.0)
    run.finish(0, 2, TIMEOUT, at=11.9)
    run.tell(Ticked(), at=12.0)
    assert verdicts(run.lose(0)) == []


def test_who_is_proven_to_have_blocked_a_killed_worker_has_timed_out_and_the_others_wait_again():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    run.overdue()
    decided = run.lose(0, proven=key(1))
    assert verdicts(decided) == [(1, TIMEOUT)]
    assert [(command.key.case, command.alone) for command in of(Requeue, decided)] == [(0, False)]


def test_who_is_proven_to_have_blocked_others_before_its_own_deadline_gets_its_time_alone():
    run = Run(2, budget=2)
    run.start(0, 0)
    run.now = 5.0
    run.start(0, 1)
    run.overdue()
    decided = run.lose(0, proven=key(1))
    assert [(command.key.case, command.alone) for command in of(Requeue, decided)] == [(0, False), (1, True)]


def test_a_gap_of_the_coordinator_is_charged_to_nobody():
    run = Run(1)
    run.start(0, 0)
    run.tell(ClockPaused(60.0), at=61.0)
    assert run.scheduler.next_deadline() == 70.0
    assert run.tell(Ticked(), at=69.0) == []
    assert of(Cancel, run.tell(Ticked(), at=70.0)) != []


def test_a_new_case_goes_to_a_worker_that_is_cancelling_only_if_there_is_no_other():
    run = Run(4, budget=3, workers=2, ready=2)
    run.start(0, 0)
    run.now = 1.0
    run.start(1, 1)
    run.tell(Ticked(), at=10.0)
    assert of(Dispatch, run.finish(0, 2)) == [Dispatch(1, key(3), 0)]


def test_a_worker_that_is_not_ready_in_time_is_killed():
    run = Run(1, ready=0, start_timeout_s=60.0)
    assert run.tell(Ticked(), at=60.0) == [Kill(0, "was not ready within 60 s")]


def test_a_worker_that_starts_nothing_more_in_time_is_killed_too():
    run = Run(2, budget=2, start_timeout_s=60.0)
    run.start(0, 0)
    assert run.scheduler.next_deadline() == 10.0
    run.finish(0, 0, at=5.0)
    assert run.scheduler.next_deadline() == 65.0


def test_a_worker_that_starts_nothing_in_time_is_killed_and_its_case_waits_again():
    run = Run(1, start_timeout_s=60.0)
    assert run.tell(Ticked(), at=60.0) == [Kill(0, "did not start a case within 60 s")]
    assert of(Requeue, run.lose(0)) == [Requeue(key(0), "its worker was lost: killed by SIGSEGV")]


# Deaths


def test_the_only_started_case_of_a_dead_worker_has_crashed():
    run = Run(2)
    run.start(0, 0)
    assert run.lose(0) == [Settle(key(0), CRASHED, "the worker process died: killed by SIGSEGV", 0), Spawn(1)]


def test_a_lost_worker_is_not_replaced_without_work():
    run = Run(1)
    run.start(0, 0)
    assert run.lose(0)[1:] == [EndRun()]


def test_a_case_that_had_not_started_waits_again_unblamed():
    run = Run(2, budget=2)
    run.start(0, 0)
    decided = run.lose(0)
    assert verdicts(decided) == [(0, CRASHED)]
    assert of(Requeue, decided) == [Requeue(key(1), "its worker was lost: killed by SIGSEGV")]


def test_a_case_that_waits_again_stands_where_it_stood():
    run = Run(4, budget=2, workers=2, ready=2)
    run.start(1, 1)
    assert of(Dispatch, run.lose(0)) == [Dispatch(1, key(0, attempt=2), 0)]


def test_an_overdue_case_whose_worker_dies_by_itself_has_timed_out():
    run = Run(1)
    run.start(0, 0)
    run.tell(Ticked(), at=10.0)
    assert verdicts(run.lose(0)) == [(0, TIMEOUT)]


def test_of_several_started_cases_each_runs_again_alone():
    run = Run(3, budget=2)
    run.start(0, 0, 1)
    decided = run.lose(0)
    assert verdicts(decided) == []
    assert of(Spawn, decided) == [Spawn(1, alone=True)]
    assert run.tell(WorkerReady(1)) == [Dispatch(1, key(0, attempt=2), 0)]
    run.start(1, 0, attempt=2)
    assert run.finish(1, 0, attempt=2) == [Accept(1, key(0, attempt=2), PASSED), Release(1), Spawn(2, alone=True)]
    run.tell(WorkerReady(2))
    run.start(2, 1, attempt=2)
    assert verdicts(run.lose(2)) == [(1, CRASHED)]
    assert of(ReportLoss, run.last) == []
    assert of(Spawn, run.last) == [Spawn(3)]


def test_a_loss_whose_suspects_all_live_is_the_workers():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    run.lose(0)
    for worker, case in ((1, 0), (2, 1)):
        run.tell(WorkerReady(worker))
        run.start(worker, case, attempt=2)
        run.finish(worker, case, attempt=2)
    assert of(ReportLoss, run.last) == [ReportLoss(0, "killed by SIGSEGV", [key(0), key(1)])]
    assert run.last[-1] == EndRun()


def test_a_lone_case_beside_leftovers_of_earlier_ones_runs_again_alone():
    run = Run(2)
    run.start(0, 0)
    run.finish(0, 0, leftovers=1)
    run.start(0, 1)
    assert of(Requeue, run.lose(0)) == [Requeue(key(1), "its worker was lost: killed by SIGSEGV", alone=True)]


def test_leftovers_that_are_gone_again_excuse_nobody():
    run = Run(3)
    run.finish(0, 0, leftovers=1)
    run.finish(0, 1, leftovers=0)
    run.start(0, 2)
    assert verdicts(run.lose(0)) == [(2, CRASHED)]


def test_the_proven_one_is_blamed_and_the_others_wait_again_with_anyone():
    run = Run(3, budget=3)
    run.start(0, 0, 1)
    decided = run.lose(0, proven=key(1))
    assert verdicts(decided) == [(1, CRASHED)]
    assert [(command.key.case, command.alone) for command in of(Requeue, decided)] == [(0, False), (2, False)]


def test_a_proof_of_what_was_not_in_flight_proves_nothing():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    assert verdicts(run.lose(0, proven=key(7))) == []


def test_suspects_count_in_the_budget():
    run = Run(6, budget=4, workers=2, ready=2)
    run.start(0, 0, 2)
    run.start(1, 1, 3)
    decided = run.lose(0)
    assert of(Dispatch, decided) == [Dispatch(1, key(4), 0), Dispatch(1, key(5), 0)]
    assert run.tell(WorkerReady(2)) == []
    assert of(Dispatch, run.finish(1, 1)) == [Dispatch(2, key(0, attempt=2), 0)]


def test_suspects_keep_to_the_cap_of_their_file():
    run = Run(files=[0, 1, 2, 2, 0], budget=4, workers=2, ready=2, file_caps={0: 1})
    run.start(0, 0, 2)
    run.lose(0)
    assert of(Dispatch, run.last) == [Dispatch(1, key(4), 0)]
    run.tell(WorkerReady(2))
    assert [command.key.case for command in of(Dispatch, run.last)] == [2]


def test_a_case_present_at_two_losses_without_a_start_is_looked_at_alone_and_then_blamed():
    run = Run(1)
    run.lose(0)
    run.tell(WorkerReady(1))
    assert of(Requeue, run.lose(1)) == [Requeue(key(0, 2), "its worker was lost: killed by SIGSEGV", alone=True)]
    run.tell(WorkerReady(2))
    assert verdicts(run.lose(2)) == [(0, CRASHED)]


def test_a_case_that_alone_is_not_started_in_time_has_timed_out():
    run = Run(1, start_timeout_s=60.0)
    for worker in range(3):
        if worker:
            run.tell(WorkerReady(worker))
        run.tell(Ticked(), at=run.now + 60.0)
        run.lose(worker)
    assert of(Settle, run.last)[0].status is TIMEOUT
    assert "could not be started within 60 s" in of(Settle, run.last)[0].reason


def test_a_case_proven_to_block_its_own_worker_before_its_start_has_timed_out():
    run = Run(1, start_timeout_s=60.0)
    run.tell(Ticked(), at=60.0)
    assert of(Requeue, run.lose(0, proven=key(0)))[0].alone
    run.tell(WorkerReady(1))
    run.tell(Ticked(), at=120.0)
    assert verdicts(run.lose(1, proven=key(0, attempt=2))) == [(0, TIMEOUT)]


def test_workers_that_die_in_a_row_before_any_start_fail_the_engine():
    run = Run(2, ready=0)
    for worker in range(4):
        assert run.lose(worker) == [Spawn(worker + 1)]
        assert run.scheduler.deaths_in_a_row == worker + 1
    assert run.lose(4) == [
        FailEngine("5 workers in a row died before any case started"),
        Settle(key(0), NOT_RUN, "5 workers in a row died before any case started"),
        Settle(key(1), NOT_RUN, "5 workers in a row died before any case started"),
        EndRun(),
    ]


def test_a_start_ends_the_row_of_deaths():
    run = Run(3, budget=2, workers=2)
    run.lose(1)
    run.start(0, 0)
    assert run.scheduler.deaths_in_a_row == 0


def test_deaths_of_cases_never_fail_the_engine():
    run = Run(20)
    for case in range(19):
        run.start(case, case)
        run.lose(case)
        assert of(FailEngine, run.last) == []
        run.tell(WorkerReady(case + 1))
    assert run.scheduler.counts().verdicts[CRASHED] == 19


def test_a_row_of_deaths_does_not_fail_the_engine_while_a_case_is_running():
    run = Run(4, budget=2, workers=2, deaths_in_a_row=2)
    run.start(0, 0)
    run.lose(1)
    assert run.lose(2) == []
    run.finish(0, 0)
    assert of(FailEngine, run.last) == []
    assert of(Dispatch, run.last) != []


# Stopping


def test_a_stop_lets_what_runs_finish_and_then_settles_what_waits():
    run = Run(3, max_failures=9)
    run.start(0, 0)
    assert run.tell(StopRequested("Ctrl-C")) == [AnnounceStop("Ctrl-C")]
    assert run.finish(0, 0) == [
        Accept(0, key(0), PASSED),
        Release(0),
        Settle(key(1), NOT_RUN, "Ctrl-C"),
        Settle(key(2), NOT_RUN, "Ctrl-C"),
        EndRun(),
    ]


def test_a_second_stop_says_nothing_new():
    run = Run(1)
    run.tell(StopRequested("Ctrl-C"))
    assert run.tell(StopRequested("SIGTERM")) == []


def test_a_stop_now_cancels_what_is_in_flight():
    run = Run(3, budget=2)
    run.start(0, 0)
    assert run.tell(StopNowRequested("Ctrl-C")) == [
        AnnounceStop("Ctrl-C"),
        Cancel(0, key(0), NOT_RUN, "Ctrl-C"),
        Cancel(0, key(1), NOT_RUN, "Ctrl-C"),
    ]
    run.finish(0, 0, NOT_RUN)
    assert verdicts(run.finish(0, 1, NOT_RUN)) == [(1, NOT_RUN), (2, NOT_RUN)]


def test_a_stop_now_kills_what_does_not_yield():
    run = Run(1)
    run.start(0, 0)
    run.tell(StopNowRequested("Ctrl-C"))
    assert of(Kill, run.tell(Ticked(), at=2.0)) != []
    assert run.lose(0) == [Settle(key(0), NOT_RUN, "Ctrl-C", 0), EndRun()]


def test_an_attempt_that_started_before_it_read_the_cancel_may_still_finish():
    run = Run(1)
    run.tell(StopNowRequested("Ctrl-C"))
    assert run.start(0, 0) == []
    assert verdicts(run.finish(0, 0)) == [(0, PASSED)]


def test_an_attempt_is_not_cancelled_twice():
    run = Run(1)
    run.start(0, 0)
    run.tell(Ticked(), at=10.0)
    assert of(Cancel, run.tell(StopNowRequested("Ctrl-C"))) == []


def test_once_stopping_a_lost_bystander_is_not_run_again():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    run.tell(StopRequested("Ctrl-C"))
    assert verdicts(run.lose(0)) == [(0, NOT_RUN), (1, NOT_RUN)]


def test_once_stopping_an_overdue_suspect_has_timed_out():
    run = Run(2, budget=2)
    run.start(0, 0)
    run.now = 5.0
    run.start(0, 1)
    run.tell(StopRequested("Ctrl-C"))
    run.overdue()
    assert verdicts(run.lose(0)) == [(0, TIMEOUT), (1, NOT_RUN)]


def test_once_stopping_waiting_suspects_are_not_run_and_the_loss_is_the_workers():
    run = Run(2, budget=2)
    run.start(0, 0, 1)
    run.lose(0)
    run.tell(StopRequested("Ctrl-C"))
    assert verdicts(run.last) == [(0, NOT_RUN), (1, NOT_RUN)]
    assert of(ReportLoss, run.last) == [ReportLoss(0, "killed by SIGSEGV", [key(0), key(1)])]


def test_a_stop_before_the_start_is_the_end():
    scheduler = Scheduler([Task(0, 0, 0, 10.0)], Limits(budget=1, workers=1), ready_workers=[0])
    stopped = scheduler.handle(StopRequested("Ctrl-C"), 0.0)
    assert stopped[-2:] == [Settle(key(0), NOT_RUN, "Ctrl-C"), EndRun()]
    assert scheduler.start(0.0) == []


def test_a_stop_before_anything_is_ready_ends_the_run():
    run = Run(1, ready=0)
    assert run.tell(StopRequested("Ctrl-C")) == [
        AnnounceStop("Ctrl-C"),
        Release(0),
        Settle(key(0), NOT_RUN, "Ctrl-C"),
        EndRun(),
    ]


@pytest.mark.parametrize("status", [FAILED, Status.ERROR, TIMEOUT, CRASHED])
def test_max_failures_stops_the_run(status):
    run = Run(3, max_failures=1)
    decided = run.finish(0, 0, status)
    assert of(AnnounceStop, decided) == [AnnounceStop("stopped after 1 failure")]
    assert verdicts(decided) == [(0, status), (1, NOT_RUN), (2, NOT_RUN)]


def test_passes_and_skips_are_no_failures():
    run = Run(3, max_failures=1)
    run.finish(0, 0, PASSED)
    assert of(AnnounceStop, run.finish(0, 1, Status.SKIPPED)) == []


def test_the_last_failure_of_a_complete_run_stops_nothing():
    run = Run(1, max_failures=1)
    assert of(AnnounceStop, run.finish(0, 0, FAILED)) == []


@pytest.mark.parametrize("limits", [{"budget": 0}, {"workers": 0}, {"file_caps": {0: 0}}])
def test_limits_below_one_are_refused(limits):
    with pytest.raises(ValueError, match="at least 1"):
        Limits(**{"budget": 1, "workers": 1, **limits})


def test_workers_that_are_starting_already_are_waited_for_and_not_doubled():
    scheduler = Scheduler(
        [Task(case, 0, 0, 60.0) for case in range(4)],
        Limits(budget=4, workers=2),
        ready_workers=[1],
        starting_workers=[2],
        next_worker=3,
    )

    first = scheduler.start(0.0)
    then = scheduler.handle(WorkerReady(2), 1.0)

    assert not [command for command in [*first, *then] if isinstance(command, Spawn)]
    assert [command.worker for command in [*first, *then] if isinstance(command, Dispatch)] == [1, 1, 2, 2]


def test_a_worker_that_was_starting_already_must_be_ready_in_time_too():
    scheduler = Scheduler(
        [Task(0, 0, 0, 60.0)], Limits(budget=1, workers=1, start_timeout_s=5.0), starting_workers=[1], next_worker=2
    )
    scheduler.start(0.0)

    assert scheduler.next_deadline() == 5.0
    assert [type(command) for command in scheduler.handle(Ticked(), 5.0)] == [Kill]


@pytest.mark.parametrize("gap_s", [0.1, 1 / 3, 63.34757, 1e6 + 0.1])
@pytest.mark.parametrize("started_at", [0.0, 0.7, 1234.5678, 98765.4321])
def test_a_tick_at_the_deadline_is_never_too_early_whatever_was_paused(gap_s, started_at):
    scheduler = Scheduler([Task(0, 0, 0, 1.1)], Limits(budget=1, workers=1), ready_workers=[1])
    scheduler.start(started_at)
    scheduler.handle(AttemptStarted(1, RunKey(0)), started_at)
    scheduler.handle(ClockPaused(gap_s), started_at + gap_s)

    decided = scheduler.handle(Ticked(), scheduler.next_deadline())

    assert [type(command) for command in decided] == [Cancel]


# Whose time was over, and who is proven


def test_a_result_that_took_longer_than_its_limit_is_a_timeout():
    run = Run()
    run.start(0, 0)
    decided = run.tell(AttemptFinished(0, key(0), PASSED, took_s=11.0), at=9.0)

    assert of(Accept, decided) == [Accept(0, key(0), TIMEOUT, "timed out after 10 s")]


def test_who_was_robbed_of_its_time_runs_again_alone_and_its_worker_goes_on():
    run = Run(2)
    run.start(0, 0)
    run.tell(Ticked(), at=10.0)
    decided = run.tell(AttemptFinished(0, key(0), TIMEOUT, took_s=10.0, robbed_s=3.0), at=10.1)

    [requeue] = of(Requeue, decided)
    assert (requeue.key, requeue.alone) == (key(0), True)
    assert of(Dispatch, decided) == [Dispatch(0, key(1), 0)]
    assert run.scheduler.counts().suspects == 1


def test_a_pause_before_the_word_of_a_start_is_not_the_cases_time():
    run = Run()
    run.tell(ClockPaused(30.0), at=31.0)
    run.start(0, 0)
    decided = run.tell(AttemptFinished(0, key(0), PASSED, took_s=30.5), at=31.2)

    assert verdicts(decided) == [(0, PASSED)]


def test_a_pause_before_a_case_began_is_no_time_of_its_own():
    run = Run()
    run.tell(ClockPaused(30.0), at=31.0)
    run.start(0, 0)
    decided = run.tell(AttemptFinished(0, key(0), PASSED, took_s=11.0), at=50.0)

    assert verdicts(decided) == [(0, TIMEOUT)]


def test_a_death_that_an_attempt_which_is_over_is_proven_to_have_caused_is_nobodys_in_flight():
    run = Run(2)
    run.start(0, 0)
    run.finish(0, 0)
    run.start(0, 1)
    decided = run.lose(0, proven=key(0))

    assert verdicts(decided) == []
    assert [(command.key, command.alone) for command in of(Requeue, decided)] == [(key(1), False)]


def test_a_death_during_an_import_makes_a_suspect_of_the_case_that_ran():
    run = Run(2, budget=2)
    run.start(0, 0)
    decided = run.tell(WorkerLost(0, "exited with 1", is_importing=True))

    assert verdicts(decided) == []
    assert [(command.key, command.alone) for command in of(Requeue, decided)] == [(key(0), True), (key(1), False)]


def test_a_case_whose_import_keeps_killing_beside_a_running_one_is_looked_at_alone():
    run = Run(2, budget=2)
    run.start(0, 0)
    run.tell(WorkerLost(0, "exited with 1", is_importing=True))
    assert run.scheduler._ledger.unstarted_losses == {1: 1}
