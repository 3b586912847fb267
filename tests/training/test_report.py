"""What a run reports: perplexities, and what is allowed but hardly intended."""

import types
from pathlib import Path

import pytest

from elmo_keras.text.corpus import Corpus
from elmo_keras.training.options import Limits
from elmo_keras.training.perplexity import HeldOutPerplexity, Perplexity
from elmo_keras.training.progress import Progress
from elmo_keras.training.report import beginning, remarks, result

ZERO = [(0, 2.0, 2.0), (10, 9.0, 4.0), (20, 3.0, 11.0), (30, 2.0, 32.0)]
CARRIED = [(0, 2.0, 3.0), (10, 5.0, 4.0), (20, 6.0, 5.0), (30, 7.0, 8.0)]


@pytest.mark.parametrize(("chosen_by", "best"), [("zero", 2), ("carried", 1)])
def test_the_best_perplexity_leaves_out_the_one_before_training(chosen_by, best):
    progress = Progress(held_out=ZERO, held_out_carried=CARRIED, chosen_by=chosen_by)
    both = [
        HeldOutPerplexity(Perplexity(*z[1:]), Perplexity(*c[1:]))
        for z, c in zip(ZERO, CARRIED)
    ]
    assert progress.evaluations() == both
    assert progress.best_evaluation() == both[best]  # the lowest mean alone
    progress.held_out = ZERO[:1]
    assert progress.best_evaluation() is None


def test_evaluations_of_earlier_versions_lack_the_carried_perplexity():
    progress = Progress(held_out=ZERO, held_out_carried=CARRIED[2:])
    found = progress.evaluations()
    assert [result.carried is None for result in found] == [True, True, False, False]
    assert str(found[1]) == "forward 9.0, backward 4.0, mean 6.0"
    assert str(found[2]) == (
        "forward 3.0, backward 11.0, mean 5.7; "
        "state carried over: forward 6.0, backward 5.0, mean 5.5"
    )


@pytest.mark.parametrize(
    ("after", "verdict"),
    [(2.5, "fell to 1/4.0"), (10, "fell to 1/1.0"), (20, "rose to 2.0")],
)
def test_both_perplexities_are_compared(after, verdict):
    rows = [(0, 10.0, 10.0), (5, after, after)]
    lines = result(Progress(held_out=rows), finished=True).splitlines()
    assert lines[0].endswith("before training: forward 10.0, backward 10.0, mean 10.0")
    assert lines[1].startswith("Held-out perplexity after training:  forward ")
    assert lines[2] == f"The mean {verdict} of what it was"


def test_a_finished_run_names_every_limit_it_has_reached():
    progress, path = Progress(epoch=2, step=1234, not_better=1), Path("checkpoint-1234")
    assert beginning(progress, Limits(3), path) == (
        "Resuming from step 1,234, checkpoint-1234"
    )
    assert beginning(progress, Limits(2, n_steps=1000, patience=2), path) == (
        "Training is finished: checkpoint-1234 has reached --epochs 2 and --steps 1000. "
        "To continue, give a higher --epochs and --steps."
    )


def test_many_unknown_tokens_and_batches_larger_than_the_text_are_told():
    def of(unknown, n_rows):
        # With the sentence ends there are twelve predictions.
        text = Corpus.of([list("abc"), list("adefghi")])
        batches = types.SimpleNamespace(corpus=text, n_rows=n_rows, unroll_steps=4)
        return remarks(types.SimpleNamespace(unknown=unknown), batches)

    assert of(0.4, 3) == []
    (unknown,) = of(0.8, 3)
    assert unknown.startswith("Warning: 80% of the training text is <UNK>")
    (large,) = of(0.4, 4)
    assert large.startswith("Warning: a batch of 4 rows of 4 tokens is larger than")
    assert "12 tokens and sentence ends" in large and "--batch-size" in large
