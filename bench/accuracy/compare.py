#!/usr/bin/python3
"""Errors of operators in units in the last place, of graft, ONNX Runtime and PyTorch, over inputs at which arithmetic goes wrong.

    compare.py GRAFT --ort FOLDER [--table docs/accuracy.md] [NAME…]    GRAFT is the binary of this folder

The exact result is computed in float64 from the float32 inputs. An error is counted in units of the float32 numbers around
the exact result; for sums in those around the sum of absolute values. Special are the elements of which one is NaN, infinite
or of the other sign and the other is not.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from onnx import TensorProto, helper

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import operators  # noqa: E402

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"


class Runner:
    def __init__(self, *command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, model, files, out):
        self.p.stdin.write(" ".join([model, *files, out]) + "\n")
        self.p.stdin.flush()
        answer = self.p.stdout.readline().strip()
        return np.fromfile(out, np.float32) if answer == "ok" else answer


def write(case, folder):
    """The model of one operator; inputs of integers become initializers."""
    names = [f"x{i}" for i in range(len(case.inputs))]
    inputs, constants, files = [], [], []
    for name, x in zip(names, case.inputs):
        if x.dtype == np.float32:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape))
            files.append(os.path.join(folder, name))
            x.tofile(files[-1])
        else:
            constants.append(onnx.numpy_helper.from_array(x.astype(np.int64), name))
    node = helper.make_node(case.op, names, ["y"], **case.attrs)
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)])
    model.ir_version = 8
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    return path, files


def spacing(x):
    """The distance between the float32 numbers around x."""
    exponent = np.frexp(np.abs(x))[1] - 24
    return np.ldexp(1.0, np.clip(exponent, -149, 104))


def measure(got, exact, scale):
    """Worst error, its 99.9th percentile, the number of special elements, and where the worst is."""
    rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded) & np.isfinite(got)
    special = ~finite & ~((np.isnan(rounded) & np.isnan(got)) | (rounded == got)) | finite & (rounded == 0) & (got == 0) & (np.signbit(rounded) != np.signbit(got)) & (exact == 0)
    error = np.zeros(exact.shape)
    error[finite] = np.abs(got[finite].astype(np.float64) - exact[finite]) / spacing(scale[finite])
    worst = int(error.argmax())
    return error[worst], np.quantile(error[finite], 0.999) if finite.any() else 0, int(special.sum()), worst, np.flatnonzero(special)


def number(x):
    return f"{x:.2f}" if x < 100 else f"{x:.2g}"


def main():
    a = argparse.ArgumentParser()
    a.add_argument("graft")
    a.add_argument("--ort", required=True)
    a.add_argument("--table")
    a.add_argument("-v", action="store_true", help="where the worst and the special elements are")
    a.add_argument("names", nargs="*")
    o = a.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    peers = [Runner(o.graft), Runner("node", os.path.join(here, "onnxruntime.js"), o.ort)]
    lines = ["| operator | elements | graft | ONNX Runtime | PyTorch | special: graft | ONNX Runtime | PyTorch |\n", "|---|---:|---:|---:|---:|---:|---:|---:|\n"]
    for case in operators.cases():
        if o.names and case.name not in o.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model, files = write(case, folder)
            results = [p.run(model, files, os.path.join(folder, "y")) for p in peers]
        wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in case.inputs]
        exact = np.asarray(case.exact(*wide), np.float64)
        scale = np.broadcast_to(case.scale(*wide), exact.shape).ravel() if case.scale else exact.ravel()
        exact = exact.ravel()
        results.append(case.torch(*[torch.from_numpy(x) for x in case.inputs]).numpy().ravel())
        cells, special = [], []
        for who, got in zip(["graft", "ONNX Runtime", "PyTorch"], results):
            if isinstance(got, str) or got.size != exact.size:
                print(case.name, who, got if isinstance(got, str) else got.size, file=sys.stderr)
                cells.append("–")
                special.append("–")
                continue
            worst, most, count, at, where = measure(got, exact, scale)
            cells.append(f"{number(worst)} ({number(most)})")
            special.append(str(count))
            if o.v:
                x = [i.ravel()[at] if i.size == exact.size else "" for i in case.inputs]
                print(f"{case.name} {who}: {worst:.4g} at {x}: {got[at]!r}, exact {exact[at]!r}")
                for k in where[:6]:
                    print(f"    special at {[i.ravel()[k] for i in case.inputs if i.size == exact.size]}: {got[k]!r}, exact {exact[k]!r}")
        lines.append(f"| {case.name} | {exact.size:,} | {' | '.join(cells)} | {' | '.join(special)} |\n")
        print(lines[-1], end="", flush=True)
    if o.table:
        with open(o.table) as f:
            text = f.read()
        head, rest = text.split(BEGIN)
        with open(o.table, "w") as f:
            f.write(head + BEGIN + "".join(lines) + END + rest.split(END)[1])


main()
