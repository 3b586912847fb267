"""ELMo in LiteRT: int8 or float32 on CPUs, without TensorFlow."""
