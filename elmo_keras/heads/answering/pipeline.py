"""Answers to questions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from elmo_keras.base.progress import Progress
from elmo_keras.heads.answering.decoding import OffsetTokens, best_answer
from elmo_keras.heads.pair_pipeline import PairPipeline
from elmo_keras.heads.texts import Text, join, pieces, read_text
from elmo_keras.text.length_batches import chunks

# Tokens of a context that are read at once, with the rest of the last sentence; a longer
# sentence is cut.
MAX_CONTEXT = 400


class AnswerPipeline(PairPipeline):
    """The piece of `context` that answers `question`, or `""` with places of 0 for none.

    The score is the probability of the answer, or of no answer; `no_answer_score` is the
    latter in both cases, if the head learned that some questions have none.
    """

    fields = "question", "context"

    def answer(self, pairs):
        return [answers[0] for answers in self.best(pairs)]

    def best(
        self, pairs: Sequence[Sequence[Text]], n: int = 1, *, progress: bool = False
    ) -> list[list[dict[str, Any]]]:
        """The `n` best answers to each question, of different pieces of the context.

        The best comes first. Scores are probabilities among the answers of all pieces.
        """
        total = sum(len(tokens) for _, text in pairs for tokens in text.sentences)
        parts = (
            (i, join(question.sentences), part)
            for i, (question, context) in enumerate(pairs)
            if question.sentences
            for part in _context_parts(context)
        )
        answers: list[list] = [[] for _ in pairs]  # of the parts of each context
        with Progress(total=total, progress=progress, leave=False) as bar:
            for batch in chunks(parts, self.batch_size, lambda row: len(row[2].tokens)):
                contexts = self.batch([part.tokens for _, _, part in batch])
                questions = self.batch([question for _, question, _ in batch])
                for (i, _, part), scores in zip(
                    batch, self.model.scores(contexts, questions)
                ):
                    answer = best_answer(scores, self.model.longest_answer)
                    answers[i].append((part, answer))
                    bar.update(len(part.tokens))
        contexts = [context for _, context in pairs]
        return [self._answers(*pair)[:n] for pair in zip(contexts, answers)]

    def _answers(self, context, answers):
        """The answers of the parts that have one, the best first, or that there is none."""
        total = np.logaddexp.reduce([answer.total for _, answer in answers])
        # By the part that is the likeliest to have an answer.
        log_none = min((a.none - a.total for _, a in answers), default=-np.inf)
        none = float(np.exp(log_none))
        more = {"no_answer_score": none} if self.model.unanswerable else {}
        results = []
        for part, answer in answers:
            if answer.is_answer:
                begin = part.begins[answer.span[0]]
                text = part.answer(context.source, *answer.span, self.model.endings)
                score = float(np.exp(answer.score - total))
                end = begin + len(text)
                results.append(context.at(begin, end, score=score, **more))
        if not results:
            results.append(context.at(0, 0, score=none, **more))
        return sorted(results, key=lambda result: -result["score"])

    def predict_examples(self, examples):
        questions = [read_text(0, e["question"]) for e in examples]
        contexts = [read_text(0, e["text"], self.tokenizer) for e in examples]
        return [x["text"] for x in self.answer([*zip(questions, contexts)])]


def _context_parts(context):
    """The tokens of a context in parts of whole sentences where they aren't too long."""
    rows = ([*zip(*sentence)] for sentence in zip(context.sentences, context.spans))
    cut = (piece for row in rows for piece in pieces(row, MAX_CONTEXT))
    for part in chunks(cut, MAX_CONTEXT, len):
        tokens, spans = zip(*join(part))
        yield OffsetTokens(list(tokens), *zip(*spans))
