"""AllenNLP's side of the benchmarks.

    python with_allennlp.py FOLDER embedding|fine-tuning|frozen

Runs the parts of `allennlp.modules.elmo.Elmo`: `batch_to_ids` from strings to ids,
and its biLM, for all layers without `<S>` and `</S>`; or trains with the whole of it.
"""

import os
import sys
import time
from pathlib import Path

import allennlp_imports  # noqa: F401
import protocol
import torch
from allennlp.modules.elmo import Elmo, batch_to_ids


def main(folder: Path, way: str) -> None:
    imported = time.time()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if way == "embedding":
        elmo = model(folder).eval()
        forget = elmo._elmo_lstm._elmo_lstm.reset_states
        requests = protocol.requests(embedder(elmo), forget)
    else:
        fine_tuning = way == "fine-tuning"
        elmo = model(folder, requires_grad=fine_tuning)
        requests = protocol.requests(stepper(elmo, fine_tuning))
    hello = protocol.hello("allennlp", "torch", imported=imported)
    protocol.answer_requests(hello, requests)


def model(folder: Path, **kwargs) -> Elmo:
    files = str(folder / "options.json"), str(folder / "weights.hdf5")
    return Elmo(*files, num_output_representations=1, dropout=0.0, **kwargs)


def embedder(elmo: Elmo):
    """The biLM on sentences."""

    @torch.inference_mode()
    def embed(sentences):
        layers = elmo._elmo_lstm(batch_to_ids(sentences))["activations"]
        return torch.stack(layers, dim=1)[:, :, 1:-1].numpy()

    return embed


def stepper(elmo: Elmo, fine_tuning: bool):
    """A training step: of the whole biLM, or of a tagger on a frozen one."""
    head = torch.nn.Linear(elmo.get_output_dim(), protocol.N_TAGS)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    modules = [elmo] if fine_tuning else [elmo, head]
    parameters = [p for module in modules for p in module.parameters()]
    trained = [p for p in parameters if p.requires_grad]
    optimizer = torch.optim.SGD(trained, protocol.LEARNING_RATE)

    def step(sentences):
        elmo._elmo_lstm._elmo_lstm.reset_states()
        output = elmo(batch_to_ids(sentences))
        vectors = output["elmo_representations"][0][output["mask"]]  # (tokens, size)
        if fine_tuning:
            loss = vectors.square().mean()
        else:
            wanted = torch.tensor([tag for s in sentences for tag in protocol.tags(s)])
            loss = torch.nn.functional.cross_entropy(head(vectors), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
