"""The commands `annotate` and `ask`."""

import contextlib
import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmo_keras.pipelines import formats
from elmo_keras.pipelines.pipeline import (
    AnswerPipeline,
    Pipeline,
    SentencePipeline,
    analyze,
    find_head,
    pipeline,
)
from elmo_keras.pipelines.texts import Text, read_text
from elmo_keras.text.files import lines_of
from elmo_keras.text.length_batches import chunks
from elmo_keras.util.arguments import Count
from elmo_keras.util.command import INTERRUPTED, fail, stopping
from elmo_keras.util.files import (
    LOCK,
    check_same_run,
    file_digest,
    file_stamp,
    only_process,
    replacing,
)
from elmo_keras.util.outputs import check_apart, check_file
from elmo_keras.util.progress import Progress

BYTES_AT_ONCE = 2**16  # of text between two states that are kept
STATE, TEXT = "state.json", "text"
Names = Annotated[list[str], Parameter(name="--with", consume_multiple=True)]


def annotate(
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Path | None = None,
    /,
    *,
    pipelines: Names,
    overwrite: bool = False,
) -> int:
    """Labels the words, entities, roles or lines of a text file.

    TEXT holds a text or a paragraph a line, plain or gzipped; `-` is standard input.
    OUT.conllu is CoNLL-U, OUT.jsonl has the results of each line, OUT.html shows
    entities in colours; without OUT, the sentences are printed, and a table of the
    entities. After an interruption the same command resumes.

        elmo-keras annotate text.txt --with en-ner
        elmo-keras annotate text.txt text.conllu --with en-pos en-ner en-srl

    Args:
        text: TEXT
        output: ….conllu, ….jsonl or ….html
        pipelines: names of the package, folders of heads, .keras files, or hf://OWNER/NAME
        overwrite: replace an earlier output as soon as the new one is finished
    """
    source = Path("/dev/stdin" if text == "-" else text)
    source.stat()
    if not pipelines or len({*pipelines}) < len(pipelines):
        raise ValueError(f"--with should name different pipelines: {pipelines}")
    is_file, suffix = source.is_file(), None
    if output is not None:
        suffix = formats.check_suffix(output)
        check_apart([output, unfinished_folder(output)], [source])
        check_file(output)
        if output.exists() and not overwrite:
            raise ValueError(f"{output} exists. Give another name, or --overwrite.")
    loaded = _load(pipelines, suffix)
    with source.open("rb") as file:
        lines = (line.decode().rstrip("\r\n") for line in lines_of(file, source))
        if output is None:
            # What is typed is answered line by line.
            parts = ([line] for line in lines) if os.isatty(file.fileno()) else [lines]
            try:
                return _print(parts, loaded)
            except KeyboardInterrupt:
                return INTERRUPTED
        metadata = {
            "text": file_stamp(source) if is_file else None,
            "pipelines": [*pipelines],
            "heads": [_fingerprint(name) for name in pipelines],
            "suffix": suffix,
        }
        with (
            stopping() as stop,
            Unfinished(
                output, metadata, overwrite=overwrite, resume=is_file
            ) as unfinished,
        ):
            finished = _write(lines, loaded, unfinished, suffix, stop)
    if finished:
        print(f"The annotated text is in {output}")
        return 0
    message = "Interrupted. The same command resumes."
    if not is_file:
        message = "Interrupted. The same command starts anew, as a pipe is read once."
    return fail("elmo-keras annotate", INTERRUPTED, message)


def _load(names: list[str], suffix: str | None) -> list[Pipeline]:
    loaded = []
    for name in names:
        one = pipeline(name)
        if not isinstance(one, Pipeline):
            raise ValueError(
                f"{name} takes two texts. `elmo-keras ask` asks questions."
            )
        if suffix != ".jsonl" and one.type == "texts":
            raise ValueError(
                f"{name} labels whole texts. Give an OUT that ends in .jsonl."
            )
        loaded.append(one)
    if suffix != ".jsonl" and len({one.type for one in loaded}) < len(loaded):
        raise ValueError(
            "--with should name one pipeline for words, one for entities and one for "
            "roles. For several of a type, give an OUT that ends in .jsonl."
        )
    return loaded


def _fingerprint(name):
    if Path(name).is_file():
        return file_digest(Path(name))
    return "".join(file_digest(f) for f in sorted(find_head(name).rglob("head.*")))


def _annotate(lines, pipelines) -> Iterator[list[tuple[Text, list]]]:
    """Chunks of texts, each with the analyses of every pipeline."""
    of_sentences = [p for p in pipelines if isinstance(p, SentencePipeline)]
    results = analyze(of_sentences, (read_text(0, line) for line in lines))
    for batch in chunks(results, BYTES_AT_ONCE, lambda pair: len(pair[0].source) + 1):
        texts = [text for text, _ in batch]
        for one in of_sentences:
            one.check_script(texts)
        columns = dict(zip(of_sentences, zip(*(analyses for _, analyses in batch))))
        columns |= {p: p.results(texts) for p in pipelines if p not in columns}
        yield [
            (text, [columns[p][i] for p in pipelines]) for i, text in enumerate(texts)
        ]


