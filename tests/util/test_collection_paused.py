"""Garbage collection is paused in a block, and left as it was after it."""

import gc

import pytest

from elmo_keras.util.collection_paused import collection_paused

MANY = 100_000  # objects, of which a collection begins after each 700


@pytest.fixture(autouse=True)
def nothing_is_kept_apart():
    """As in a program of its own."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def collections():
    """The generations that were searched."""
    found = []

    def note(phase, info):
        if phase == "start":
            found.append(info["generation"])

    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_nothing_is_searched_in_the_block_nor_because_of_it(collections):
    with collection_paused():
        kept = [[] for _ in range(MANY)]
        assert not gc.isenabled()
    assert collections == []
    assert gc.isenabled()
    young = [id(x) for x in gc.get_objects(0) + gc.get_objects(1)]
    assert not {id(x) for x in kept} & set(young)
    assert gc.get_freeze_count() == 0


def test_a_collector_is_left_as_it_was(request):
    with pytest.raises(ImportError), collection_paused():
        raise ImportError
    assert gc.isenabled()
    request.addfinalizer(gc.enable)
    request.addfinalizer(gc.unfreeze)
    gc.disable()
    gc.freeze()
    with collection_paused():
        pass
    assert not gc.isenabled()  # off stays off
    gc.enable()
    with collection_paused():
        pass
    assert gc.get_freeze_count() > 0  # what others keep apart stays so
