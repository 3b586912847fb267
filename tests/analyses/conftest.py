"""What the tests of the analyses share."""

import pytest


@pytest.fixture
def model(model_directory):
    """The directory of a small model, as a command takes it."""
    return str(model_directory)


@pytest.fixture
def cells(capsys):
    """Gives the cells of each row of the tables that were printed since the last call."""

    def printed():
        lines = capsys.readouterr().out.splitlines()
        rows = [line.strip("| ").split("|") for line in lines if "|" in line]
        return [[cell.strip() for cell in row] for row in rows]

    return printed


@pytest.fixture
def error_of(capsys):
    """Runs a command that fails with status 2; gives its one line of standard error."""

    def run(main, arguments):
        capsys.readouterr()
        assert main([*map(str, arguments)]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        return error

    return run


@pytest.fixture
def conllu(tmp_path):
    """Writes sentences of (word, tag) as a file in ten columns."""

    def write(name, sentences):
        rows = [
            "\n".join(
                "\t".join([str(i), word, "_", tag, *"______"])
                for i, (word, tag) in enumerate(sentence, 1)
            )
            for sentence in sentences
        ]
        path = tmp_path / name
        path.write_text("\n\n".join(rows) + "\n\n", encoding="utf-8")
        return path

    return write
