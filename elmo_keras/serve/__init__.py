"""The embedded server, with the interface of TensorFlow Serving."""
