"""What the fork server imports besides, where eval files mention ROUGE: half a second once, not once a worker."""

import contextlib

from evalengine.engine.preload import in_fork_server, require_one_thread


def _import_rouge() -> None:
    from evalengine.criteria.rouge import warm

    warm()


if in_fork_server():
    # A worker imports it again where it is needed, and says what is wrong.
    with contextlib.suppress(BaseException):
        _import_rouge()
    require_one_thread()
