"""A C++ program that loads an export as TensorFlow Serving does."""

import os
import shutil
import subprocess

import numpy as np
import pytest
import tensorflow as tf

SOURCE = r"""
#include <sys/resource.h>
#include <cstdio>
#include <fstream>
#include "tensorflow/cc/saved_model/loader.h"
using tensorflow::Tensor;

// `main EXPORT OUTPUT SENTENCE...` prints the values of an output for sentences.
//
// `main EXPORT "" SIGNATURE ROWS SIZE...` sends requests: to `tokens` with ROWS rows of
// SIZE columns, the first of which has words in all; to `default` with ROWS sentences,
// the first of which has SIZE spaces. It prints the status of each, the number of values
// and the peak of memory in megabytes.
int main(int argc, char** argv) {
  tensorflow::SavedModelBundle bundle;
  TF_CHECK_OK(tensorflow::LoadSavedModel({}, {}, argv[1], {"serve"}, &bundle));
  const std::string output = argv[2];
  for (int i = 3; i < argc; i += 3) {
    const auto& signature = bundle.GetSignatures().at(output.empty() ? argv[i] : "default");
    std::vector<std::pair<std::string, Tensor>> inputs;
    const auto add = [&](const char* name, const Tensor& value) {
      inputs.emplace_back(signature.inputs().at(name).name(), value);
    };
    std::vector<std::string> names;
    for (const auto& [name, tensor] : signature.outputs())
      if (output.empty() || name == output) names.push_back(tensor.name());
    const int64_t rows = output.empty() ? atoll(argv[i + 1]) : argc - 3;
    Tensor sentences(tensorflow::DT_STRING, {rows});
    auto texts = sentences.flat<tensorflow::tstring>();
    if (!output.empty()) {
      for (int j = 0; j < rows; ++j) texts(j) = argv[i + j];
      add("sentences", sentences);
    } else if (std::string(argv[i]) == "tokens") {
      Tensor lengths(tensorflow::DT_INT32, {rows});
      lengths.flat<int>().setZero();
      if (rows) lengths.flat<int>()(0) = atoll(argv[i + 2]);
      add("tokens", Tensor(tensorflow::DT_STRING, {rows, atoll(argv[i + 2])}));
      add("sequence_len", lengths);
    } else {
      texts(0) = std::string(atoll(argv[i + 2]), ' ');
      add("sentences", sentences);
    }
    std::vector<Tensor> outputs;
    const auto status = bundle.session->Run(inputs, names, {}, &outputs);
    if (!output.empty()) {
      TF_CHECK_OK(status);
      const Tensor& found = outputs[0];
      for (int64_t j = 0; j < found.NumElements(); ++j)
        if (found.dtype() == tensorflow::DT_FLOAT)
          printf("%.9g\n", found.flat<float>()(j));
        else
          printf("%s\n", found.flat<tensorflow::tstring>()(j).c_str());
      return 0;
    }
    int64_t values = 0;
    for (const auto& found : outputs) values += found.NumElements();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%d %lld %ld\n", static_cast<int>(status.code()),
           static_cast<long long>(values), usage.ru_maxrss / 1024);
  }
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
    """The vectors `elmo` of sentences, from a program that is built in a folder."""
    return np.array(
        lines_of_cpp_program(folder, version, "elmo", *sentences), "float32"
    )


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
