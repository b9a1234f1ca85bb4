"""Expected values of operators, computed by ONNX Runtime or, where it lacks an operator or an element type, by NumPy.

A case is one call: case("Gemm", a, b, alpha=0.5, types=FLOATS). It is written once for float32 and once for each further
element type. 16-bit floats are computed in float32 from inputs that they can hold, and rounded; types that ONNX Runtime
lacks an operator for are computed in the next wider one that it has.
"""
import base64
import inspect
import json
import math
import os
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
LATEST = 24  # the youngest operator set that is asked of ONNX Runtime

CODES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9,
         "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
         "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22,
         "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26}
PASSED = {"float32", "float64", "float16", "bool", "string", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
LOW = ["float16", "bfloat16"]
FLOATS = ["float64"] + LOW
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
NUMERIC = FLOATS + INTEGERS
SOME = FLOATS + ["int8", "int64", "uint8", "uint64"]
ANY = ["float64", "float16", "bfloat16", "int8", "int64", "uint16", "uint64", "bool", "string"]


class Tensor:
    """An element type of ONNX and numbers that it can hold."""

    def __init__(self, data, type=None):
        data = np.asarray(data)
        if type is None:
            type = {"float64": "float32", "object": "string"}.get(data.dtype.name, data.dtype.name)
            if data.dtype.kind == "U":
                type = "string"
        self.type, self.data = type, store(data, type)

    @property
    def shape(self):
        return self.data.shape


def store(data, type):
    if type == "string":
        return data.astype(object)
    if type == "bfloat16":
        bits = np.atleast_1d(np.asarray(data, np.float32)).view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        out = bits.astype(np.uint32).view(np.float32).reshape(np.shape(data))
        return np.where(np.isnan(data), np.float32(np.nan), out)
    if type in PASSED or type.startswith("complex"):
        return data.astype(type)
    return data.astype(np.float32)


def tensor(data, type):
    return Tensor(np.array(data), type)


def ints(*v):
    return Tensor(np.array(v, np.int64))


def scalar(v, type="int64"):
    return Tensor(np.array(v), type)


def some(*shape, lo=-2.0, hi=2.0, seed=1):
    """Distinct float32 numbers between lo and hi in random order, no two close, none near zero."""
    n = int(np.prod(shape, dtype=int))
    v = lo + (np.arange(n) + 0.5) * (hi - lo) / max(n, 1)
    v = np.round(np.where(np.abs(v) < 0.03, 0.04, v), 3)
    return Tensor(np.random.RandomState(seed).permutation(v).reshape(shape).astype(np.float32))


def convert(t, type):
    """The tensor of a case for another element type: numbers that the type can hold."""
    x = t.data
    if type == "bool":
        return Tensor(x > 0)
    if type == "string":
        return Tensor(np.array([f"s{v:g}" for v in x.ravel()], object).reshape(x.shape))
    if type in INTEGERS:
        x = np.rint(np.nan_to_num(x.astype(np.float64), posinf=20, neginf=-20) * 4)
        return Tensor(np.abs(x) if type in UNSIGNED else x, type)
    return Tensor(x, type)


def spelled(v):
    if isinstance(v, (bool, np.bool_)):
        return "1" if v else "0"
    if isinstance(v, (int, np.integer)):
        return str(v)
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    s = np.format_float_positional(v, trim="-", unique=True) if 1e-4 < abs(v) < 1e7 or v == 0 else np.format_float_scientific(v, trim="-", unique=True)
    g = f"{float(v):.9g}"
    return min(s, g, key=len) if float(g) == float(v) or isinstance(v, np.float64) else s


def written(t):
    if t is None:
        return None
    if isinstance(t, list):
        return [written(x) for x in t]
    if isinstance(t, dict):
        return {k: written(x) if isinstance(x, (Tensor, list)) else x for k, x in t.items()}
    if t.type == "string":
        return {"shape": list(t.shape), "strings": [str(s) for s in t.data.ravel()]}
    elems = t.data.ravel()
    if t.type.startswith("complex"):
        elems = np.stack([elems.real, elems.imag], -1).ravel()
    return " ".join([f"{t.type}[{','.join(map(str, t.shape))}]"] + [spelled(v) for v in elems])


class Runtime:
    """ONNX Runtime in a process of node; internal/oracle/ort.js says what it reads and writes."""

    def __init__(self):
        home = os.environ.get("GRAFT_ORT") or os.path.expanduser("~/.cache/graft/ort")
        script = open(os.path.join(HERE, "../../../../../internal/oracle/ort.js")).read()
        self.process = subprocess.Popen(["node", "-e", script, "--", home], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = json.loads(self.process.stdout.readline())["ready"]

    def run(self, domain, op, ins, attrs, outputs, opset):
        """The outputs of one node. A type that node cannot pass is cast on the way in and out."""
        nodes, infos, feeds, names = [], [], {}, []
        for i, t in enumerate(ins):
            if t is None:
                names.append("")
                continue
            name, type = f"in{i}", t.type
            if type not in PASSED:
                nodes.append(helper.make_node("Cast", [name], [name + "_"], to=CODES[type]))
                type, name = "float32", name + "_"
            names.append(name)
            infos.append(helper.make_tensor_value_info(f"in{i}", CODES[type], t.shape))
            feeds[f"in{i}"] = passed(Tensor(t.data, type))
        outs = [f"out{i}" for i in range(len(outputs))]
        node = helper.make_node(op, names, outs, domain=domain)
        for k, v in attrs.items():
            node.attribute.append(attribute(k, v))
        nodes.append(node)
        final = []
        for o in outs:
            final.append(helper.ValueInfoProto())
            final[-1].name = o
        imports = [helper.make_opsetid(domain, opset)]
        if domain:
            imports.append(helper.make_opsetid("", LATEST))
        model = helper.make_model(helper.make_graph(nodes, "g", infos, final), opset_imports=imports, ir_version=10)
        return [t if want else None for t, want in zip(self.ask(model, feeds, outs), outputs)]

    def ask(self, model, feeds, outs):
        line = json.dumps({"model": base64.b64encode(model.SerializeToString()).decode(), "inputs": feeds})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        if not reply:
            start()
            raise Refused("ONNX Runtime died")
        answer = json.loads(reply)
        if "error" in answer:
            raise Refused(answer["error"])
        return [received(answer["outputs"][o]) for o in outs]


class Refused(Exception):
    pass


def passed(t):
    if t.type == "string":
        return {"dtype": "string", "shape": list(t.shape), "strings": [str(s) for s in t.data.ravel()]}
    return {"dtype": t.type, "shape": list(t.shape), "data": base64.b64encode(np.ascontiguousarray(t.data).tobytes()).decode()}


def received(t):
    if t["dtype"] == "string":
        return Tensor(np.array(t["strings"], object).reshape(t["shape"]), "string")
    return Tensor(np.frombuffer(base64.b64decode(t["data"]), t["dtype"]).reshape(t["shape"]), t["dtype"])


def attribute(name, v):
    if isinstance(v, Tensor):
        if v.type == "string":
            v = helper.make_tensor(name, CODES["string"], v.shape, [str(s).encode() for s in v.data.ravel()])
        else:
            v = helper.make_tensor(name, CODES[v.type], v.shape, v.data.tobytes(), raw=True)
    if isinstance(v, bool):
        v = int(v)
    return helper.make_attribute(name, v)


files, runtime, problems = {}, None, []


def start():
    global runtime
    runtime = Runtime()


def wider(type):
    """The types in which outputs of an element type are computed, in the order in which they are tried."""
    if type in LOW:
        return ["float32"]
    if type == "float64":
        return ["float64", "float32"]
    if type in INTEGERS:
        return [type, "int32", "int64", "float32"] if type != "uint64" else [type, "int64", "float32"]
    if type == "bool":
        return ["bool", "uint8", "int32", "float32"]
    return [type]


def case(op, *ins, out=1, opset=LATEST, types=(), vary=None, ref=None, via=None, tol=None, nograd=None, nolow=None, nowide=None, fixed=(), rounded=None, only=False, domain="", train=False, attrs=None, **kw):
    """Writes a call for float32 (not with only) and for types, in the inputs numbered in vary (None: all that are float32).
    out is the number of outputs or a list of which have a name. ref(*arrays, **attributes) computes what ONNX Runtime lacks;
    via(*tensors) gives another call (operator, tensors, attributes, operator set) of the same value. nograd says
    why gradients are not compared, nolow and nowide why results in float16 and float64 are not. fixed lists the outputs whose
    type does not follow the inputs', rounded is a type that all outputs are brought to."""
    attrs = dict(attrs or {}, **kw)
    wanted = [True] * out if isinstance(out, int) else out
    if vary is None:
        vary = [i for i, t in enumerate(ins) if isinstance(t, Tensor) and t.type == "float32"]
    for type in ([] if only else [None]) + list(types):
        use = [convert(t, type) if type and i in vary else t for i, t in enumerate(ins)]
        try:
            got, by = compute(domain, op, use, attrs, wanted, opset, type, vary, ref, via, fixed)
        except (Refused, Exception) as e:
            problems.append(f"{op} {type or ''} {attrs}: {str(e)[:300]}")
            continue
        if rounded:
            got = [Tensor(np.trunc(t.data) if rounded in INTEGERS else t.data, rounded) for t in got]
        line = {"op": op, "domain": domain, "opset": opset, "attrs": {k: {"tensor": written(v)} if isinstance(v, Tensor) else v for k, v in attrs.items()},
                "in": [written(t) for t in use], "out": [written(t) for t in got], "by": by, "tol": tol, "nograd": nograd, "nolow": nolow, "nowide": nowide, "train": train}
        if any(not w for w in wanted):
            line["skip"] = [i for i, w in enumerate(wanted) if not w]
        files.setdefault((domain + "." if domain else "") + op, []).append({k: v for k, v in line.items() if v not in (None, "", [], {}, False) or k == "out"})


def compute(domain, op, ins, attrs, wanted, opset, type, vary, ref, via, fixed):
    refusal = None
    for wide in wider(type) if type else [None]:
        use = [Tensor(t.data, wide) if wide and i in vary and wide != t.type else t for i, t in enumerate(ins)]
        try:
            if ref:
                got, by = referenced(ref, use, attrs, wide or "float32", len(wanted)), "NumPy"
            elif via:
                o, i, a, v = via(*use)
                got, by = runtime.run(domain, o, i, a, wanted, v), "ONNX Runtime, " + o
            else:
                got, by = runtime.run(domain, op, use, attrs, wanted, opset), "ONNX Runtime"
        except Refused as e:
            refusal = refusal or e
            continue
        return [Tensor(t.data, type) if isinstance(t, Tensor) and wide and t.type == wide and i not in fixed else t for i, t in enumerate(got)], by
    raise refusal


def referenced(ref, use, attrs, type, count):
    args = [t.data.astype(np.float64) if isinstance(t, Tensor) and t.type in ("float32", "float64") else t.data if isinstance(t, Tensor) else t for t in use]
    got = ref(*args, **attrs)
    got = got if isinstance(got, tuple) else (got,)
    got = got[:count]
    keep = "float64" if type == "float64" or any(isinstance(t, Tensor) and t.type == "float64" for t in use) else "float32"
    return [t if t is None or isinstance(t, (Tensor, list, dict)) else Tensor(t, keep if np.asarray(t).dtype.kind == "f" else None) for t in got]


def write():
    for name in os.listdir(HERE):
        if name.endswith(".jsonl"):
            os.remove(os.path.join(HERE, name))
    total = 0
    for name, lines in sorted(files.items()):
        with open(os.path.join(HERE, name + ".jsonl"), "w") as f:
            for line in lines:
                f.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        total += len(lines)
    print(f"{total} cases of {len(files)} operators by ONNX Runtime {runtime.version} and NumPy {np.__version__}")
    for p in problems[:40]:
        print("PROBLEM", p, file=sys.stderr)
    return not problems
