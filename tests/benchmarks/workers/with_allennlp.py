"""AllenNLP's side of the embedding benchmark: `with_allennlp.py FOLDER`.

Runs the parts of `allennlp.modules.elmo.Elmo`: `batch_to_ids` from strings to ids,
and its biLM, for all layers without `<S>` and `</S>`.
"""

import os
import sys
from pathlib import Path

import allennlp_imports  # noqa: F401
import protocol
import torch
from allennlp.modules.elmo import Elmo, batch_to_ids


def main(folder: Path) -> None:
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    files = str(folder / "options.json"), str(folder / "weights.hdf5")
    bilm = Elmo(*files, num_output_representations=1, dropout=0.0).eval()._elmo_lstm

    @torch.inference_mode()
    def embed(sentences):
        layers = bilm(batch_to_ids(sentences))["activations"]
        return torch.stack(layers, dim=1)[:, :, 1:-1].numpy()

    requests = protocol.requests(embed, bilm._elmo_lstm.reset_states)
    protocol.answer_requests(protocol.hello("allennlp", "torch"), requests)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
