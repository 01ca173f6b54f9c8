"""ROUGE: the package's numbers, over words of every script."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from evalengine.criteria.rouge import rouge

WORDS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "a", "mat"]), max_size=12).map(" ".join)


@given(WORDS.filter(bool), WORDS)
def test_english_scores_are_those_of_the_packages_own_tokenizer(expected, response):
    scores = RougeScorer(["rouge1", "rougeL"], use_stemmer=False).score(expected, response)
    found = rouge(expected, response)
    assert found.f1 == pytest.approx(scores["rouge1"].fmeasure)
    assert found.precision == pytest.approx(scores["rouge1"].precision)
    assert found.recall == pytest.approx(scores["rouge1"].recall)
    assert found.rouge_l == pytest.approx(scores["rougeL"].fmeasure)


@pytest.mark.parametrize("text", ["Погода в Лондоне", "東京は晴れです", "नमस्ते दुनिया", "สวัสดีชาวโลก", "مرحبا", "👍"])
def test_identical_texts_of_any_script_score_one(text):
    assert rouge(text, text) == (1.0, 1.0, 1.0, 1.0)


def test_word_endings_are_not_stemmed():
    assert rouge("running", "run").f1 == 0.0


def test_texts_without_words_that_differ_score_zero():
    assert rouge("👍", "👎").f1 == 0.0
    assert rouge("cat", "").f1 == 0.0


@pytest.mark.parametrize("before", [None, "4"])
def test_the_import_leaves_the_environment_as_it_was(before):
    code = "import os; from evalengine.criteria.rouge import rouge, is_loaded; assert not is_loaded()\n"
    code += "rouge('a', 'a'); assert is_loaded(); print(os.environ.get('OPENBLAS_NUM_THREADS'))"
    environ = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if before is not None:
        environ["OPENBLAS_NUM_THREADS"] = before
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(before)
