"""The weights that tasks give to the layers."""
