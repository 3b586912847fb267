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


STRINGS = CPP.replace(
    "  const auto values = outputs[0].flat<float>();",
    "  const auto values = outputs[0].flat<tensorflow::tstring>();",
).replace('printf("%.9g\\n", values(i));', 'printf("%s\\n", values(i).c_str());')


def run(*command, **kwargs):
    """Runs a program that has to succeed; returns what it prints."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, **kwargs
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


HOSTILE = r"""
#include <sys/resource.h>
#include <cstdio>
#include <cstring>
#include "tensorflow/cc/saved_model/loader.h"

// Sends requests, three arguments each: `tokens ROWS COLUMNS`, whose first row has words
// in all columns, and `default ROWS SPACES`, whose first sentence has spaces only. Prints
// the status of each, the number of values and the peak of memory in megabytes.
int main(int argc, char** argv) {
  tensorflow::SavedModelBundle bundle;
  TF_CHECK_OK(tensorflow::LoadSavedModel({}, {}, argv[1],
              {"serve"}, &bundle));
  for (int i = 2; i + 2 < argc; i += 3) {
    const auto& signature = bundle.GetSignatures().at(argv[i]);
    const int64_t rows = atoll(argv[i + 1]), size = atoll(argv[i + 2]);
    std::vector<std::pair<std::string, tensorflow::Tensor>> inputs;
    if (!strcmp(argv[i], "tokens")) {
      tensorflow::Tensor lengths(tensorflow::DT_INT32, {rows});
      lengths.flat<int>().setZero();
      if (rows) lengths.flat<int>()(0) = size;
      inputs = {{signature.inputs().at("tokens").name(),
                 tensorflow::Tensor(tensorflow::DT_STRING, {rows, size})},
                {signature.inputs().at("sequence_len").name(), lengths}};
    } else {
      tensorflow::Tensor sentences(tensorflow::DT_STRING, {rows});
      sentences.flat<tensorflow::tstring>()(0) = std::string(size, ' ');
      inputs = {{signature.inputs().at("sentences").name(), sentences}};
    }
    std::vector<std::string> names;
    for (const auto& output : signature.outputs())
      names.push_back(output.second.name());
    std::vector<tensorflow::Tensor> outputs;
    const auto status = bundle.session->Run(inputs, names, {}, &outputs);
    int64_t values = 0;
    for (const auto& output : outputs) values += output.NumElements();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%d %lld %ld\n", static_cast<int>(status.code()),
           static_cast<long long>(values), usage.ru_maxrss / 1024);
  }
}
"""


def values_of_cpp_program(folder, version, sentences):
    """The values of `elmo` for sentences, from a program that is built in a folder."""
    _build(folder, CPP)
    return np.array(run(folder / "main", version, *sentences).split(), "float32")


def strings_of_cpp_program(folder, version, sentences, *, output):
    """The values of an output of strings, from a program that is built in a folder."""
    _build(folder, STRINGS.replace('.at("elmo")', f'.at("{output}")'))
    return run(folder / "main", version, *sentences).split("\n")[:-1]


def answers_to_requests(folder, version, requests):
    """Status code, number of values and peak of memory after each request.

    Args:
        folder: where the program is built.
        version: the export.
        requests: signature, rows and size of each, see the program.
    """
    _build(folder, HOSTILE)
    arguments = [str(x) for request in requests for x in request]
    printed = run(folder / "main", version, *arguments)
    return [tuple(map(int, line.split())) for line in printed.splitlines()]


def _build(folder, source):
    library = tf.sysconfig.get_lib()
    (folder / "main.cc").write_text(source)
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
