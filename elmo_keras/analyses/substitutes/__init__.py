"""Words that a language model expects in place of another."""
