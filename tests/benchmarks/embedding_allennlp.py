"""AllenNLP's side of the embedding benchmark; `embedding.py` starts it.

    python embedding_allennlp.py FOLDER

Runs the parts of `allennlp.modules.elmo.Elmo`: `batch_to_ids` from strings to ids,
and its biLM, for all layers without `<S>` and `</S>`.
"""

import os
import sys
from pathlib import Path

import allennlp_imports  # noqa: F401
import torch
from allennlp.modules.elmo import Elmo, batch_to_ids
from embedding_worker import serve


def main(folder: Path) -> None:
    """Embeds the requested sentences until standard input ends."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    files = str(folder / "options.json"), str(folder / "weights.hdf5")
    elmo = Elmo(*files, num_output_representations=1, dropout=0.0)
    elmo.eval()
    bilm = elmo._elmo_lstm

    @torch.inference_mode()
    def embed(sentences):
        layers = bilm(batch_to_ids(sentences))["activations"]
        return torch.stack(layers, dim=1)[:, :, 1:-1].numpy()

    forget = bilm._elmo_lstm.reset_states
    serve(folder, ("allennlp", "torch"), embed, forget=forget)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
