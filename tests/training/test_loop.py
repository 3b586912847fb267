"""The loop of training: when it ends and what it keeps."""

from elmo_keras.training.loop import fit
from elmo_keras.training.options import Limits
from elmo_keras.training.perplexity import Perplexity
from tests.support.training_runs import ReusedRun


def trained(reused: ReusedRun, folder, limits, results):
    """The progress after training with these results of evaluations, and what was kept."""
    results, kept = iter(results), []
    reused.begin(folder)

    def evaluate():
        return Perplexity(*[next(results)] * 2)

    with reused.compiled_once():
        fit(
            reused.run,
            folder,
            limits,
            evaluate=evaluate,
            keep=lambda: kept.append(reused.run.progress.step),
        )
    return reused.run.progress, kept


def test_training_ends_when_the_perplexity_stops_falling(reused, tmp_path):
    limits = Limits(n_epochs=50, patience=2, evaluate_every=2)
    progress, kept = trained(reused, tmp_path, limits, [9.0, 8.0, 8.5, 8.0, 1.0])
    assert (progress.step, progress.best, progress.not_better) == (8, 8.0, 2)
    assert kept == [2, 4]


def test_every_epoch_ends_with_an_evaluation(reused, tmp_path):
    limits = Limits(n_epochs=2)
    progress, kept = trained(reused, tmp_path, limits, [3.0, 2.0])
    n_steps = [reused.run.streams.n_steps(epoch) for epoch in range(2)]
    assert progress.step == sum(n_steps) and progress.epoch == 2
    assert kept == [n_steps[0], sum(n_steps)]
    n_predictions = reused.inputs.train.n_predictions
    assert [row[0] for row in progress.held_out] == [n_predictions, 2 * n_predictions]
