"""The commands `annotate` and `ask`."""

import contextlib
import hashlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmo_keras.base.files import file_digest, on_disk
from elmo_keras.base.messages import printable
from elmo_keras.base.progress import Progress
from elmo_keras.commands.arguments import Count, Words
from elmo_keras.commands.command import INTERRUPTED, stopping
from elmo_keras.embed.outputs import check_output
from elmo_keras.heads.annotate import formats
from elmo_keras.heads.answering.pipeline import AnswerPipeline
from elmo_keras.heads.find import find_head
from elmo_keras.heads.pipeline import predict_texts
from elmo_keras.heads.start import load_pipeline
from elmo_keras.heads.texts import Text, read_text
from elmo_keras.jobs.parts import Parts
from elmo_keras.text.files import lines_of, open_text
from elmo_keras.text.length_batches import chunks
from elmo_keras.text.scripts import N_SAMPLED, package_model_of

PART_BYTES = 2**18  # of text in a part; a run that is killed loses one part
Names = Annotated[list[str], Parameter(name="--with", consume_multiple=True)]


def annotate(
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Path | None = None,
    /,
    *,
    pipelines: Names | None = None,
    overwrite: bool = False,
) -> int:
    """Labels the words, syntax, entities, roles or lines of a text file.

    TEXT holds a text or a paragraph a line, plain or gzipped, with an empty line before
    another document; `-` is standard input, and words in quotes are a text. OUT.conllu
    is CoNLL-U, OUT.jsonl has the results of each line, OUT.html shows entities in colours
    and arcs between words; without OUT, the sentences are printed, and a table of the
    entities. After an interruption the same command resumes.

        elmo-keras annotate "Ann Lee met Bob in Paris."
        elmo-keras annotate text.txt --with en-ner
        elmo-keras annotate text.txt text.conllu --with en-ud en-ner en-srl

    Args:
        text: TEXT
        output: ….conllu, ….jsonl or ….html
        pipelines: of en-ud, en-pos, en-ner, en-srl, en-coref, ko-ud, ko-pos, ko-ner,
            ko-sentiment; folders of heads, .keras files, hf://OWNER/NAME. Without --with,
            -pos and -ner of the text's language
        overwrite: replace an earlier output as soon as the new one is finished
    """
    with open_text(text, may_be_quoted=output is None) as file:
        lines = lines_of(file, text)
        if pipelines is None:
            is_piped = text == "-"
            language, lines = package_model_of(lines, 1 if is_piped else N_SAMPLED)
            pipelines = [f"{language}-pos", f"{language}-ner"]
        pipelines = [*itertools.chain(*(name.split(",") for name in pipelines))]
        if not all(pipelines) or len({*pipelines}) < max(len(pipelines), 1):
            raise ValueError(
                f"--with should name different pipelines, such as en-pos. Received: "
                f"{' '.join(pipelines) or 'none'}"
            )
        suffix = "" if output is None else output.suffix.lower()
        if output is not None:
            inputs, suffixes = [Path(text)], tuple(formats.FORMATS)
            check_output(output, inputs, suffixes=suffixes, overwrite=overwrite)
        loaded = [*map(load_pipeline, pipelines)]
        _check_types(loaded, suffix)
        if output is None:
            return _print(lines, loaded, typed=file.isatty())
        heads = "".join(file_digest(x) for name in pipelines for x in _files(name))
        job = {"pipelines": pipelines, "heads": heads, "format": suffix}
        size = os.path.getsize(text) if os.path.isfile(text) else 0
        with stopping() as stop:
            write_annotated(
                lines,
                output,
                loaded,
                job,
                overwrite=overwrite,
                share=lambda: file.tell() / size if size else None,
                stop=stop.is_set,
            )
    print(f"The annotated text is in {output}")
    return 0


