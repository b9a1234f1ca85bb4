"""Reductions, cumulative operators, softmax and what finds extremes."""
from golden import *

REDUCE = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"]


def reduced(op):
    """What ONNX Runtime lacks for integers, in NumPy."""
    f = {"ReduceL1": lambda x, **k: np.abs(x).sum(**k), "ReduceSumSquare": lambda x, **k: (x * x).sum(**k)}
    return f.get(op)


def run():
    for op in REDUCE:
        positive = op == "ReduceLogSum"
        x = some(2, 3, 4, lo=0.2 if positive else -2)
        v = 18 if op != "ReduceSum" else 13
        types = FLOATS + (["int32", "int64"] if op not in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean") else ["int32", "uint32"])
        if op in ("ReduceMax", "ReduceMin"):
            types = FLOATS + ["int8", "uint8", "int32", "int64", "uint32", "bool"]
        elif op in ("ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceProd"):
            types = types + ["int8", "uint8", "uint32", "uint64"]
        ref = None
        case(op, x, ints(1), types=FLOATS)
        small = some(2, 3, 2, lo=0.3 if positive else -1, hi=1.2, seed=5)
        if len(types) > len(FLOATS):
            case(op, small, ints(-1), types=[t for t in types if t not in FLOATS], only=True, ref=integral(op) if op in ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp") else None)
        case(op, x)
        case(op, x, ints(0, -1), keepdims=0)
        case(op, x, ints(0), keepdims=0, types=["float64"])
        case(op, x, ints(1, 2))
        case(op, x, ints(1), noop_with_empty_axes=1)
        if op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"):
            case(op, x, ints(), noop_with_empty_axes=1)
        case(op, x, opset=11, axes=[0, 2])
        case(op, x, opset=11, axes=[-2], keepdims=0)
        case(op, x, opset=11, axes=[1], via=lambda x, op=op: (op, [x], {"axes": [1]}, 11))
        if op in ("ReduceMax", "ReduceMin"):
            case(op, tensor([[1, 3, 3], [-2, -2, -5]], "float32"), ints(1), nograd="ties")
    x = some(3, 2, 4)
    ties = tensor([[[1, 3, 3, 2], [5, 0, 5, 5]], [[-1, -1, -4, -1], [2, 2, 2, 2]]], "float32")
    for op in ["ArgMax", "ArgMin"]:
        case(op, x, types=NUMERIC, axis=1, fixed=[0])
        case(op, x)
        case(op, x, axis=-1, keepdims=0)
        case(op, ties, axis=2)
        case(op, ties, axis=2, select_last_index=1, types=["float64", "int32"])
        case(op, ties, axis=0, select_last_index=1)
        case(op, x, opset=11, axis=-2)
    for op in ["Softmax", "LogSoftmax", "Hardmax"]:
        case(op, x, types=FLOATS)
        case(op, x, axis=1, types=["float64"])
        case(op, x, axis=0)
        case(op, x, opset=11, axis=2)
        case(op, x, opset=11)
        case(op, x, opset=11, axis=0)
        case(op, some(2, 5, lo=-300, hi=300), nolow="beyond float16")
    case("Hardmax", ties)
    case("CumSum", x, scalar(1), types=["float64", "int32", "int64"])
    case("CumSum", x, scalar(1), types=LOW, only=True)
    for t in ["int8", "uint8", "uint32", "uint64"]:
        case("CumSum", some(2, 3), scalar(1), types=[t], only=True, ref=lambda x, a: Tensor(np.cumsum(x, axis=1).astype(x.dtype)))
    case("CumSum", x, scalar(-1, "int32"), exclusive=1)
    case("CumSum", x, scalar(0), reverse=1)
    case("CumSum", x, scalar(2), reverse=1, exclusive=1)
    case("CumProd", x, scalar(1), types=FLOATS + ["int8", "int32", "int64", "uint8", "uint64"], opset=26, ref=cumprod, vary=[0])
    case("CumProd", x, scalar(-1, "int32"), exclusive=1, opset=26, ref=cumprod)
    case("CumProd", x, scalar(0), reverse=1, opset=26, ref=cumprod)
    case("CumProd", x, scalar(2), reverse=1, exclusive=1, opset=26, ref=cumprod)
    case("CumProd", tensor([[2, 0, 3, 0.5], [0, 4, 0, 2]], "float32"), scalar(1), opset=26, ref=cumprod)
    topk()


def integral(op):
    def f(x, axes, **_):
        w = x.astype(np.float64)
        k = dict(axis=-1, keepdims=True)
        if op == "ReduceMean":
            r = w.sum(**k) / x.shape[-1]
        elif op == "ReduceL2":
            r = np.sqrt((w * w).sum(**k))
        elif op == "ReduceLogSum":
            r = np.log(np.abs(w.sum(**k)))
        else:
            r = np.log(np.exp(w).sum(**k))
        return Tensor(np.trunc(r).astype(x.dtype))
    return f


def cumprod(x, axis, exclusive=0, reverse=0):
    a = int(axis)
    y = np.flip(x, a) if reverse else x
    if exclusive:
        one = np.ones_like(np.take(y, [0], a))
        y = np.concatenate([one, np.delete(y, y.shape[a] - 1, a)], a)
    y = np.cumprod(y, a, dtype=y.dtype)
    return np.flip(y, a) if reverse else y


def topk():
    x = some(3, 2, 5)
    case("TopK", x, ints(3), out=2, types=["float64", "int32", "int64", "int8", "uint8"])
    case("TopK", x, ints(3), out=2, types=LOW + ["uint64"], only=True, fixed=[1])
    case("TopK", x, ints(2), out=2, largest=0, axis=0)
    case("TopK", x, ints(2), out=2, largest=0, axis=-2)
    case("TopK", x, ints(5), out=2, sorted=1)
    case("TopK", tensor([[1, 3, 3, 2, 3], [5, 0, 5, 5, 0]], "float32"), ints(3), out=2, nograd="ties")
    case("TopK", tensor([[1, 3, 3, 2, 3], [5, 0, 5, 5, 0]], "float32"), ints(3), out=2, largest=0, nograd="ties")
    case("TopK", x, out=2, opset=9, k=2, axis=1)
    # Without an order the two largest of a row of which one comes first are the same set in their own order.
    case("TopK", tensor([[9, 1, 2, 3]], "float32"), ints(1), out=2, sorted=0)
