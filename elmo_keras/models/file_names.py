"""The names of the files in a model directory."""

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
VOCABULARY = "vocab.txt"
SOFTMAX = "training/softmax.hdf5"
MIX = "mix.json"
START_STATE = "start_state.h5"
