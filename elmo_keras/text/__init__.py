"""From text files to tokens, character ids and batches of sentences."""
