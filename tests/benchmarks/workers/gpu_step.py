"""The training step of elmo-keras in PyTorch, for one NVIDIA GPU.

The arithmetic is that of `elmo_keras.training.step.train_step` with Muon; a test compares
the two. Both directions are computed together: tensors begin with an axis of 2.
"""

import collections
import math
from collections.abc import Mapping

import torch
import triton
from torch.autograd import Function
from torch.nn import functional
from triton import language as tl

CLIP = tl.constexpr(3.0)  # of cell states and outputs
OF_WORDS = "embeddings convolution bias carry carry_bias transform transform_bias projection projection_bias".split()
OF_LAYER = "kernel recurrent lstm_bias lstm_projection".split()
NAMES = [
    *OF_WORDS,
    *(f"{name}_{layer}" for layer in range(2) for name in OF_LAYER),
    "softmax",
    "softmax_bias",
]
BY_MUON = {"projection"} | {n for n in NAMES if n[-1] in "01" and "bias" not in n}


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def _gates(inputs, bias, inside, n: tl.constexpr):
    i = tl.sigmoid(tl.load(inputs, inside).to(tl.float32) + tl.load(bias, inside))
    j = _tanh(tl.load(inputs + n, inside).to(tl.float32) + tl.load(bias + n, inside))
    f = tl.sigmoid(
        tl.load(inputs + 2 * n, inside).to(tl.float32) + tl.load(bias + 2 * n, inside)
    )
    o = tl.sigmoid(
        tl.load(inputs + 3 * n, inside).to(tl.float32) + tl.load(bias + 3 * n, inside)
    )
    return i, j, f, o


