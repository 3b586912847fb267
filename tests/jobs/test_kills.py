"""Commands that are killed and interrupted go on where they were."""

import signal

import pytest

from tests.support import embedding_runs as runs

COMMANDS = {
    "embed": "embed {text} {output}.hdf5 --model {model} --tokens-at-once 300",
    "annotate": "annotate {text} {output}.jsonl --with en-pos",
    "search": "search {text} a --vectors {output}.npy --model {model} --tokens-at-once 300",
}

LINES = {"embed": 12_000, "annotate": 42_000, "search": 12_000}  # of some parts


@pytest.mark.journey
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("usual_handlers")
def test_a_killed_and_an_interrupted_command_resume(name, lite_file, tmp_path):
    pytest.importorskip("ai_edge_litert", reason="needs ai-edge-litert")
    text, model = tmp_path / "text", lite_file("float32")
    text.write_text("\n".join(runs.text_of(LINES[name], seed=1)))

    def arguments(output):
        words = COMMANDS[name].split()
        return [word.format(text=text, output=output, model=model) for word in words]

    runs.run_whole(*arguments(tmp_path / "whole"))
    [whole] = tmp_path.glob("whole.*")
    output = tmp_path / f"out{whole.suffix}"
    command, seen = arguments(tmp_path / "out"), [0]
    for sent, status in (signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130):
        with runs.start(*command) as process:
            runs.wait_for_parts(process, output, seen[-1] + 1)
            process.send_signal(sent)
            _, error = process.communicate()
        assert process.returncode == status, error
        seen.append(runs.n_parts(output))
    assert seen == sorted(set(seen)) and "The same command resumes" in error
    runs.run_whole(*command)
    assert output.read_bytes() == whole.read_bytes()
