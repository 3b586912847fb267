"""LSTMs by compiled graphs, in blocks of steps for a number of rows."""

from collections.abc import Mapping, Sequence

import numpy as np

from elmo_keras.lite.runtime import CompiledModel, aligned


class LiteLstm:
    """The layers of one direction: a signature for each number of rows and of steps.

    `steps` maps a number of rows to its numbers of steps, the longest first; `sizes` are
    `(output, units)` of the layers, whose outputs are written in this size, or in
    `output_dim`.
    """

    def __init__(
        self,
        graph: np.ndarray,
        steps: Mapping[int, Sequence[int]],
        input_dim: int,
        sizes: Sequence[tuple[int, int]],
        output_dim: int | None = None,
    ):
        self._model = CompiledModel(graph)
        self._steps, self.max_rows = steps, max(steps)
        # The state before a block and the state after it, by turns.
        self._states = [
            {
                f"{part}{i}": aligned(self.max_rows, size)
                for i, pair in enumerate(sizes)
                for part, size in zip("hc", pair)
            }
            for _ in range(2)
        ]
        n_rows = max(rows * max(counts) for rows, counts in steps.items())
        self._x = aligned(n_rows, input_dim)
        self._y = [aligned(n_rows, output_dim or size) for size, _ in sizes]
        self._bound = {}

    def run(
        self,
        x: np.ndarray,
        starts: np.ndarray,
        counts: np.ndarray,
        targets: np.ndarray,
        results: Sequence[np.ndarray],
        *,
        backward: bool,
    ) -> None:
        """Writes the outputs of each layer for sentences.

        Sentence j is in the `counts[j]` rows of x from `starts[j]`, which are read backward
        or forward. The output of row i is row `targets[i]` of a result, whose last row
        receives outputs that belong to no token.
        """
        order = np.argsort(-counts, kind="stable")
        order = order[: np.count_nonzero(counts)]
        for first in range(0, len(order), self.max_rows):
            batch = order[first : first + self.max_rows]
            n = counts[batch]
            step = np.arange(n[0])[:, None]
            sources = starts[batch] + (n - 1 - step if backward else step)
            real = step < n
            sources = np.where(real, sources, 0)
            self._run(x, sources, np.where(real, targets[sources], -1), n, results)

    def _run(self, x, sources, targets, counts, results):
        """Runs at most `max_rows` sentences, the longest first.

        Step i of sentence j reads row `sources[i, j]` and writes row `targets[i, j]`.
        """
        n_steps = counts[0]
        running = np.count_nonzero(counts > np.arange(n_steps)[:, None], axis=1)
        sizes = [r for r in self._steps if r < len(counts)]
        # Steps after which a block with fewer rows will do.
        ends = [n_steps, *(counts[r] for r in sizes)]
        turn = step = 0
        for state in self._states[0].values():
            state[: len(counts)] = 0.0
        while step < n_steps:
            active = running[step]
            rows = next(r for r in self._steps if r >= active)
            left = min(end for end in ends if end > step) - step
            few = self._steps[rows][-1]
            steps = next((s for s in self._steps[rows] if s <= left), few)
            last = min(step + steps, n_steps)
            runs, block_x, block_y = self._bound_to(rows, steps)
            count, block = last - step, slice(step, last)
            block_x[:count, :active] = x[sources[block, :active]]
            runs[turn]()
            turn = 1 - turn
            for result, y in zip(results, block_y):
                result[targets[block, :active]] = y[:count, :active]
            step = last

    def _bound_to(self, rows, steps):
        if (rows, steps) not in self._bound:
            shape, n_rows = (steps, rows, -1), rows * steps
            arrays = {"x": self._x[:n_rows]}
            arrays |= {f"y{i}": y[:n_rows] for i, y in enumerate(self._y)}
            before_after = self._states, self._states[::-1]
            runs = []
            for before, after in before_after:
                states = {name: state[:rows] for name, state in before.items()}
                states |= {k.upper(): state[:rows] for k, state in after.items()}
                runs.append(self._model.bind(f"r{rows}_{steps}", arrays | states))
            self._bound[rows, steps] = (
                runs,
                arrays["x"].reshape(shape),
                [y[:n_rows].reshape(shape) for y in self._y],
            )
        return self._bound[rows, steps]
