"""Workers that end are replaced, and every piece is done."""

import importlib

import pytest

from elmo_keras.embed.text_rows import Piece
from elmo_keras.util.command import CommandFailed
from tests.support.stand_in_ray import NODE

PIECES = [Piece(number, 10 * number, [b"a"] * 10) for number in range(9)]


class Worker:
    """Returns the piece; the worker in which this error is set raises it."""

    def __init__(self, error=None):
        self.error = error

    def identity(self):
        return {"model": "abc"}

    def write(self, piece):
        if self.error:
            raise self.error
        return piece.number


def results(ray, workers=(), pieces=PIECES, stop=lambda: False):
    """What a pool of three workers yields; the first ones are given."""
    module = importlib.import_module("elmo_keras.embed.on_ray.worker_pool")
    given = iter(workers)
    start = ray.remote()(lambda: next(given, None) or Worker()).remote
    return module.results(start, 3, lambda _: iter(pieces), stop)


def n_alive(ray):
    return sum(actor.alive for actor in ray.actors)


def test_each_piece_is_done_once_by_workers_that_have_read_the_model(ray):
    assert sorted(results(ray)) == list(range(9))
    names = [task.name for task in ray.tasks]
    assert names.count("write") == 9 and names.count("identity") == 3
    assert len({task.actor for task in ray.tasks if task.name == "write"}) == 3


@pytest.mark.parametrize("every", [3, 5])
def test_workers_that_end_are_replaced_and_no_piece_is_lost(ray, every):
    ray.ends = lambda _: len(ray.tasks) % every == 1
    assert sorted(results(ray)) == list(range(9))
    assert len(ray.actors) > 3


@pytest.mark.parametrize("n_losses", [1, 5])
def test_the_last_piece_is_done_though_its_workers_end(ray, n_losses):
    lost = []

    def ends(task):
        last = task.name == "write" and task.given[0].number == 8
        return last and len(lost) < n_losses and not lost.append(task)

    ray.ends = ends
    assert sorted(results(ray)) == list(range(9)) and len(lost) == n_losses


@pytest.mark.parametrize(
    ("name", "numbers", "message", "alive"),
    [
        # Those that are free; their handles end with the pool.
        ("write", [4], "6 workers .* sentences 40 to 49. Is", 2),
        ("identity", [None], "6 workers ended while they read the model", 0),
    ],
)
def test_what_ends_every_worker_is_named(ray, name, numbers, message, alive):
    def ends(task):
        number = task.given[0].number if task.given else None
        return task.name == name and number in numbers

    ray.ends = ends
    with pytest.raises(CommandFailed, match=message):
        list(results(ray))
    assert n_alive(ray) == alive


def test_an_error_of_a_worker_is_raised_after_the_pieces_in_work(ray):
    full = OSError(28, "No space left on device", "part")
    found = []
    with pytest.raises(OSError, match="No space left on device") as raised:
        found.extend(results(ray, [Worker(), Worker(full)]))
    assert raised.value.errno == 28
    done = [task for task in ray.tasks if task.name == "write"]
    assert len(done) >= 2 and len(done) < 9


def test_an_error_names_the_machine_if_there_are_several(ray):
    ray.nodes_alive = [NODE, NODE]
    missing = FileNotFoundError("There is no model.")
    with pytest.raises(FileNotFoundError, match=r"no model\. \(on the worker at 10"):
        list(results(ray, [Worker(missing)]))


def test_a_stop_ends_the_work(ray):
    answers = iter([False] * 5)
    found = list(results(ray, stop=lambda: next(answers, True)))
    assert len(found) < 9
    assert n_alive(ray) < 3


def test_a_long_wait_for_the_first_worker_is_said_once(ray, monkeypatch, capsys):
    module = importlib.import_module("elmo_keras.embed.on_ray.worker_pool")
    monkeypatch.setattr(module, "PATIENCE", -1)
    assert len(list(results(ray))) == 9
    assert capsys.readouterr().err.count("Waiting for the first of 3 workers") == 1


def test_without_pieces_nothing_is_waited_for(ray):
    assert list(results(ray, pieces=[])) == []
