"""Models with training_info made by onnx's helper functions, and what NumPy makes of them.

    simpletraining.py FOLDER

power.onnx reads no data: A·B is the model, and each step puts X·(A·B) in the place of B. adam.onnx and adagrad.onnx move W towards T by
the operators Adam and Adagrad of a Gradient, without an initialization.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PREVIEW = "ai.onnx.preview.training"
folder, r = sys.argv[1], np.random.RandomState(3)
want = {}


def info(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def model(name, graph, algorithm, bindings):
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid(PREVIEW, 1)])
    onnx.checker.check_model(m)
    m.training_info.append(helper.make_training_info(algorithm, bindings, None, None))
    onnx.save(m, os.path.join(folder, name + ".onnx"))


def power():
    a, b, x = (r.rand(2, 2).astype(np.float32) for _ in range(3))
    graph = helper.make_graph([helper.make_node("MatMul", ["A", "B"], ["C"])], "model", [info("A", 2, 2), info("B", 2, 2)], [info("C", 2, 2)],
                              [numpy_helper.from_array(a, "A"), numpy_helper.from_array(b, "B")])
    step = helper.make_graph([helper.make_node("MatMul", ["X", "C"], ["Y"])], "step", [info("X", 2, 2)], [info("Y", 2, 2)],
                             [numpy_helper.from_array(x, "X")])
    model("power", graph, step, [("B", "Y")])
    for _ in range(3):
        b = x @ (a @ b)
    want["power"] = b


def optimizer(op):
    w, t, rate = r.rand(4).astype(np.float32), r.rand(4).astype(np.float32), 0.1
    graph = helper.make_graph([helper.make_node("Mul", ["x", "W"], ["y"])], "model", [info("x", 4)], [info("y", 4)], [numpy_helper.from_array(w, "W")])
    states = ["V", "H"] if op == "Adam" else ["H"]
    attrs = {"alpha": 0.9, "beta": 0.99, "epsilon": 1e-2} if op == "Adam" else {"epsilon": 1e-2, "decay_factor": 0.5}
    new = [s + "_new" for s in ["W", *states]]
    nodes = [helper.make_node("Sub", ["y", "T"], ["error"]), helper.make_node("Mul", ["error", "error"], ["square"]),
             helper.make_node("ReduceSum", ["square"], ["loss"], keepdims=0),
             helper.make_node("Gradient", ["W"], ["dW"], domain=PREVIEW, xs=["W"], y="loss"),
             helper.make_node(op, ["R", "C", "W", "dW", *states], new, domain=PREVIEW, **attrs),
             helper.make_node("Add", ["C", "one"], ["C_new"])]
    first = [numpy_helper.from_array(np.array(rate, np.float32), "R"), numpy_helper.from_array(np.array(0, np.int64), "C"),
             numpy_helper.from_array(np.array(1, np.int64), "one")] + [numpy_helper.from_array(np.zeros(4, np.float32), s) for s in states]
    outputs = [info("loss"), *(info(n, 4) for n in new), helper.make_tensor_value_info("C_new", TensorProto.INT64, [])]
    model(op.lower(), graph, helper.make_graph(nodes, "step", [info("T", 4)], outputs, first), [(s, s + "_new") for s in ["W", "C", *states]])
    x = r.rand(4).astype(np.float32)
    v, h = np.zeros(4), np.zeros(4)
    for n in range(3):
        g = 2 * (x * w - t) * x
        if op == "Adam":
            v, h = 0.9 * v + 0.1 * g, 0.99 * h + 0.01 * g * g
            corrected = rate if n == 0 else rate * np.sqrt(1 - 0.99 ** n) / (1 - 0.9 ** n)
            w = w - corrected * v / (np.sqrt(h) + 1e-2)
        else:
            h = h + g * g
            w = w - rate / (1 + n * 0.5) * g / (np.sqrt(h) + 1e-2)
    want.update({op.lower() + ".x": x, op.lower() + ".T": t, op.lower(): w.astype(np.float32)})


power()
optimizer("Adam")
optimizer("Adagrad")
np.savez(os.path.join(folder, "want.npz"), **want)
