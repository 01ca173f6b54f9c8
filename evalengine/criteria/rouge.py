"""ROUGE of two texts: ROUGE-1 by the ``rouge-score`` package, over words of every script and without a stemmer.

ROUGE-L (Lin, 2004) is the longest common subsequence over each side's words; it is computed here, since the
package's table of it is quadratic in memory. The package is imported on first use: it brings numpy.
"""

import os
import sys
import threading
from typing import Any, NamedTuple

from evalengine.criteria.sequences import common_subsequence
from evalengine.criteria.tokens import fold, tokens

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


class Rouge(NamedTuple):
    """Precision, recall and F1 of ROUGE-1, and F1 of ROUGE-L; each in [0, 1]."""

    precision: float
    recall: float
    f1: float
    rouge_l: float


class _Words:
    """The tokenizer that ``rouge-score`` is handed: words that are cut already."""

    def tokenize(self, text: list[str]) -> list[str]:
        return text


class _Package:
    """The scorer of ``rouge-score``, imported once, by whichever thread comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scorer: Any = None

    def scorer(self) -> Any:
        with self._lock:
            if self._scorer is None:
                self._scorer = _import_scorer()
            return self._scorer


_package = _Package()


def _import_scorer() -> Any:
    """Import the package without letting numpy start a pool of threads in a worker."""
    unset = _BLAS_THREADS not in os.environ
    if unset:
        os.environ[_BLAS_THREADS] = "1"
    try:
        from rouge_score.rouge_scorer import RougeScorer
    finally:
        if unset:
            os.environ.pop(_BLAS_THREADS, None)
    return RougeScorer(["rouge1"], use_stemmer=False, tokenizer=_Words())


def is_loaded() -> bool:
    """Whether ``rouge-score`` has been imported in this process."""
    return "rouge_score.rouge_scorer" in sys.modules


def warm() -> None:
    """Import ``rouge-score`` now."""
    _package.scorer()


def rouge(expected: str, response: str) -> Rouge:
    """Compare two texts; where the expected one has no words, by whether they are the same."""
    wanted, said = tokens(expected), tokens(response)
    if not wanted:
        same = float(fold(expected) == fold(response))
        return Rouge(same, same, same, same)
    score = _package.scorer().score(wanted, said)["rouge1"]
    common = common_subsequence(wanted, said)
    rouge_l = 2 * common / (len(wanted) + len(said))
    return Rouge(float(score.precision), float(score.recall), float(score.fmeasure), rouge_l)