@triton.jit
def _cell(
    inputs, bias, before, goes_on, cells, hidden, rows,
    inputs_stride, row_stride, cells_stride, hidden_stride,
    n: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    direction, row = tl.program_id(0) // rows, tl.program_id(0) % rows
    k = tl.program_id(1) * block + tl.arange(0, block)
    inside = k < n
    at = direction.to(tl.int64)
    row = row.to(tl.int64)
    i, j, f, o = _gates(
        inputs + at * inputs_stride + row * row_stride + k,
        bias + direction * 4 * n + k, inside, n,
    )  # fmt: skip
    c = tl.load(before + at * cells_stride + row * n + k, inside)
    c = f * (c * tl.load(goes_on + row)) + i * j
    c = tl.minimum(tl.maximum(c, -CLIP), CLIP)
    tl.store(cells + at * cells_stride + row * n + k, c, inside)
    h = (o * _tanh(c)).to(hidden.dtype.element_ty)
    tl.store(hidden + at * hidden_stride + row * n + k, h, inside)


@triton.jit
def _cell_gradient(
    inputs, bias, before, cells, goes_on, d_hidden, d_cell, rows,
    inputs_stride, row_stride, cells_stride,
    n: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    direction, row = tl.program_id(0) // rows, tl.program_id(0) % rows
    k = tl.program_id(1) * block + tl.arange(0, block)
    inside = k < n
    at = direction.to(tl.int64)
    row = row.to(tl.int64)
    p = inputs + at * inputs_stride + row * row_stride + k
    i, j, f, o = _gates(p, bias + direction * 4 * n + k, inside, n)
    same = tl.load(goes_on + row)
    old = tl.load(before + at * cells_stride + row * n + k, inside) * same
    c = tl.load(cells + at * cells_stride + row * n + k, inside)
    t = _tanh(c)
    own = tl.program_id(0).to(tl.int64) * n + k
    d_h = tl.load(d_hidden + own, inside).to(tl.float32)
    d_c = tl.load(d_cell + own, inside) + d_h * o * (1 - t * t)
    d_c = tl.where(tl.abs(c) < CLIP, d_c, 0.0)
    dtype = inputs.dtype.element_ty
    tl.store(p, (d_c * j * i * (1 - i)).to(dtype), inside)
    tl.store(p + n, (d_c * i * (1 - j * j)).to(dtype), inside)
    tl.store(p + 2 * n, (d_c * old * f * (1 - f)).to(dtype), inside)
    tl.store(p + 3 * n, (d_h * t * o * (1 - o)).to(dtype), inside)
    tl.store(d_cell + own, same * f * d_c, inside)


@triton.jit
def _output(
    projected, goes_on, outputs, next_inputs, rows, stride,
    n: tl.constexpr, last: tl.constexpr,
):  # fmt: skip
    direction, row = tl.program_id(0) // rows, tl.program_id(0) % rows
    k = tl.arange(0, n)
    x = tl.load(projected + tl.program_id(0) * n + k).to(tl.float32)
    x = tl.minimum(tl.maximum(x, -CLIP), CLIP)
    at = direction.to(tl.int64) * stride + row * n + k
    tl.store(outputs + at, x.to(outputs.dtype.element_ty))
    if not last:
        x = (x * tl.load(goes_on + row)).to(outputs.dtype.element_ty)
        tl.store(next_inputs + at, x)


@triton.jit
def _output_gradient(
    d_recurrent, goes_on, d_outputs, outputs, d_projected, rows, stride, d_stride,
    n: tl.constexpr, last: tl.constexpr,
):  # fmt: skip
    direction, row = tl.program_id(0) // rows, tl.program_id(0) % rows
    k = tl.arange(0, n)
    at = direction.to(tl.int64) * stride + row * n + k
    d = tl.load(d_outputs + direction.to(tl.int64) * d_stride + row * n + k)
    d = d.to(tl.float32)
    if not last:
        more = tl.load(d_recurrent + tl.program_id(0) * n + k).to(tl.float32)
        d += more * tl.load(goes_on + row)
    d = tl.where(tl.abs(tl.load(outputs + at).to(tl.float32)) < CLIP, d, 0.0)
    tl.store(d_projected + at, d.to(d_projected.dtype.element_ty))


@triton.jit
def _exponentials(
    logits, bias, true, hits, losses, totals, of_true, n, block: tl.constexpr
):
    row, k = tl.program_id(0), tl.arange(0, block)
    inside = k < n
    p = logits + row.to(tl.int64) * n + k
    x = tl.load(p, inside, other=-float("inf")).to(tl.float32)
    x += tl.load(bias + k, inside, other=0.0)
    x = tl.where(k == tl.load(hits + row), -float("inf"), x)
    t = tl.load(true + row)
    highest = tl.maximum(tl.max(x, 0), t)
    x = tl.exp(x - highest)
    e = tl.exp(t - highest)
    total = tl.sum(x, 0) + e
    tl.store(p, x.to(logits.dtype.element_ty), inside)
    tl.store(losses + row, highest + tl.log(total) - t)
    tl.store(totals + row, total)
    tl.store(of_true + row, e)


@triton.jit
def _highest(scores, values, indices, places, n, block: tl.constexpr):
    word = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * block + tl.arange(0, block)
    inside = k < n
    best = tl.full((block,), -float("inf"), tl.float32)
    index = tl.zeros((block,), tl.int32)
    for place in range(places):
        p = scores + word * places * n + place * n + k
        x = tl.load(p, inside, other=-float("inf")).to(tl.float32)
        index = tl.where(x > best, place, index)
        best = tl.where(x > best, x, best)
    tl.store(values + word * n + k, best.to(values.dtype.element_ty), inside)
    tl.store(indices + word * n + k, index.to(tl.uint8), inside)


@triton.jit
def _highest_gradient(d_values, indices, d_scores, places, n, block: tl.constexpr):
    word = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * block + tl.arange(0, block)
    inside = k < n
    d = tl.load(d_values + word * n + k, inside, other=0.0)
    index = tl.load(indices + word * n + k, inside, other=0).to(tl.int32)
    for place in range(places):
        x = tl.where(index == place, d, 0.0).to(d_scores.dtype.element_ty)
        tl.store(d_scores + word * places * n + place * n + k, x, inside)


class Highest(Function):
    """The highest of the scores (words, places, filters) of each filter."""

    @staticmethod
    def forward(ctx, scores):
        words, places, n = scores.shape
        values = scores.new_empty(words, n)
        indices = torch.empty_like(values, dtype=torch.uint8)
        grid = words, triton.cdiv(n, 512)
        _highest[grid](scores, values, indices, places, n, block=512)
        ctx.save_for_backward(indices)
        ctx.places = places
        return values

    @staticmethod
    def backward(ctx, d_values):
        (indices,) = ctx.saved_tensors
        (words, n), places = indices.shape, ctx.places
        d_values = d_values.contiguous()
        d_scores = d_values.new_empty(words, places, n)
        grid = words, triton.cdiv(n, 512)
        _highest_gradient[grid](d_values, indices, d_scores, places, n, block=512)
        return d_scores


class Rows(Function):
    """Rows of a table, whose gradient is summed in float32."""

    @staticmethod
    def forward(ctx, table, indices):
        ctx.save_for_backward(indices)
        ctx.shape, ctx.dtype = table.shape, table.dtype
        return table[indices]

    @staticmethod
    def backward(ctx, d_rows):
        (indices,) = ctx.saved_tensors
        d_table = torch.zeros(ctx.shape, device=d_rows.device)
        d_table.index_add_(0, indices, d_rows.float())
        return d_table.to(ctx.dtype), None


class SampledSoftmax(Function):
    """The losses of tokens over their targets' logits and those of the negatives."""

    @staticmethod
    def forward(ctx, x, kernel, bias, true, hits):
        powers = x @ kernel.t()
        tokens, n = powers.shape
        losses, totals, of_true = torch.empty(3, tokens, device=x.device)
        block = triton.next_power_of_2(n)
        _exponentials[(tokens,)](
            powers,
            bias,
            true,
            hits,
            losses,
            totals,
            of_true,
            n,
            block=block,
            num_warps=8,
        )
        ctx.save_for_backward(x, kernel, powers, totals, of_true)
        return losses

    @staticmethod
    def backward(ctx, upstream):
        x, kernel, powers, totals, of_true = ctx.saved_tensors
        share = (upstream / totals)[:, None].to(x.dtype)
        ones = torch.ones_like(x[:, :8])  # eight, since tensor cores want multiples
        table = (torch.cat([x, ones], 1) * share).t() @ powers
        d_true = (of_true / totals - 1) * upstream
        d_x = (powers @ kernel) * share
        return d_x, table[:-8].t(), table[-1].float(), d_true, None


class Layer:
    """The buffers and loops of one LSTM layer; its state goes on from step to step."""

    def __init__(self, steps, rows, dim, units, dtype, device):
        def zeros(*shape, dtype=dtype):
            return torch.zeros(2, *shape, dtype=dtype, device=device)

        f32 = torch.float32
        self.inputs = zeros(steps, rows, 4 * units)  # of the gates
        self.cells = zeros(steps + 1, rows, units, dtype=f32)
        self.before, self.outputs = zeros(steps, rows, dim), zeros(steps, rows, dim)
        self.hidden, self.projected = zeros(steps, rows, units), zeros(rows, dim)
        self.d_hidden, self.d_cell = zeros(rows, units), zeros(rows, units, dtype=f32)
        self.d_recurrent = zeros(rows, dim)
        self.d_projected, self.d_outputs = (
            zeros(steps, rows, dim),
            zeros(steps, rows, dim),
        )
        self.output, self.cell = zeros(rows, dim), zeros(rows, units, dtype=f32)
        self.goes_on = zeros(steps, rows, dtype=f32)[0]
        self.bias = zeros(4 * units, dtype=f32)
        self.recurrent, self.projection = zeros(dim, 4 * units), zeros(units, dim)

    def forward(self):
        _, steps, rows, _ = self.inputs.shape
        units, dim = self.hidden.shape[3], self.outputs.shape[3]
        block = min(1024, triton.next_power_of_2(units))
        self.cells[:, 0].copy_(self.cell)
        self.before[:, 0] = self.output * self.goes_on[0][:, None].to(self.output.dtype)
        for step in range(steps):
            inputs, after = self.inputs[:, step], min(step + 1, steps - 1)
            goes_on, next_goes_on = self.goes_on[step], self.goes_on[after]
            inputs.baddbmm_(self.before[:, step], self.recurrent)
            _cell[2 * rows, triton.cdiv(units, block)](
                inputs, self.bias, self.cells[:, step], goes_on,
                self.cells[:, step + 1], self.hidden[:, step], rows,
                inputs.stride(0), inputs.stride(1), self.cells.stride(0),
                self.hidden.stride(0), n=units, block=block,
            )  # fmt: skip
            torch.bmm(self.hidden[:, step], self.projection, out=self.projected)
            _output[(2 * rows,)](
                self.projected, next_goes_on, self.outputs[:, step],
                self.before[:, after], rows, self.outputs.stride(0),
                n=dim, last=step == steps - 1,
            )  # fmt: skip
        self.output.copy_(self.outputs[:, -1])
        self.cell.copy_(self.cells[:, -1])

    def backward(self):
        """From `d_outputs`: `d_projected`, and in `inputs` the gradients of the gates."""
        _, steps, rows, _ = self.inputs.shape
        units, dim = self.hidden.shape[3], self.outputs.shape[3]
        block = min(1024, triton.next_power_of_2(units))
        self.d_cell.zero_()
        for step in reversed(range(steps)):
            inputs, after = self.inputs[:, step], min(step + 1, steps - 1)
            goes_on, next_goes_on = self.goes_on[step], self.goes_on[after]
            _output_gradient[(2 * rows,)](
                self.d_recurrent, next_goes_on, self.d_outputs[:, step],
                self.outputs[:, step], self.d_projected[:, step], rows,
                self.outputs.stride(0), self.d_outputs.stride(0),
                n=dim, last=step == steps - 1,
            )  # fmt: skip
            projection = self.projection.transpose(1, 2)
            torch.bmm(self.d_projected[:, step], projection, out=self.d_hidden)
            _cell_gradient[2 * rows, triton.cdiv(units, block)](
                inputs, self.bias, self.cells[:, step], self.cells[:, step + 1],
                goes_on, self.d_hidden, self.d_cell, rows, inputs.stride(0),
                inputs.stride(1), self.cells.stride(0), n=units, block=block,
            )  # fmt: skip
            if step:
                torch.bmm(inputs, self.recurrent.transpose(1, 2), out=self.d_recurrent)


class OverRows(Function):
    """A layer over x (2, steps · rows, dim), step by step."""

    @staticmethod
    def forward(ctx, x, kernel, recurrent, bias, projection, layer):
        forget = torch.zeros_like(bias).view(2, 4, -1)
        forget[:, 2] = 1.0
        layer.bias.copy_(bias + forget.view_as(bias))
        layer.recurrent.copy_(recurrent)
        layer.projection.copy_(projection)
        kernel = kernel.to(x.dtype)
        torch.bmm(x, kernel, out=layer.inputs.flatten(1, 2))
        layer.forward()
        ctx.layer = layer
        ctx.save_for_backward(x, kernel)
        return layer.outputs.flatten(1, 2)

    @staticmethod
    def backward(ctx, d_outputs):
        layer, (x, kernel) = ctx.layer, ctx.saved_tensors
        layer.d_outputs.copy_(d_outputs.view_as(layer.d_outputs))
        layer.backward()
        d_gates = layer.inputs.flatten(1, 2)

        def product(a):
            return torch.bmm(a.transpose(1, 2), d_gates).float()

        hidden = layer.hidden.flatten(1, 2).transpose(1, 2)
        return (
            torch.bmm(d_gates, kernel.transpose(1, 2)),
            product(x),
            product(layer.before.flatten(1, 2)),
            product(torch.ones_like(x[:, :, :1]))[:, 0],
            torch.bmm(hidden, layer.d_projected.flatten(1, 2)).float(),
            None,
        )


class Trainer:
    """A biLM of two layers with its optimizer.

    Args:
        weights: float32 tensors by the names of `NAMES`, on the GPU; those of the LSTMs
            have both directions, `convolution` has all filters at the greatest width.
        filters: `(width, count)` of each group.
        steps, rows: tokens of a row in a batch, and rows.
        characters: those of the longest word.
    """

    def __init__(self, weights, filters, *, steps, rows, characters, dtype, dropout):
        self.weights = {name: weights[name].requires_grad_(True) for name in NAMES}
        self.dtype, self.dropout = dtype, dropout
        self.characters, self.width = characters, max(width for width, _ in filters)
        units, self.dim = weights["lstm_projection_0"].shape[1:]
        device = self.device = weights["softmax"].device
        self.layers = [
            Layer(steps, rows, self.dim, units, dtype, device) for _ in range(2)
        ]
        # 1 for weights within a filter's width; −10,000 for windows beyond the last place.
        self.used = torch.zeros_like(weights["convolution"])
        self.outside = torch.zeros(characters, self.used.shape[1], device=device)
        first, dim = 0, weights["embeddings"].shape[1]
        for width, count in filters:
            columns = slice(first, first + count)
            self.used[: width * dim, columns] = 1
            self.outside[characters - width + 1 :, columns] = -1e4
            first += count
        self.momentums = {k: torch.zeros_like(v) for k, v in self.weights.items()}
        self.velocities = {k: torch.zeros_like(v) for k, v in self.weights.items()}
        self.rates = torch.zeros(2, device=device)  # of Adam and of Muon
        self.n_updates = 0
        self.batch = self.of_batch = self.update_graph = None

    def token_vectors(self, words):
        """The vectors of words: character ids (words, places), a tensor for each length."""
        w, dtype, maxima = self.weights, self.dtype, []
        filters = (w["convolution"] * self.used).to(dtype)
        for ids in words:
            x = functional.embedding(ids, w["embeddings"]).to(dtype)
            places = ids.shape[1] - self.width + 1
            longest = ids.shape[1] == self.characters
            if longest:
                places = self.characters
                x = functional.pad(x, (0, 0, 0, self.width - 1))
            windows = torch.cat([x[:, k : k + places] for k in range(self.width)], -1)
            scores = windows.flatten(0, 1) @ filters
            scores = scores.view(len(ids), places, -1)
            if longest:
                scores = scores + self.outside.to(dtype)
            maxima.append(Highest.apply(scores))
        x = functional.relu(torch.cat(maxima) + w["bias"].to(dtype))

        def dense(name, x):
            kernel, bias = w[name].to(dtype), w[f"{name}_bias"].to(dtype)
            return functional.linear(x, kernel.t(), bias)

        gate = torch.sigmoid(dense("carry", x))
        x = gate * functional.relu(dense("transform", x)) + (1 - gate) * x
        return dense("projection", x)

    def outputs(self, x, layers):
        """The last layer's outputs, from token vectors (2, steps · rows, dim)."""
        x = functional.dropout(x, self.dropout)
        for i, layer in enumerate(layers):
            weights = [self.weights[f"{name}_{i}"] for name in OF_LAYER]
            y = OverRows.apply(x, *weights, layer)
            x = functional.dropout(x + y if i else y, self.dropout)
        return x

    def step(self, batch: Mapping, rate: float, clip_norm: float = 10.0):
        """Updates the weights; returns the mean loss in nats, on the device."""
        loss, gradients = self.gradients(batch)
        loss = loss.clone()
        self.apply(gradients, rate, clip_norm)
        return loss

    def gradients(self, batch: Mapping):
        """The mean loss, and the gradients by name."""
        vectors = self.token_vectors(batch["characters"])
        x = Rows.apply(vectors, batch["words"].flatten())
        if self.batch is None:
            names = "targets", "goes_on", "negatives", "log_expected", "hits"
            self.batch = {name: batch[name].clone() for name in names}
            self.batch["x"] = x.detach().view(2, -1, self.dim).clone()
            self.batch["x"].requires_grad_(True)
        with torch.no_grad():
            for name, tensor in self.batch.items():
                tensor.copy_(x.view_as(tensor) if name == "x" else batch[name])
        if self.device.type == "cuda":
            if self.of_batch is None:
                self.of_batch = _graph(self._over_rows)
                for layer in self.layers:
                    layer.output.zero_()
                    layer.cell.zero_()
            graph, (loss, d_x, gradients) = self.of_batch
            graph.replay()
        else:
            loss, d_x, gradients = self._over_rows()
        of_words = torch.autograd.grad(
            x, [self.weights[name] for name in OF_WORDS], d_x.reshape(-1, self.dim)
        )
        return loss, dict(zip(OF_WORDS, of_words)) | gradients

    def _over_rows(self):
        """Loss and gradients from the token vectors on: shapes are the same every time."""
        b, total = self.batch, 0.0
        softmax, bias = self.weights["softmax"], self.weights["softmax_bias"]
        for layer in self.layers:
            layer.goes_on.copy_(b["goes_on"])
        y = self.outputs(b["x"], self.layers)
        for direction in range(2):
            targets, negatives = b["targets"][direction], b["negatives"][direction]
            expected = b["log_expected"][direction]
            of_targets = Rows.apply(softmax, targets).to(self.dtype)
            true = (y[direction].float() * of_targets.float()).sum(1)
            true = true + Rows.apply(bias, targets) - expected[targets]
            losses = SampledSoftmax.apply(
                y[direction],
                Rows.apply(softmax, negatives).to(self.dtype),
                Rows.apply(bias, negatives) - expected[negatives],
                true,
                b["hits"][direction],
            )
            total = total + losses.sum()
        names = [name for name in NAMES if name not in OF_WORDS]
        steps, rows = b["goes_on"].shape
        d_x, *gradients = torch.autograd.grad(
            total / (2 * rows), [b["x"], *(self.weights[name] for name in names)]
        )
        return total.detach() / (2 * steps * rows), d_x, dict(zip(names, gradients))

    @torch.no_grad()
    def apply(self, gradients: Mapping, rate: float, clip_norm: float = 10.0):
        self.n_updates += 1
        corrected = math.sqrt(1 - 0.999**self.n_updates) / (1 - 0.9**self.n_updates)
        # Filled, not copied: for a copy the host would wait.
        for element, value in zip(self.rates, (rate * corrected, rate)):
            element.fill_(value)
        if self.device.type != "cuda":
            self._update(gradients, clip_norm)
            return
        if self.update_graph is None:
            changed = self.weights, self.momentums, self.velocities, gradients
            changed = [tensor for tensors in changed for tensor in tensors.values()]
            values = [tensor.clone() for tensor in changed]
            # Those of words come at new addresses each time.
            self.kept = {n: g.clone() for n, g in gradients.items() if n in OF_WORDS}
            kept = dict(gradients) | self.kept
            self.update_graph, _ = _graph(lambda: self._update(kept, clip_norm))
            torch._foreach_copy_(changed, values)
        torch._foreach_copy_(
            list(self.kept.values()), [gradients[name] for name in self.kept]
        )
        self.update_graph.replay()

    def _update(self, gradients, clip_norm):
        gradients = [gradients[name] for name in NAMES]
        norm = torch.stack(torch._foreach_norm(gradients)).norm()
        scale = clip_norm / torch.clamp(norm, min=clip_norm)
        scaled = dict(zip(NAMES, torch._foreach_mul(gradients, scale)))
        names = [name for name in NAMES if name not in BY_MUON]
        of_adam, momentums, velocities, weights = (
            [tensors[name] for name in names]
            for tensors in (scaled, self.momentums, self.velocities, self.weights)
        )
        torch._foreach_lerp_(momentums, of_adam, 0.1)
        torch._foreach_lerp_(velocities, torch._foreach_mul(of_adam, of_adam), 0.001)
        roots = torch._foreach_sqrt(velocities)
        torch._foreach_add_(roots, 1e-7)
        updates = torch._foreach_div(momentums, roots)
        torch._foreach_mul_(updates, self.rates[0])
        torch._foreach_sub_(weights, updates)
        by_shape = collections.defaultdict(list)
        for name in sorted(BY_MUON):
            by_shape[self.weights[name].shape[-2:]].append(name)
        for shape, names in by_shape.items():
            updates = []
            for name in names:
                self.momentums[name].mul_(0.95).add_(scaled[name])
                update = scaled[name] + 0.95 * self.momentums[name]
                updates.append(update.view(-1, *shape))
            size = 0.2 * max(shape) ** 0.5
            matrices = orthogonalized(torch.cat(updates)) * (self.rates[1] * size)
            for name, matrix in zip(names, matrices.split([len(u) for u in updates])):
                self.weights[name].sub_(matrix.view_as(self.weights[name]))


def _graph(function):
    """A CUDA graph of a function's operations, which are run before, and its results."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # kernels are compiled
        for _ in range(2):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = function()
    return graph, results


def orthogonalized(matrices):
    """`elmo_keras.training.optimizers._orthogonalized` of (matrices, rows, columns)."""
    matrices = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    wide, turned = matrices.shape[1] <= matrices.shape[2], matrices.transpose(1, 2)
    gram = matrices @ turned if wide else turned @ matrices
    identity = torch.eye(gram.shape[1], device=gram.device)
    product = identity.expand_as(gram)
    for _ in range(5):
        factor = 3.4445 * identity - 4.7750 * gram + 2.0315 * gram @ gram
        product = factor @ product
        gram = factor @ gram @ factor
    return product @ matrices if wide else matrices @ product
