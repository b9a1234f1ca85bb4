"""Operators that move elements or give shapes."""
from golden import *


def run():
    x, y = some(2, 3, 4), some(3, 4)
    case("Reshape", x, ints(4, -1), types=ANY)
    case("Reshape", x, ints(0, 2, 6))
    case("Reshape", some(0, 3, 4), ints(3, 0), allowzero=1, nograd="empty")
    case("Reshape", x, opset=4, shape=[6, 4], via=lambda x: ("Reshape", [x, ints(6, 4)], {}, 13))
    case("Reshape", x, opset=4, shape=[6, 4], consumed_inputs=[0], via=lambda x: ("Reshape", [x, ints(6, 4)], {}, 13))
    case("Flatten", x, types=ANY)
    for axis in [0, 2, 3, -1]:
        case("Flatten", x, axis=axis)
    case("Squeeze", some(1, 3, 1, 2), ints(-2), types=ANY)
    case("Squeeze", some(1, 3, 1, 2))
    case("Squeeze", some(1, 3, 1, 2), opset=11, axes=[0, 2])
    case("Unsqueeze", y, ints(0, -1), types=ANY)
    case("Unsqueeze", y, opset=11, axes=[1, 3])
    case("Transpose", x, types=ANY)
    for perm in [[1, 0, 2], [0, 2, 1], [2, 0, 1], [1, 2, 0]]:
        case("Transpose", x, perm=perm)
    case("Transpose", some(2, 3, 2, 4), perm=[0, 3, 1, 2], types=["float64", "int8", "float16"])
    case("Expand", some(3, 1), ints(2, 1, 4), types=ANY)
    case("Expand", y, ints(1, 1))
    case("Tile", some(2, 3), ints(2, 3), types=["float64", "int8", "int32", "int64", "uint8", "bool", "string", "float16", "bfloat16"])
    case("Tile", x, ints(1, 2, 1))
    case("Tile", y, tensor([2], "float32"), tensor([1], "float32"), opset=1, via=lambda x, n, a: ("Tile", [x, ints(1, 2)], {}, 13))
    case("Concat", y, some(2, 4, seed=2), axis=0, types=ANY)
    case("Concat", some(2, 3), some(2, 1, seed=2), some(2, 2, seed=3), axis=-1)
    case("Concat", x, axis=1)
    case("Split", some(2, 6), ints(1, 2, 3), out=3, axis=1, types=ANY)
    case("Split", x, out=2, opset=13)
    case("Split", some(5, 3), out=3, num_outputs=3)
    case("Split", some(3, 5), out=2, axis=-1, num_outputs=2)
    case("Split", some(2, 6), out=2, opset=11, axis=1, split=[2, 4])
    case("Split", some(2, 6), ints(2, 4), out=[False, True], axis=1)
    slices(x)
    pads(x, y)
    case("DepthToSpace", some(2, 8, 2, 3), blocksize=2, types=["float64", "float16", "int8", "uint8"])
    case("DepthToSpace", some(2, 8, 2, 3), blocksize=2, mode="CRD")
    case("DepthToSpace", some(1, 18, 1, 2), blocksize=3, mode="DCR")
    case("DepthToSpace", some(1, 8, 3, 2), blocksize=2, types=["bfloat16", "int64", "uint16", "bool"], only=True)
    case("SpaceToDepth", some(2, 2, 4, 6), blocksize=2, types=["float64", "float16"])
    case("SpaceToDepth", some(2, 1, 2, 4), blocksize=2, types=["bfloat16", "int8", "uint32", "bool"], only=True)
    case("SpaceToDepth", some(1, 2, 3, 6), blocksize=3)
    case("DepthToSpace", texts(1, 4, 1, 2), blocksize=2, ref=lambda x, blocksize: Tensor(x.reshape(1, 2, 2, 1, 1, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 2, 4)))
    case("SpaceToDepth", texts(1, 1, 2, 4), blocksize=2, ref=lambda x, blocksize: Tensor(x.reshape(1, 1, 1, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 4, 1, 2)))
    square = some(2, 3, 4)
    case("Trilu", square, types=["float64", "int64", "bool"])
    case("Trilu", square, types=["float16", "bfloat16", "int8", "uint8", "uint64"], only=True)
    case("Trilu", square, upper=0, types=["int64"])
    for k in [1, -1, 5, -5]:
        for upper in [0, 1]:
            case("Trilu", some(2, 4, 3), scalar(k), upper=upper)
    case("Trilu", texts(2, 3), ref=lambda x: Tensor(np.array([["t0", "t1", "t2"], ["", "t4", "t5"]], object)))
    case("ReverseSequence", some(4, 2, 3), ints(3, 1), types=ANY)
    case("ReverseSequence", some(2, 4, 3), ints(4, 2), batch_axis=0, time_axis=1)
    for t in ["float32", "float64", "int16", "int32", "int64"]:
        case("Range", scalar(1, t), scalar(10, t), scalar(4, t), nograd="the length depends on it")
        case("Range", scalar(10, t), scalar(2, t), scalar(-3, t), nograd="the length depends on it")
    case("Range", scalar(1, "float16"), scalar(6, "float16"), scalar(2, "float16"), opset=27, ref=lambda a, b, c: Tensor(np.arange(1, 6, 2), "float16"), nograd="the length depends on it")
    case("Range", scalar(1, "bfloat16"), scalar(6, "bfloat16"), scalar(2, "bfloat16"), opset=27, ref=lambda a, b, c: Tensor(np.arange(1, 6, 2), "bfloat16"), nograd="the length depends on it")
    case("Range", scalar(0.5, "float32"), scalar(2.1, "float32"), scalar(0.4, "float32"), nograd="the length depends on it", nolow="the length depends on it")
    for t in NUMERIC + ["bool", "float32"]:
        case("EyeLike", tensor(np.zeros((2, 3)), t), ref=lambda x, t=t: Tensor(np.eye(2, 3), t))
        case("EyeLike", tensor(np.zeros((3, 4)), "int64"), dtype=CODES[t], ref=lambda x, t=t, dtype=0: Tensor(np.eye(3, 4), t))
    for k in [-1, 2]:
        case("EyeLike", some(3, 4), k=k, nograd="zero")
    case("Shape", x, types=ANY, nograd="integers")
    case("Shape", x, start=1)
    case("Shape", x, end=-1)
    case("Shape", x, start=-2, end=3)
    case("Size", x, types=ANY)
    case("ConstantOfShape", ints(2, 3))
    for t in ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]:
        case("ConstantOfShape", ints(2, 1), value=tensor([1 if t == "bool" else 7], t))
    case("ConstantOfShape", ints(2, 1), value=tensor([7], "bfloat16"), ref=lambda s, value: Tensor(np.full((2, 1), 7.0), "bfloat16"))
    case("ConstantOfShape", ints(), value=tensor([7], "int32"))
    for t in ["float32", "float64", "float16", "int8", "int32", "int64", "uint8", "uint64", "bool"]:
        case("Constant", value=tensor([[1, 0, 1]], t))
    case("Constant", value=tensor([[1, 0.5]], "bfloat16"), ref=lambda value: value)
    case("Constant", sparse_value=tensor([[0, 2.5, 0]], "float32"), ref=lambda sparse_value: sparse_value)
    case("Constant", value=texts(2))
    case("Constant", value_float=1.5)
    case("Constant", value_floats=[1.5, -2.0])
    case("Constant", value_int=-7)
    case("Constant", value_ints=[3, -4])
    case("Constant", value_string="graft")
    case("Constant", value_strings=["a", ""])
    case("CenterCropPad", some(5, 2, 3), ints(2, 4, 3), types=["float64", "float16", "bfloat16", "int8", "int64", "uint8", "bool"], ref=cropped([2, 4, 3], None), vary=[0])
    case("CenterCropPad", some(2, 4, 7), ints(5, 3), axes=[1, -1], ref=cropped([5, 3], [1, 2]))
    case("CenterCropPad", some(2, 4, 7), tensor([6], "int32"), axes=[2], ref=cropped([6], [2]))
    case("TensorScatter", some(2, 3, 5, 2), some(2, 3, 2, 2, seed=2), ints(1, 3), types=["float64", "float16", "int8", "uint8", "bool"], axis=2, vary=[0, 1], ref=scattered)
    case("TensorScatter", some(2, 3, 5, 2), some(2, 3, 2, 2, seed=2), ints(4, 3), mode="circular", ref=scattered)
    case("TensorScatter", some(2, 5, 2), some(2, 2, 2, seed=2), ref=scattered)
    case("TensorScatter", some(2, 5, 2), some(2, 2, 2, seed=2), ints(0, 3), axis=1, ref=scattered, types=["bfloat16"])
    case("BitCast", tensor([1.5, -2.0], "float32"), to=CODES["int32"], opset=26, ref=lambda x, to: Tensor(x.astype(np.float32).view(np.int32)), nograd="bits", nolow="bits", nowide="bits")
    case("BitCast", tensor([1, 0x3FC00000], "int32"), to=CODES["float32"], opset=26, ref=lambda x, to: Tensor(x.view(np.float32)))
    case("BitCast", tensor([1.5, -2.0], "float64"), to=CODES["uint64"], opset=26, ref=lambda x, to: Tensor(x.view(np.uint64)), nograd="bits", nolow="bits", nowide="bits")
    case("BitCast", tensor([-1, 5], "int8"), to=CODES["uint8"], opset=26, ref=lambda x, to: Tensor(x.view(np.uint8)))
    case("BitCast", tensor([15360, 49152], "uint16"), to=CODES["float16"], opset=26, ref=lambda x, to: Tensor(x.view(np.float16)))
    case("BitCast", tensor([16256, 49152], "int16"), to=CODES["bfloat16"], opset=26, ref=lambda x, to: Tensor(np.array([1.0, -2.0]), "bfloat16"))
    case("BitCast", tensor([1.0, -2.0], "float16"), to=CODES["int16"], opset=26, ref=lambda x, to: Tensor(x.view(np.int16)), nograd="bits", nolow="bits", nowide="bits")
    case("BitCast", tensor([1.0, -2.0], "bfloat16"), to=CODES["uint16"], opset=26, ref=lambda x, to: Tensor(np.array([16256, 49152], np.uint16)), nograd="bits", nolow="bits", nowide="bits")
    case("BitCast", tensor([True, False], "bool"), to=CODES["uint8"], opset=26, ref=lambda x, to: Tensor(x.view(np.uint8)))