def write_annotated(
    lines: Iterable[bytes],
    output: Path,
    pipelines: Sequence[Any],
    job: dict[str, Any],
    *,
    overwrite: bool = False,
    share: Callable[[], float | None] = lambda: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Writes the output part by part; the same call resumes, with the same `job`.

    `share` says how much of the text was read.
    """
    parts, suffix = Parts(output), output.suffix.lower()
    with parts.only_writer(), Progress() as bar:
        parts.open(job, overwrite=overwrite)
        write = formats.FORMATS[suffix]
        parts.count(_write_parts(lines, pipelines, parts, write, bar, share, stop))
        is_page = suffix == ".html"
        head = formats.html_head(output.stem, pipelines) if is_page else ""
        with on_disk(parts.whole) as whole:
            whole.write(head.encode())
            for _, content in parts.read():
                whole.write(content)
        parts.finish(parts.whole)


def _check_types(pipelines, suffix):
    for p in pipelines:
        if p.type == "pairs":
            raise ValueError(
                f"{p.name} takes two texts. `elmo-keras ask` asks questions, and "
                f"`{p!r}` takes pairs in Python."
            )
        if p.type == "texts" and suffix not in ("", ".jsonl"):
            raise ValueError(
                f"{p.name} reads whole texts. Give an OUT that ends in .jsonl, or none."
            )
    types = [p.type for p in pipelines if p.type != "texts"]
    types = ["words" if type_ == "syntax" else type_ for type_ in types]
    if suffix != ".jsonl" and len({*types}) < len(types):
        raise ValueError(
            "--with should name one pipeline for words or syntax, one for entities and one "
            "for roles. For several of a type, give an OUT that ends in .jsonl."
        )


def _files(name):
    path = find_head(name)
    return [path] if path.is_file() else sorted(path.rglob("head.*"))


def _paragraphs(lines):
    """Yields each line with its number, and whether it begins a document or a paragraph."""
    opens = "newdoc"
    for line_number, line in enumerate(lines, 1):
        yield line_number, opens, line
        opens = "newpar" if line.strip() else "newdoc"


def _predict(lines, pipelines) -> Iterator[tuple[Text, list]]:
    tokenizer = pipelines[0].tokenizer  # all annotate the same words
    rows = ((n, opens, line.decode().rstrip("\r\n")) for n, opens, line in lines)
    texts = (
        read_text(0, line, tokenizer)._replace(number=line_number, opens=opens)
        for line_number, opens, line in rows
    )
    return predict_texts(pipelines, texts)


def _print(lines, pipelines, *, typed) -> int:
    color, spans, lines = sys.stdout.isatty(), [], _paragraphs(lines)
    with contextlib.suppress(KeyboardInterrupt):
        # Lines that are typed are answered one by one.
        for part in ([line] for line in lines) if typed else [lines]:
            for text, predictions in _predict(part, pipelines):
                line = formats.terminal(text, pipelines, predictions, color=color)
                print(line, end="")
                for p, prediction in zip(pipelines, predictions):
                    if p.type == "entities":
                        spans += p.annotate(text, prediction)
        if spans:
            print(f"\n{formats.table(spans)}", end="")
        return 0
    return INTERRUPTED


def _write_parts(lines, pipelines, parts, write, bar, share, stop):
    """Annotates the parts that are missing; yields as `Parts.count` takes them."""
    paragraphs, end = _paragraphs(lines), 0
    for index, chunk in enumerate(chunks(paragraphs, PART_BYTES, lambda x: len(x[-1]))):
        digest = hashlib.sha256(b"".join(line for *_, line in chunk)).hexdigest()
        metadata = parts.metadata(index, digest)
        is_new = metadata is None
        start, end = end, share() or 0
        bytes_done, n_bytes = 0, sum(len(line) for *_, line in chunk)
        if metadata is None:
            n_tokens, pieces = 0, []
            predicted = _predict(chunk, pipelines)
            for (*_, line), (text, predictions) in zip(chunk, predicted):
                if stop():
                    raise KeyboardInterrupt
                n_new = sum(map(len, text.sentences))
                bytes_done += len(line)
                bar.add(n_new, start + (end - start) * bytes_done / n_bytes)
                n_tokens += n_new
                pieces.append(write(text, pipelines, predictions).encode())
            metadata = {"digest": digest, "tokens": n_tokens}
            parts.write(index, pieces, metadata)
        else:
            bar.skip(metadata["tokens"])
        yield is_new, len(chunk), metadata["tokens"]


def ask(
    text: Annotated[str, Parameter(allow_leading_hyphen=True)],
    questions: Annotated[list[Words], Parameter(consume_multiple=True)],
    /,
    *,
    model: str = "en-qa",
    answers: Count = 1,
) -> None:
    """Answers questions with pieces of a text file.

    TEXT is plain or gzipped; `-` is standard input, and words in quotes are a text. Each
    answer is the likeliest place in the text, printed with its probability among all
    places and its sentence.

        elmo-keras ask text.txt "Who wrote it?" "When was it written?"

    Args:
        text: TEXT
        questions: one or more
        model: a name of the package, the folder of a head, a .keras file, or hf://OWNER/NAME
        answers: how many answers to print to each question, of different parts of the text
    """
    with open_text(text) as file:
        context = b"".join(lines_of(file, text)).decode()
    loaded = load_pipeline(model)
    if not isinstance(loaded, AnswerPipeline):
        raise ValueError(f"{model} answers no questions. Give a model that does.")
    texts = [
        read_text(i, text, loaded.tokenizer)
        for i, text in enumerate([context, *questions])
    ]
    for part in texts:
        loaded.check_script(part)
    passage, *question_texts = texts
    pairs = [(question, passage) for question in question_texts]
    results = loaded.best(pairs, answers, progress=True)
    for question, best_answers in zip(questions, results):
        print(printable(question))
        for best in best_answers:
            if not best["text"]:
                print(f"  no answer ({best['score']:.2f})")
                continue
            sentence = next(
                context[spans[0][0] : spans[-1][1]]
                for spans in passage.spans
                if spans[-1][1] > best["start"]
            )
            answer = printable(best["text"])
            print(f"  {answer} ({best['score']:.2f}): {printable(sentence)}")
