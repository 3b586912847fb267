"""A C++ program that loads an export as TensorFlow Serving does."""

import os
import subprocess

import numpy as np
import tensorflow as tf

CPP = r"""
#include <cstdio>
#include <fstream>
#include "tensorflow/cc/saved_model/loader.h"

// Prints the values of `elmo` for the sentences in the arguments.
int main(int argc, char** argv) {
  tensorflow::SavedModelBundle bundle;
  TF_CHECK_OK(tensorflow::LoadSavedModel({}, {}, argv[1],
              {"serve"}, &bundle));
  const auto& signature = bundle.GetSignatures().at("default");
  tensorflow::Tensor sentences(tensorflow::DT_STRING, {argc - 2});
  for (int i = 2; i < argc; ++i)
    sentences.vec<tensorflow::tstring>()(i - 2) = argv[i];
  std::vector<tensorflow::Tensor> outputs;
  TF_CHECK_OK(bundle.session->Run(
      {{signature.inputs().at("sentences").name(), sentences}},
      {signature.outputs().at("elmo").name()}, {}, &outputs));
  const auto values = outputs[0].flat<float>();
  for (int64_t i = 0; i < values.size(); ++i) printf("%.9g\n", values(i));
}
"""


def run(*command, **kwargs):
    """Runs a program that has to succeed; returns what it prints."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, **kwargs
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def values_of_cpp_program(folder, version, sentences):
    """The values of `elmo` for sentences, from a program that is built in a folder."""
    library = tf.sysconfig.get_lib()
    (folder / "main.cc").write_text(CPP)
    run(
        *("g++", folder / "main.cc", "-o", folder / "main", "-O0"),
        *tf.sysconfig.get_compile_flags(),
        # The session is in the first library, which no symbol of the program asks for.
        f"-Wl,--no-as-needed,-rpath,{library}",
        *(
            f"-L{library}",
            "-l:libtensorflow_cc.so.2",
            "-l:libtensorflow_framework.so.2",
        ),
    )
    return np.array(run(folder / "main", version, *sentences).split(), "float32")
