#!/usr/bin/env bash
# Keras 3.15.1: Adagrad and Adam take two gradients of one row as two small ones.
#
# One would guess: a word that stands twice in a batch has the sum of both gradients, as in SGD, and
# as with a dense gradient.
# What happens: the squares are summed row by row, 1 + 1 in place of (1 + 1)², so that the step is
# 1.4 times too long; on one device too.
# Why it matters: embeddings of frequent words learn at another rate than the paper's. Sum repeated
# rows first, with tf.unique and tf.math.unsorted_segment_sum.
exec "$(dirname "$0")/with_packages" tensorflow==2.21.0 keras==3.15.1 <<'PY'
import keras
import tensorflow as tf

sparse = tf.IndexedSlices(tf.ones((2, 1)), tf.constant([1, 1]), (3, 1))  # row 1 twice
moved = {}
for name in ("SGD", "Adagrad", "Adam"):
    for gradient in (sparse, tf.convert_to_tensor(sparse)):
        table = keras.Variable(tf.zeros((3, 1)))
        getattr(keras.optimizers, name)(1.0).apply([gradient], [table])
        moved.setdefault(name, []).append(round(float(table[1, 0]), 3))
print("a row moved by its gradients, apart and summed:", moved)
assert moved["SGD"][0] == moved["SGD"][1]
assert all(moved[name][0] / moved[name][1] > 1.39 for name in ("Adagrad", "Adam"))
PY
