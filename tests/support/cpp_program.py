"""A C++ program that loads an export as TensorFlow Serving does."""

import os
import shutil
import subprocess

import pytest
import tensorflow as tf

SOURCE = r"""
#include <cstdio>
#include "tensorflow/cc/saved_model/loader.h"

// `main EXPORT OUTPUT SENTENCE...` prints the values of an output for sentences.
int main(int argc, char** argv) {
  tensorflow::SavedModelBundle bundle;
  TF_CHECK_OK(tensorflow::LoadSavedModel({}, {}, argv[1], {"serve"}, &bundle));
  const auto& signature = bundle.GetSignatures().at("default");
  tensorflow::Tensor sentences(tensorflow::DT_STRING, {argc - 3});
  auto texts = sentences.flat<tensorflow::tstring>();
  for (int i = 3; i < argc; ++i) texts(i - 3) = argv[i];
  std::vector<tensorflow::Tensor> outputs;
  TF_CHECK_OK(bundle.session->Run(
      {{signature.inputs().at("sentences").name(), sentences}},
      {signature.outputs().at(argv[2]).name()}, {}, &outputs));
  for (int64_t i = 0; i < outputs[0].NumElements(); ++i)
    printf("%.9g\n", outputs[0].flat<float>()(i));
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


def lines_of_cpp_program(folder, *arguments):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    library, main = tf.sysconfig.get_lib(), folder / "main"
    (folder / "main.cc").write_text(SOURCE)
    # The session is in the first library, which no symbol of the program asks for.
    linked = f"-Wl,--no-as-needed,-rpath,{library}", f"-L{library}"
    linked += "-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"
    flags = tf.sysconfig.get_compile_flags()
    run("g++", folder / "main.cc", "-o", main, "-O0", *flags, *linked)
    return run(main, *arguments).split("\n")[:-1]