def _print(parts, pipelines) -> int:
    color, spans = sys.stdout.isatty(), []
    annotated = (_annotate(lines, pipelines) for lines in parts)
    for batch in itertools.chain.from_iterable(annotated):
        for text, analyses in batch:
            print(formats.terminal(text, pipelines, analyses, color=color), end="")
            for one, analysis in zip(pipelines, analyses):
                if one.type == "entities":
                    spans += one.result(text, analysis)
    if spans:
        print(f"\n{formats.table(spans)}", end="")
    return 0


def _write(lines, pipelines, unfinished, suffix, stop) -> bool:
    write = formats.FORMATS[suffix]
    if suffix == ".html" and not unfinished.size:
        unfinished.add(formats.html_head(unfinished.output.stem), 0)
    next(itertools.islice(lines, unfinished.lines, unfinished.lines), None)
    with Progress() as bar:
        for batch in _annotate(lines, pipelines):
            content = "".join(
                write(text, pipelines, analyses) for text, analyses in batch
            )
            unfinished.add(content, len(batch))
            bar.add(sum(len(s) for text, _ in batch for s in text.sentences))
            if stop.is_set():
                return False
    unfinished.finish()
    return True


def unfinished_folder(output: Path) -> Path:
    return output.with_name(f"{output.name}.unfinished")


class Unfinished:
    """A text file that grows in the folder `OUT.unfinished`, and survives a kill.

    Attributes:
        lines: how many lines of the input are done.
        size: how many bytes of the output.
    """

    def __init__(
        self,
        output: Path,
        metadata: dict[str, Any],
        *,
        overwrite: bool = False,
        resume: bool = True,
    ):
        self.output, self.folder = output, unfinished_folder(output)
        self._metadata, self._overwrite, self._resume = metadata, overwrite, resume
        self._stack, self.lines, self.size = contextlib.ExitStack(), 0, 0

    def __enter__(self) -> "Unfinished":
        refusal = f"Another process writes {self.output}. Wait for it."
        self._stack.enter_context(only_process(self.folder, refusal))
        path = self.folder / TEXT
        path.touch()
        if self._resume:
            self._read_state()
        if path.stat().st_size < self.size:  # the state is that of a finished file
            self.lines = self.size = 0
        self._file = self._stack.enter_context(path.open("r+b"))
        self._file.truncate(self.size)
        self._file.seek(self.size)
        return self

    def _read_state(self):
        try:
            state = dict(json.loads((self.folder / STATE).read_text(encoding="utf-8")))
            lines, size = int(state.pop("lines")), int(state.pop("size"))
        except (OSError, ValueError, KeyError, TypeError):
            return  # there is none
        advice = "Give the earlier arguments to resume, or --overwrite to start anew."
        if not self._overwrite:
            check_same_run(self._metadata, state, self.folder, advice)
        if state == self._metadata:
            self.lines, self.size = lines, size

    def __exit__(self, *_) -> None:
        self._stack.close()
        if not (self.folder / TEXT).exists():
            for name in STATE, LOCK:
                (self.folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # files of others stay
                self.folder.rmdir()

    def add(self, content: str, n_lines: int) -> None:
        """Writes the results of the next lines; from now on they are not lost."""
        self._file.write(content.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        self.lines, self.size = self.lines + n_lines, self._file.tell()
        state = self._metadata | {"lines": self.lines, "size": self.size}
        with replacing(self.folder / STATE) as path:
            path.write_text(json.dumps(state), encoding="utf-8")

    def finish(self) -> None:
        os.replace(self.folder / TEXT, self.output)


def ask(
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],
    questions: Annotated[list[str], Parameter(consume_multiple=True)],
    /,
    *,
    model: str = "en-qa",
    answers: Count = 1,
) -> None:
    """Answers questions with pieces of a text file.

    TEXT is plain or gzipped; `-` is standard input. Each answer is printed with its
    probability and its sentence.

        elmo-keras ask text.txt "Who wrote it?" "When was it written?"

    Args:
        text: TEXT
        questions: one or more
        model: a name of the package, the folder of a head, a .keras file, or hf://OWNER/NAME
        answers: how many answers to print to each question, of different parts of the text
    """
    source = Path("/dev/stdin" if text == "-" else text)
    with source.open("rb") as file:
        context = b"".join(lines_of(file, source)).decode()
    loaded = pipeline(model)
    if not isinstance(loaded, AnswerPipeline):
        raise ValueError(f"{model} answers no questions. Give a model that does.")
    read = read_text(0, context)
    for question in questions:
        print(formats.printable(question))
        for best in loaded.best(context, question, answers):
            if not best["text"]:
                print("  no answer")
                continue
            sentence = next(
                context[spans[0][0] : spans[-1][1]]
                for spans in read.spans
                if spans[-1][1] > best["start"]
            )
            answer = formats.printable(best["text"])
            print(f"  {answer} ({best['score']:.2f}): {formats.printable(sentence)}")
