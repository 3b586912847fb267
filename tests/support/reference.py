"""ELMo in plain NumPy, from the equations of the paper: the oracle of the tests.

Slow on purpose: one sentence, one word, one step at a time.
"""

import numpy as np


def character_ids(token, length, cut_at="byte"):
    """The row of character ids of one token, as prediction uses them."""
    content = list(token.encode() if isinstance(token, str) else token)
    end = length - 2
    if len(content) > end and cut_at == "character":
        # Back to the first byte of a character, if there is one in four bytes.
        for start in range(end, max(end - 4, -1), -1):
            if content[start] & 0b1100_0000 != 0b1000_0000:
                end = start
                break
    content = content[:end]
    if token in ("<S>", b"<S>"):
        content = [256]
    if token in ("</S>", b"</S>"):
        content = [257]
    ids = [258, *content, 259]
    ids += [260] * (length - len(ids))
    return np.array(ids) + 1


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def token_vector(ids, weights, config):
    """x of one word from its row of character ids; `weights` by published names."""
    table = np.vstack([np.zeros(config.char_embedding_dim), weights["char_embed"]])
    characters = table[ids]  # (characters, dim)
    values = []
    for i, (width, _) in enumerate(config.filters):
        kernel = weights[f"CNN/W_cnn_{i}"][0]  # (width, dim, count)
        windows = [
            np.einsum("wd,wdn->n", characters[p : p + width], kernel)
            for p in range(len(characters) - width + 1)
        ]
        values.append(np.max(windows, axis=0) + weights[f"CNN/b_cnn_{i}"])
    x = np.concatenate(values)
    x = np.maximum(x, 0) if config.activation == "relu" else np.tanh(x)
    for i in range(config.n_highway):
        w = {
            k: weights[f"CNN_high_{i}/{k}"]
            for k in ("W_carry", "b_carry", "W_transform", "b_transform")
        }
        gate = sigmoid(x @ w["W_carry"] + w["b_carry"])
        transformed = np.maximum(x @ w["W_transform"] + w["b_transform"], 0)
        x = gate * transformed + (1 - gate) * x
    if "CNN_proj/W_proj" in weights:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x


def clip(x, bound):
    return x if bound is None else np.clip(x, -bound, bound)


def lstm_step(x, state, cell_weights, config):
    """One step of one layer: the new (output, cell)."""
    output, cell = state
    gates = np.concatenate([x, output]) @ cell_weights["W_0"] + cell_weights["B"]
    i, j, f, o = np.split(gates, 4)
    cell = sigmoid(f + 1) * cell + sigmoid(i) * np.tanh(j)
    cell = clip(cell, config.cell_clip)
    hidden = sigmoid(o) * np.tanh(cell)
    if "W_P_0" not in cell_weights:  # and nothing is clipped
        return hidden, cell
    return clip(hidden @ cell_weights["W_P_0"], config.proj_clip), cell


def direction_layers(vectors, weights, config, *, direction, state=None):
    """Layers of one direction over vectors in reading order, and the state."""
    zeros = np.zeros(config.projection_dim), np.zeros(config.units)
    state = list(state or [zeros] * config.n_layers)
    layers = []
    for j in range(config.n_layers):
        name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{j}/LSTMCell/"
        cell_weights = {
            k.removeprefix(name): v for k, v in weights.items() if k.startswith(name)
        }
        outputs = []
        for x in vectors:
            state[j] = lstm_step(x, state[j], cell_weights, config)
            skip = config.use_skip_connections and j > 0
            outputs.append(state[j][0] + x if skip else state[j][0])
        vectors = outputs
        layers.append(np.array(outputs))
    return layers, state


def bilm_layers(tokens, weights, config):
    """h_0 … h_L of one sentence with its boundaries: (L + 1, tokens, 2 · dim)."""
    ids = [
        character_ids(t, config.max_characters_per_token, config.cut_at) for t in tokens
    ]
    x = np.array([token_vector(row, weights, config) for row in ids])
    return layers_of_vectors(x, weights, config)


def layers_of_vectors(x, weights, config):
    """h_0 … h_L from the vectors of the tokens and boundaries of one sentence."""
    ahead, _ = direction_layers(x, weights, config, direction=0)
    back, _ = direction_layers(x[::-1], weights, config, direction=1)
    pairs = [(x, x)] + [(a, b[::-1]) for a, b in zip(ahead, back)]
    return np.array([np.concatenate(pair, axis=1) for pair in pairs])


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scalar_mix(layers, weights, gamma, *, layer_norm=False):
    """γ Σ_j softmax(w)_j h_j over (layers, tokens, dim)."""
    if layer_norm:
        deviations = layers - layers.mean(-1, keepdims=True)
        layers = deviations / np.sqrt(layers.var(-1, keepdims=True) + 1e-12)
    return gamma * np.einsum("j,jtd->td", softmax(np.asarray(weights)), layers)
