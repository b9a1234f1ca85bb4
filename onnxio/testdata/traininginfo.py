"""A model with training_info made by onnx's helper functions, in the manner of the standard's text: a linear layer, the
squared error, Gradient and Momentum.

    traininginfo.py make FILE     writes it
    traininginfo.py check FILE    checks a file with onnx and prints its bindings
"""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PREVIEW = "ai.onnx.preview.training"


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def make(path):
    w = np.arange(6, dtype=np.float32).reshape(3, 2) / 10
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["X", "W", "B"], ["Y"], name="gemm")], "linear", [info("X", ["N", 3])], [info("Y", ["N", 2])],
        [numpy_helper.from_array(w, "W"), numpy_helper.from_array(np.zeros(2, np.float32), "B")])
    step = helper.make_graph(
        [helper.make_node("Sub", ["Y", "T"], ["error"]), helper.make_node("Mul", ["error", "error"], ["square"]),
         helper.make_node("ReduceMean", ["square"], ["loss"], keepdims=0),
         helper.make_node("Gradient", ["W", "B", "X", "T"], ["dW", "dB"], domain=PREVIEW, xs=["W", "B"], zs=["X", "T"], y="loss"),
         helper.make_node("Momentum", ["R", "C", "W", "B", "dW", "dB", "vW", "vB"], ["W_new", "B_new", "vW_new", "vB_new"],
                          domain=PREVIEW, alpha=0.9, beta=1.0, mode="standard", norm_coefficient=0.0)],
        "step", [info("T", ["N", 2])],
        [info("loss", []), info("W_new", [3, 2]), info("B_new", [2]), info("vW_new", [3, 2]), info("vB_new", [2])],
        [numpy_helper.from_array(np.array(0.1, np.float32), "R"), numpy_helper.from_array(np.array(0, np.int64), "C"),
         numpy_helper.from_array(np.zeros((3, 2), np.float32), "vW"), numpy_helper.from_array(np.zeros(2, np.float32), "vB")])
    start = helper.make_graph(
        [helper.make_node("RandomNormal", [], ["W_first"], shape=[3, 2], scale=0.1, seed=1.0)], "start", [], [info("W_first", [3, 2])])
    bindings = {"W": "W_new", "B": "B_new", "vW": "vW_new", "vB": "vB_new"}
    training = helper.make_training_info(step, list(bindings.items()), start, [("W", "W_first")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid(PREVIEW, 1)])
    model.training_info.append(training)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def check(path):
    model = onnx.load(path)
    onnx.checker.check_model(model)
    for t in model.training_info:
        onnx.checker.check_model(model)
        print(" ".join(f"{b.key}:{b.value}" for b in t.update_binding))


{"make": make, "check": check}[sys.argv[1]](sys.argv[2])
