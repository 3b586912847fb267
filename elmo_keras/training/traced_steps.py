"""The steps of training as graphs, for all replicas."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from elmo_keras.layers.loops import why_not_compiled
from elmo_keras.training.step import train_step
from elmo_keras.training.streams import Streams


class TracedSteps:
    """`train_step` for a model, its optimizer and streams, traced once for all runs.

    Args:
        model: a `TrainableLanguageModel`, whose file imports this one.
        streams: the batches.
    """

    def __init__(self, model: Any, streams: Streams):
        self.model, self.optimizer, self.streams = model, model.optimizer, streams
        self.strategy: tf.distribute.Strategy = model.distribute_strategy
        # False once XLA has failed; the batches keep their fixed shapes.
        self.jit_compile = self.fixed_shapes = bool(model.jit_compile)
        # Graphs of the whole model (False) and of the softmax alone (True).
        self.graphs: dict[bool, Callable] = {}
        self.compiled_sizes: set[tuple[int, ...]] = set()

    def are_for(self, model: Any, streams: Streams) -> bool:
        traced = self.streams, self.optimizer, self.fixed_shapes
        return traced == (streams, model.optimizer, bool(model.jit_compile))

    def batches(self, epoch: int, first_step: int) -> tf.distribute.DistributedDataset:
        dataset = self.strategy.distribute_datasets_from_function(
            lambda context: self.streams.batches(
                epoch,
                first_step,
                n_parts=self.model.parts,
                context=context,
                fixed_shapes=self.fixed_shapes,
            )
        )
        self._batch_spec = dataset.element_spec
        return dataset

    def news(self, batch: Any, *, only_softmax: bool) -> list[str]:
        """Lines about what the step of this batch traces or compiles for the first time."""
        lines = [] if only_softmax in self.graphs else ["Tracing the training step"]
        values_of = self.strategy.experimental_local_results
        for part in batch if self.jit_compile else ():
            # All else has the same size in every batch.
            words = map(values_of, part["characters"])
            candidates = values_of(part.get("candidates", part["seed"]))
            for *pieces, ids in zip(*words, candidates):
                sizes = only_softmax, sum(len(x) for x in pieces), len(ids)
                if sizes not in self.compiled_sizes:
                    lines.append(f"Compiling the training step for {sizes[1]:,} words")
                self.compiled_sizes.add(sizes)
        return lines

    def __call__(self, batch: Any, state: Any, *, only_softmax: bool):
        """The first replica's loss and number of tokens, and the LSTM state of all."""
        if only_softmax not in self.graphs:
            self.graphs[only_softmax] = self._trace(state, only_softmax)
        *results, state = self.graphs[only_softmax](batch, state)
        values_of = self.strategy.experimental_local_results
        return *(values_of(x)[0] for x in results), state

    def _trace(self, state, only_softmax):
        """`train_step` on all replicas as a graph: (batch, state) → their results."""

        def step(parts, state):
            return train_step(
                self.model.bilm,
                self.optimizer,
                parts,
                state,
                clip_norm=self.model.all_clip_norm_val,
                only_softmax=only_softmax,
                jit_compile=self.jit_compile,
            )

        # The number of distinct words changes from batch to batch: without a signature
        # the step would be traced each time.
        state_spec = tf.nest.map_structure(tf.type_spec_from_value, state)
        return tf.function(
            lambda *batch_and_state: self.strategy.run(step, batch_and_state),
            input_signature=[self._batch_spec, state_spec],
            autograph=False,
        )

    def give_up_xla(self, error: tf.errors.OpError) -> str:
        """Traces plain steps from now on; returns the reason."""
        self.jit_compile = False
        self.graphs.clear()
        return why_not_compiled(error)
