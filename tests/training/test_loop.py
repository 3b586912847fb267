"""The loop of training: when it ends and what it keeps."""

from elmo_keras.training.held_out import HeldOutPerplexity
from elmo_keras.training.loop import fit
from elmo_keras.training.options import Limits
from elmo_keras.training.perplexity import Perplexity
from tests.support.training_runs import ReusedRun


def trained(reused: ReusedRun, folder, limits, results, chosen_by="zero"):
    """Trains with these results of evaluations, from the zero state and carried over.

    Returns the progress, and the steps after which the model was kept.
    """
    results, kept = iter(results), []
    reused.begin(folder)
    reused.run.progress.chosen_by = chosen_by

    def evaluate():
        zero, carried = next(results)
        return HeldOutPerplexity(Perplexity(zero, zero), Perplexity(carried, carried))

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
    results = [(9.0, 1.0), (8.0, 2.0), (8.5, 0.5), (8.0, 0.5), (1.0, 1.0)]
    progress, kept = trained(reused, tmp_path, limits, results)
    assert (progress.step, progress.best, progress.not_better) == (8, 8.0, 2)
    assert kept == [2, 4]
    assert [row[1] for row in progress.held_out] == [9.0, 8.0, 8.5, 8.0]
    assert [row[1] for row in progress.held_out_carried] == [1.0, 2.0, 0.5, 0.5]


def test_the_published_procedure_is_judged_with_the_state_carried_over(
    reused, tmp_path
):
    limits = Limits(n_epochs=50, patience=1, evaluate_every=2)
    results = [(9.0, 5.0), (8.0, 6.0), (7.0, 1.0)]
    progress, kept = trained(reused, tmp_path, limits, results, chosen_by="carried")
    assert (progress.step, progress.best, progress.not_better) == (4, 5.0, 1)
    assert kept == [2]


def test_every_epoch_ends_with_an_evaluation(reused, tmp_path):
    limits = Limits(n_epochs=2)
    progress, kept = trained(reused, tmp_path, limits, [(3.0, 3.0), (2.0, 2.0)])
    n_steps = [reused.run.streams.n_steps(epoch) for epoch in range(2)]
    assert progress.step == sum(n_steps) and progress.epoch == 2
    assert kept == [n_steps[0], sum(n_steps)]
    n_predictions = reused.inputs.train.n_predictions
    assert [row[0] for row in progress.held_out] == [n_predictions, 2 * n_predictions]
