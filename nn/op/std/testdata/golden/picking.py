"""Operators that pick, scatter and count elements."""
from golden import *


def run():
    x = some(3, 4)
    case("Gather", x, tensor([[0, 2], [-1, 1]], "int64"), types=ANY[:-1])
    case("Gather", x, tensor([[0, 2], [-1, 1]], "int64"), types=["string"], only=True, ref=lambda x, i: Tensor(x[i]))
    case("Gather", x, tensor([3, 0, -2], "int32"), axis=1)
    case("Gather", some(2, 3, 4), scalar(-1), axis=-2)
    case("GatherElements", x, tensor([[0, 2, -1, 1], [1, 1, 0, 2]], "int64"), types=ANY)
    case("GatherElements", x, tensor([[3], [-4], [1]], "int32"), axis=1)
    case("GatherElements", x, tensor([[3, 0], [0, 2], [1, 1]], "int64"), axis=-1)
    case("GatherND", some(2, 3, 4), tensor([[0, 2], [1, -1]], "int64"), types=ANY)
    case("GatherND", some(2, 3, 4), tensor([[[2, 1], [0, 3]], [[1, 0], [-1, -2]]], "int64"), batch_dims=1)
    case("GatherND", some(2, 2, 3, 4), tensor([[[2], [0]], [[1], [1]]], "int64"), batch_dims=2)
    case("GatherND", some(2, 3, 4), tensor([[1, 2, 3], [0, 0, 1]], "int64"))
    updates, at = some(2, 4, seed=2), tensor([[0, 2, 1, 1], [1, 0, 2, -3]], "int64")
    for op in ["Scatter", "ScatterElements"]:
        v = 10 if op == "Scatter" else LATEST
        case(op, x, at, updates, opset=v, types=ANY, vary=[0, 2])
        case(op, x, tensor([[3], [0], [1]], "int32"), some(3, 1, seed=3), opset=v, axis=1)
        case(op, x, tensor([[3, 0], [0, 2], [1, 3]], "int64"), some(3, 2, seed=3), opset=v, axis=-1)
    twice = tensor([[0, 2, 1, 1], [0, 0, 1, 1]], "int64")
    for reduction in ["add", "mul", "max", "min"]:
        case("ScatterElements", x, twice, updates, reduction=reduction, types=["float64", "int32"], vary=[0, 2])
        case("ScatterElements", some(2, 5), tensor([[1, 1, 4], [0, 3, 3]], "int64"), some(2, 3, seed=4), reduction=reduction, axis=1)
        case("ScatterND", some(3, 2, 2), tensor([[0], [2], [0]], "int64"), some(3, 2, 2, lo=-1.5, hi=1.7, seed=4), reduction=reduction, types=["float64", "int64"], vary=[0, 2])
        case("ScatterND", some(3, 4), tensor([[0, 1], [2, -1], [0, 1]], "int64"), some(3, seed=4), reduction=reduction)
    case("ScatterND", some(3, 4), tensor([[0, 1], [2, -1]], "int64"), some(2, seed=4), types=ANY, vary=[0, 2])
    case("ScatterND", some(3, 2, 2), tensor([[[2], [0]]], "int64"), some(1, 2, 2, 2, seed=4))
    case("Compress", some(3, 4), tensor([False, True, True], "bool"), axis=0, types=ANY)
    case("Compress", some(3, 4), tensor([True, False, False, True], "bool"), axis=-1)
    case("Compress", some(2, 3), tensor([False, True, False, True, True], "bool"))
    case("NonZero", tensor([[1, 0, 2], [0, 0, -3]], "float32"), types=["float64", "int8", "int32", "int64", "uint8", "bool", "float16", "bfloat16", "uint64"], nograd="integers", fixed=[0])
    case("NonZero", scalar(5.0, "float32"))
    repeated = tensor([2, 1, 1, 3, 4, 3], "float32")
    case("Unique", repeated, out=4, types=["float64", "int8", "int64", "string"], nograd="ties")
    case("Unique", repeated, out=4, types=["float16", "bfloat16", "uint8", "uint64", "bool"], only=True, ref=unique, nograd="ties")
    case("Unique", repeated, out=4, sorted=0, nograd="ties")
    case("Unique", tensor([[1, 0, 0], [1, 0, 0], [2, 3, 4]], "float32"), out=4, axis=0, nograd="ties")
    case("Unique", tensor([[1, 0, 1], [1, 0, 1], [2, 3, 2]], "float32"), out=4, axis=-1, sorted=0, nograd="ties")
    case("Unique", some(5), out=4, nolow="order")
    case("Unique", some(4, 2), axis=0, sorted=0)
    case("Unique", repeated, out=[True, False, True, False], nograd="ties")
    for t in ["float32", "float64", "float16", "bfloat16", "int8", "int32", "int64", "uint8"]:
        i = tensor([[0, 2], [1, 4]] if t == "uint8" else [[0, 2], [-1, 4]], t)
        case("OneHot", i, scalar(3), tensor([-1, 5], "float32"), ref=one_hot, rounded="float32", nograd="indices" if t[0] in "fb" else None)
    for t in ["float32", "float16", "bfloat16", "int32", "uint8", "float64"]:
        case("OneHot", tensor([0, 2, 1], "int64"), tensor([4], t), tensor([0, 2], "float32"), ref=one_hot, rounded="float32")
    for t in ["float64", "float16", "bfloat16", "int8", "int64", "uint16", "bool", "string"]:
        case("OneHot", ints(0, 2, 1), ints(4), tensor([-1, 1], "float32"), types=[t], only=True, ref=one_hot)
    case("OneHot", ints(0, 2), ints(3), tensor([-1, 5], "float32"), axis=0)
    case("OneHot", tensor([[0, 2]], "int64"), scalar(3), tensor([-1, 5], "float32"), axis=1)
    case("OneHot", tensor([[0, 2]], "int64"), scalar(3), tensor([-1, 5], "float32"), axis=-2)
    boxes = tensor([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], "float32")
    scores = tensor([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.2, 0.85, 0.6, 0.45, 0.5, 0.35]]], "float32")
    limit, iou, low = ints(2), tensor([0.5], "float32"), tensor([0.4], "float32")
    case("NonMaxSuppression", boxes, scores, limit, iou, tensor([0.0], "float32"), nograd="integers")
    case("NonMaxSuppression", boxes, scores, ints(4), iou, low, nograd="integers")
    case("NonMaxSuppression", boxes, scores, ints(6), tensor([0.95], "float32"), nograd="integers")
    case("NonMaxSuppression", boxes, scores, nograd="integers")
    flipped = Tensor(boxes.data[:, :, [2, 1, 0, 3]])
    case("NonMaxSuppression", flipped, scores, limit, iou, low, nograd="integers")
    center = tensor([[[0.5, 0.5, 1, 1.2], [0.5, 0.6, 1, 1.1], [0.5, 0.4, 1, 1], [0.5, 10.5, 1.5, 1], [0.5, 10.6, 1, 1], [0.5, 100.5, 1, 1]]], "float32")
    case("NonMaxSuppression", center, scores, ints(3), iou, low, center_point_box=1, nograd="integers")


def one_hot(i, depth, v):
    n = int(depth.ravel()[0])
    i = i.astype(np.int64)
    return np.where((i % n)[..., None] == np.arange(n), np.where((i >= -n) & (i < n), v[1], v[0])[..., None], v[0])


def unique(x, **_):
    v, first, back, count = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    return v, first.astype(np.int64), back.astype(np.int64), count.astype(np.int64)
