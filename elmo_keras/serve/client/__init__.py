"""A client of the embedded server and of TensorFlow Serving."""
