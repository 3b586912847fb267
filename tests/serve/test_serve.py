"""The command that serves, and a server under load and with faulty clients."""

import itertools
import os
import shutil
import signal
import socket

import grpc
import pytest

from elmo_keras.serve import command as serving
from tests.support import stand_in
from tests.support.commands import command
from tests.support.processes import megabytes
from tests.support.serving_load import Load
from tests.support.waiting import PATIENCE, wait_until

Code = grpc.StatusCode


def load(port, *first, **kwargs):
    """Clients whose sentences have the words `first`, then words of their own."""

    def sentences(client):
        for i in itertools.count():
            yield [*first, "x" * (client + 1), *"y" * (i % 7 if i % 50 else 300)]

    def expected(sentence, version):
        return stand_in.vectors(sentence, scale_of(version))

    return Load(port, sentences, expected, **kwargs)


def scale_of(version):
    return 2 - version % 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empty"], "should hold a version"),
        (["nope"], "There is no "),
        (["model/1"], "It is itself a version: give"),
        (["model/1/saved_model.pb"], "should be a folder of versions or a .tflite"),
        (["model", "--model-config-file", "a"], "either OUT_DIR or --model-config"),
        (["model", "--max-batch-size=0"], "Must be"),
        (["empty", "--port", "TAKEN"], "--port TAKEN of --host 127.0.0.1: Address alr"),
        (["model", "--host", "no.such.host.invalid"], "--host no.such.host.invalid"),
    ],
)
def test_an_error_is_one_line_and_status_2(tmp_path, capsys, arguments, message):
    (tmp_path / "empty").mkdir()
    stand_in.save(tmp_path / "model")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        directory, *rest = [port if a == "TAKEN" else a for a in arguments]
        free = [f"--{p}=0" for p in ("port", "rest-port") if f"--{p}" not in rest]
        assert command("serve")([str(tmp_path / directory), *free, *rest]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message.replace("TAKEN", port) in error
    assert error.startswith("elmo-keras serve: ")


@pytest.mark.journey
def test_a_version_changes_under_load_without_a_lost_request(tmp_path):
    swaps, memory = int(os.environ.get("SWAPS", 2)), []
    between = int(os.environ.get("REQUESTS", 150)) // (swaps + 1)
    versions = range(1, swaps + 2)
    directory = stand_in.save(tmp_path, 1, scale=1)
    with (
        stand_in.serving(directory, poll_seconds=0.05) as server,
        load(server.port, "w") as clients,
    ):
        for version in versions[1:]:
            clients.wait_for(between)
            memory.append(megabytes(os.getpid()))
            stand_in.save(tmp_path / "new", version, scale=scale_of(version))
            os.rename(tmp_path / f"new/{version}", directory / str(version))
            wait_until(lambda v=version: clients.answers[v])
            shutil.rmtree(directory / str(version - 1))
        clients.wait_for(between)
    print(
        clients.answers.total(), "answers, at most", max(clients.seconds), "s", memory
    )
    assert not clients.wrong and not clients.refusals
    assert set(clients.answers) == set(versions)


@pytest.mark.journey
def test_accepted_requests_are_answered_after_sigterm(tmp_path):
    stand_in.save(tmp_path)
    grace = f"--grace-seconds={PATIENCE}"
    with stand_in.serving_process(tmp_path, grace) as (process, line, port):
        assert line.startswith("Serving version 1 of elmo on 127.0.0.1")
        with load(port, *["slow"] * 20, until_refused=True) as clients:
            clients.wait_for(30)
            process.send_signal(signal.SIGTERM)
            clients.join()
        assert process.wait(PATIENCE) == 0
        assert "Traceback" not in process.stderr.read()
    assert not clients.wrong
    assert set(clients.refusals) == {Code.UNAVAILABLE}


@pytest.mark.journey  # a model is exported
def test_a_name_or_a_model_is_exported_once_and_served(
    model_directory, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(serving, "BOX", model_directory.parent)
    monkeypatch.setenv("ELMO_KERAS_CACHE", str(tmp_path))
    served = []
    monkeypatch.setattr(serving, "run_server", lambda models, _: served.extend(models))
    monkeypatch.chdir(tmp_path)
    for model in model_directory.name, model_directory:
        assert command("serve")([model]) == 0
    first, second = served
    assert first.directory == second.directory and (first.directory / "1").is_dir()
    assert capsys.readouterr().err.count("Exporting lm, once.") == 1
