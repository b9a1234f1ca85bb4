"""Writes kitchen.onnx: a model that holds every kind of thing a file can hold, as far as onnx 1.12
knows it. Element i of every initializer is i - 1 (unsigned: i), strings are "s0", "s1", ...

Run with Python 3, onnx 1.12 and numpy: python3 make_kitchen.py
"""
import os

import numpy as np
from onnx import TensorProto as T, helper as h, numpy_helper, save

here = os.path.dirname(os.path.abspath(__file__))
N = 6
counts = np.arange(N) - 1


def initializers():
    yield h.make_tensor("string", T.STRING, (N,), [b"s%d" % i for i in range(N)])
    for name in ("FLOAT", "DOUBLE", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64",
                 "FLOAT16", "BFLOAT16", "BOOL", "COMPLEX64", "COMPLEX128"):
        kind = getattr(T, name)
        unsigned = name.startswith("U") or name == "BOOL"
        values = np.arange(N) if unsigned else counts
        yield h.make_tensor(name.lower() + "_typed", kind, (2, N // 2), values.tolist())
        if name != "BFLOAT16":
            np_type = h.mapping.TENSOR_TYPE_TO_NP_TYPE[kind]
            yield numpy_helper.from_array(values.astype(np_type).reshape(2, N // 2), name.lower() + "_raw")
    yield h.make_tensor("scalar", T.FLOAT, (), [-1.0])
    yield h.make_tensor("empty", T.INT64, (0, 3), [])


def sparse(name, indices, dims):
    return h.make_sparse_tensor(
        h.make_tensor(name, T.FLOAT, (2,), [1.5, -2.0]),
        numpy_helper.from_array(np.array(indices, np.int64), name + "_indices"), dims)


def branch(name, value):
    node = h.make_node("Constant", [], [name], value_float=value)
    return h.make_graph([node], name + "_graph", [], [h.make_tensor_value_info(name, T.FLOAT, ())])


float_type = h.make_tensor_type_proto(T.FLOAT, ["N", None, 3])
nodes = [
    h.make_node("If", ["c"], ["y"], "choice", then_branch=branch("a", 1.0), else_branch=branch("b", 2.0),
                doc_string="a node with subgraphs"),
    h.make_node("Own", ["x", "", "y"], ["z"], domain="graft.test", f=1.5, i=-3, s="text", fs=[1.0, 2.0], ints=[1, 2],
                strings=["a", "b"], t=h.make_tensor("t", T.INT32, (1,), [7]), st=sparse("inner", [0, 2], (3,)),
                tp=float_type),
]
function = h.make_function("graft.test", "Own", ["p", "q", "r"], ["o"], [h.make_node("Add", ["p", "r"], ["o"])],
                           [h.make_opsetid("", 16)], ["f"])
graph = h.make_graph(
    nodes, "kitchen", [
        h.make_value_info("c", h.make_tensor_type_proto(T.BOOL, ())),
        h.make_value_info("x", float_type, "an input"),
        h.make_value_info("seq", h.make_sequence_type_proto(float_type)),
        h.make_value_info("opt", h.make_optional_type_proto(h.make_sequence_type_proto(float_type))),
    ], [h.make_value_info("z", float_type)], list(initializers()), "all in one",
    [h.make_tensor_value_info("y", T.FLOAT, None)], [sparse("linear", [1, 5], (2, 3)), sparse("coordinates", [[0, 1], [1, 2]], (2, 3))])
q = graph.quantization_annotation.add(tensor_name="x")
q.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scalar")
model = h.make_model(graph, functions=[function], producer_name="graft", producer_version="", model_version=3,
                     opset_imports=[h.make_opsetid("", 16), h.make_opsetid("graft.test", 1)], ir_version=8)
h.set_model_props(model, {"key": "value"})
t = model.training_info.add()
t.algorithm.name = "step"
t.update_binding.add(key="x", value="z")
save(model, os.path.join(here, "kitchen.onnx"))
