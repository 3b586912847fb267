"""The frame of commands: one line for an error, and an exit status."""

import errno

import pytest

from elmo_keras.cli.command import CommandFailed, command_parser, run_command


def raising(error):
    def work():
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (ValueError("bad\n  value"), 2, "bad value"),
        (FileNotFoundError("There is no x."), 2, "There is no x."),
        (ImportError("needs y"), 2, "needs y"),
        (OSError(errno.ENOSPC, "No space left"), 1, "[Errno 28] No space left"),
        (CommandFailed("a worker is gone"), 1, "a worker is gone"),
        (FloatingPointError("not finite"), 1, "not finite"),
        (KeyboardInterrupt(), 130, "Interrupted."),
    ],
)
def test_an_error_is_one_line_on_standard_error_and_a_status(
    error, status, line, capsys
):
    assert run_command("prog", raising(error)) == status
    shown = capsys.readouterr()
    assert shown.err == f"prog: {line}\n" and shown.out == ""


def test_an_error_of_the_program_itself_is_not_hidden():
    with pytest.raises(TypeError):
        run_command("prog", raising(TypeError()))


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (130, 130)])
def test_the_status_is_the_one_of_the_work(returned, status, capsys):
    assert run_command("prog", lambda: returned) == status
    assert capsys.readouterr().err == ""


def test_a_command_chooses_its_message_after_ctrl_c(capsys):
    run_command("prog", raising(KeyboardInterrupt()), "Interrupted. Resumes.")
    assert capsys.readouterr().err == "prog: Interrupted. Resumes.\n"


def test_help_shows_the_description_with_its_line_breaks(capsys):
    parser = command_parser("package.name", "One.\n\n    python -m x\n")
    with pytest.raises(SystemExit, match="0"):
        parser.parse_args(["--help"])
    shown = capsys.readouterr().out
    assert "usage: python -m package.name" in shown
    assert "One.\n\n    python -m x\n" in shown
