"""The files of a model: published layouts, read and written."""
