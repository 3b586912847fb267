"""ELMo in the shapes that programs of other libraries expect."""
