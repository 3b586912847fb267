"""The names of the files in a model directory."""

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
VOCABULARY = "vocab.txt"
SOFTMAX = "training/softmax.hdf5"
MIX = "mix.json"
CARD, CURVES = "model_card.md", "curves.png"
CHARACTERS, WORDS = "characters.txt", "words.txt"
# Files that a model directory may have besides options and weights.
OPTIONAL = VOCABULARY, SOFTMAX, MIX, CHARACTERS, WORDS
