"""AllenNLP's side of the benchmark of task training; `tasks.py` starts it.

python tasks_allennlp.py FOLDER fine-tuning|frozen
"""

import os
import sys
from pathlib import Path

import allennlp_imports  # noqa: F401
import torch
from allennlp.modules.elmo import Elmo, batch_to_ids
from tasks_worker import FINE_TUNING, LEARNING_RATE, N_TAGS, serve, tags


def main(folder: Path, kind: str) -> None:
    """Makes the requested steps until standard input ends."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    files = str(folder / "options.json"), str(folder / "weights.hdf5")
    elmo = Elmo(*files, 1, requires_grad=kind == FINE_TUNING, dropout=0.0)
    head = torch.nn.Linear(elmo.get_output_dim(), N_TAGS)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    modules = [elmo] if kind == FINE_TUNING else [elmo, head]
    parameters = [p for module in modules for p in module.parameters()]
    trained = [p for p in parameters if p.requires_grad]
    optimizer = torch.optim.SGD(trained, LEARNING_RATE)

    def step(sentences):
        elmo._elmo_lstm._elmo_lstm.reset_states()
        output = elmo(batch_to_ids(sentences))
        vectors = output["elmo_representations"][0][output["mask"]]  # (tokens, size)
        if kind == FINE_TUNING:
            loss = vectors.square().mean()
        else:
            wanted = torch.tensor([tag for s in sentences for tag in tags(s)])
            loss = torch.nn.functional.cross_entropy(head(vectors), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    serve(folder, ("allennlp", "torch"), step)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