def texts(*shape):
    n = int(np.prod(shape))
    return Tensor(np.array([f"t{i}" for i in range(n)], object).reshape(shape))


def slices(x):
    case("Slice", some(4, 5), ints(1, -3), ints(3, 1 << 40), ints(0, 1), types=ANY)
    case("Slice", some(4, 5), ints(1), ints(3), ints(-1))
    case("Slice", some(7, 5), ints(1, 3), ints(7, 0), ints(0, 1), ints(2, -2))
    case("Slice", some(4, 3), ints(-1), ints(-(1 << 40)), ints(0), ints(-1))
    case("Slice", some(4, 3), ints(3), ints(1))
    case("Slice", some(7, 2), tensor([6], "int32"), tensor([0], "int32"), tensor([0], "int32"), tensor([-3], "int32"))
    case("Slice", some(3, 4, 5), ints(0, 1, -2), ints(2, 4, 5))
    case("Slice", some(4, 5), opset=9, starts=[1, -3], ends=[3, 100])
    case("Slice", some(4, 5), opset=9, starts=[-2], ends=[-1], axes=[1])


def pads(x, y):
    p = ints(1, 0, 2, 3)
    case("Pad", y, p, types=["float64", "float16", "int8", "int64", "uint8", "bool"])
    case("Pad", y, p, types=["bfloat16", "uint16"], only=True)
    case("Pad", y, p, scalar(1.5, "float32"), types=["float64", "int32"])
    case("Pad", y, ints(-1, 1, 2, -2))
    for mode in ["reflect", "edge", "wrap"]:
        case("Pad", y, p, mode=mode, types=["float64", "int64"])
        case("Pad", some(2, 4, 3), ints(0, 2, 1, 1, 1, 2), mode=mode)
    case("Pad", some(2, 3, 4), ints(1, 2), None, ints(-1))
    case("Pad", some(2, 3, 4), ints(1, 2, 0, 1), scalar(-1.0, "float32"), tensor([2, 0], "int32"))
    case("Pad", y, opset=10, pads=[1, 0, 0, 2], value=2.5)
    case("Pad", y, opset=10, pads=[1, 0, 0, 2], mode="edge")
    case("Pad", y, opset=1, paddings=[1, 0, 0, 2], value=2.5, via=lambda x: ("Pad", [x], {"pads": [1, 0, 0, 2], "value": 2.5}, 10))
    case("Pad", texts(2), ints(1, 2), tensor("q", "string"), ref=lambda x, p, v: Tensor(np.array(["q", "t0", "t1", "q", "q"], object)))


def cropped(size, axes):
    def f(x, shape, **_):
        for a, n in zip(axes or range(len(size)), size):
            have = x.shape[a]
            if n < have:
                x = np.take(x, range((have - n) // 2, (have - n) // 2 + n), a)
            elif n > have:
                pad = [(0, 0)] * x.ndim
                pad[a] = ((n - have) // 2, n - have - (n - have) // 2)
                x = np.pad(x, pad)
        return x
    return f


def scattered(past, update, at=None, axis=-2, mode="linear"):
    y = past.copy()
    axis %= past.ndim
    n = past.shape[axis]
    for b in range(past.shape[0]):
        start = int(at[b]) if at is not None else 0
        for i in range(update.shape[axis]):
            k = (start + i) % n if mode == "circular" else start + i
            row, put = [b] + [slice(None)] * (past.ndim - 1), [b] + [slice(None)] * (past.ndim - 1)
            row[axis], put[axis] = i, k
            y[tuple(put)] = update[tuple(row)]
    return y
