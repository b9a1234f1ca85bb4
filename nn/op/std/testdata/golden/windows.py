"""Convolutions, pooling and other windows."""
from golden import *

import torch


def run():
    x, w, b = some(2, 3, 5, 6), some(4, 3, 3, 2, seed=2), some(4, seed=3)
    convs = [
        (x, w, b, {}), (x, w, None, {"strides": [2, 1], "pads": [1, 0, 2, 1]}), (x, w, b, {"dilations": [2, 3]}),
        (x, w, None, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}), (x, w, None, {"auto_pad": "SAME_LOWER", "strides": [3, 2]}), (x, w, None, {"auto_pad": "VALID"}),
        (x, w, None, {"kernel_shape": [3, 2]}), (some(1, 4, 5, 4), some(6, 2, 3, 3, seed=2), some(6, seed=3), {"group": 2, "pads": [1, 1, 1, 1]}),
        (some(2, 3, 6, 5), some(3, 1, 3, 3, seed=2), some(3, seed=4), {"group": 3}), (some(1, 2, 7), some(3, 2, 3, seed=2), None, {"strides": [2], "pads": [1, 2]}),
        (some(1, 2, 3, 4, 5), some(2, 2, 2, 3, 2, seed=2), some(2, seed=3), {"pads": [0, 1, 0, 1, 0, 1]}), (some(1, 5, 3, 4), some(7, 5, 1, 1, seed=2), None, {}),
    ]
    for i, (x_, w_, b_, a) in enumerate(convs):
        case("Conv", x_, w_, b_, attrs=a, types=FLOATS if i == 0 else [])
    t = some(2, 3, 4, 3)
    wt, bt = some(3, 2, 3, 2, seed=2), some(2, seed=3)
    for i, a in enumerate([{}, {"strides": [2, 3]}, {"strides": [2, 2], "pads": [1, 0, 0, 1]}, {"dilations": [2, 1]}, {"strides": [3, 2], "output_padding": [1, 0]},
                           {"strides": [2, 2], "output_shape": [9, 6]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER", "strides": [2, 1]}, {"auto_pad": "VALID"}, {"kernel_shape": [3, 2]}]):
        case("ConvTranspose", t, wt, bt if i % 2 == 0 else None, attrs=a, types=FLOATS if i == 0 else [])
    case("ConvTranspose", some(1, 4, 3, 2), some(4, 3, 2, 3, seed=2), some(6, seed=3), group=2)
    case("ConvTranspose", some(1, 2, 5), some(2, 3, 4, seed=2), strides=[3], pads=[1, 2])
    pools(x)
    deformed()
    for t in ["uint8", "int8"]:
        xi, wi = tensor(np.abs(np.rint(x.data * 9)) if t == "uint8" else np.rint(x.data * 9), t), tensor(np.rint(w.data * 5), "int8")
        wu = tensor(np.abs(np.rint(w.data * 5)), "uint8")
        zero = lambda v, t: Tensor(np.array(v), t)
        exact = dict(ref=conv_integer)
        case("ConvInteger", xi, wu, **exact)
        case("ConvInteger", xi, wi, zero(3, t), **exact)
        case("ConvInteger", xi, wu, zero(3, t), zero(2, "uint8"), pads=[1, 0, 1, 1], strides=[2, 1], **exact)
        case("ConvInteger", xi, wu, zero(3, t), None, dilations=[2, 3], kernel_shape=[3, 2], **exact)
        case("ConvInteger", xi, wu, zero(3, t), auto_pad="SAME_UPPER", strides=[2, 2], **exact)
        case("ConvInteger", tensor(np.abs(np.rint(some(1, 4, 4, 5).data * 9)), t), tensor(np.rint(some(2, 2, 2, 3).data * 5), "int8"), group=2, **exact)
        case("ConvInteger", xi, wi, zero(3, t), tensor([1, -2, 0, 3], "int8"), **exact)
    scale = lambda v: Tensor(np.array(v, np.float32))
    for tx, tw, ty in [("uint8", "uint8", "uint8"), ("uint8", "int8", "uint8"), ("int8", "int8", "int8")]:
        xi, wi = convert8(x, tx), convert8(w, tw)
        zx, zw, zy = Tensor(np.array(3), tx), Tensor(np.array(0 if tw == "int8" else 2), tw), Tensor(np.array(5), ty)
        bias = tensor([10, -20, 300, 0], "int32")
        case("QLinearConv", xi, scale(0.05), zx, wi, scale(0.03), zw, scale(0.4), zy)
        case("QLinearConv", xi, scale(0.05), zx, wi, scale(0.03), zw, scale(0.4), zy, bias, pads=[1, 0, 1, 1], strides=[2, 1])
        case("QLinearConv", xi, scale(0.05), zx, wi, scale(0.03), zw, scale(0.4), zy, dilations=[2, 3], kernel_shape=[3, 2])
        case("QLinearConv", xi, scale(0.05), zx, wi, scale(0.03), zw, scale(0.4), zy, auto_pad="SAME_LOWER", strides=[2, 2])
        case("QLinearConv", convert8(some(1, 4, 4, 5), tx), scale(0.05), zx, convert8(some(6, 2, 2, 3, seed=2), tw), scale(0.03), zw, scale(0.4), zy, group=2)
    case("QLinearConv", convert8(x, "uint8"), scale(0.05), Tensor(np.array(3), "uint8"), convert8(w, "int8"), tensor([0.03, 0.01, 0.05, 0.02], "float32"), tensor([0, 0, 0, 0], "int8"), scale(0.4), Tensor(np.array(5), "uint8"))


def convert8(t, type):
    v = np.rint(t.data * 20)
    return Tensor(np.abs(v) if type == "uint8" else v, type)


def conv_integer(x, w, zx=None, zw=None, auto_pad="NOTSET", strides=(1, 1), dilations=(1, 1), pads=None, group=1, kernel_shape=None):
    """PyTorch's convolution of doubles is exact here."""
    x = x.astype(np.float64) - (0 if zx is None else float(zx))
    w = w.astype(np.float64) - (0 if zw is None else zw.astype(np.float64).reshape(-1, 1, 1, 1))
    if auto_pad == "SAME_UPPER":
        pads = []
        for i in range(2):
            n = -(-x.shape[2 + i] // strides[i])
            total = max((n - 1) * strides[i] + (w.shape[2 + i] - 1) * dilations[i] + 1 - x.shape[2 + i], 0)
            pads.append((total // 2, total - total // 2))
        pads = [p[0] for p in pads] + [p[1] for p in pads]
    p = pads or [0, 0, 0, 0]
    x = np.pad(x, [(0, 0), (0, 0), (p[0], p[2]), (p[1], p[3])])
    y = torch.conv2d(torch.tensor(x), torch.tensor(w), stride=tuple(strides), dilation=tuple(dilations), groups=group)
    return Tensor(y.numpy().astype(np.int32))


def pools(x):
    k = {"kernel_shape": [3, 2]}
    more = [{}, {"strides": [2, 1]}, {"pads": [1, 0, 1, 1]}, {"strides": [2, 2], "ceil_mode": 1}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, {"auto_pad": "VALID", "strides": [2, 3]}, {"dilations": [2, 2]}]
    for i, a in enumerate(more):
        case("MaxPool", x, attrs={**k, **a}, out=2 if i < 4 else 1, types=FLOATS + ["int8", "uint8"] if i == 0 else [], fixed=[1])
        case("AveragePool", x, attrs={**k, **a}, types=FLOATS if i == 0 else [])
        case("LpPool", some(2, 3, 5, 6, lo=0.2), attrs={**k, **a}, types=FLOATS if i == 0 else [])
    case("MaxPool", x, attrs=k, out=2, storage_order=1, pads=[1, 1, 1, 0])
    case("MaxPool", some(2, 3, 7), out=2, kernel_shape=[3], strides=[2])
    case("MaxPool", some(1, 2, 4, 3, 5), out=2, kernel_shape=[2, 2, 3], pads=[1, 0, 1, 0, 1, 0])
    case("MaxPool", tensor([[[[1, 3, 3], [3, 2, 3], [0, 0, 0]]]], "float32"), out=2, kernel_shape=[2, 2], nograd="ties")
    case("AveragePool", x, attrs=k, count_include_pad=1, pads=[1, 1, 2, 0])
    case("AveragePool", x, attrs=k, count_include_pad=1, pads=[1, 1, 2, 0], strides=[2, 2], ceil_mode=1)
    case("AveragePool", some(2, 3, 7), kernel_shape=[3], strides=[2])
    case("AveragePool", some(1, 2, 4, 3, 5), kernel_shape=[2, 2, 3], pads=[1, 0, 1, 0, 1, 0])
    for p in [1, 3]:
        old = lambda x, p=p: ("GlobalLpPool", [x], {"p": p}, 21)
        case("LpPool", some(2, 3, 5, 6, lo=0.2), attrs=k, p=p)
        case("GlobalLpPool", some(2, 3, 4, 3, lo=0.2), p=p, via=old)
    case("GlobalLpPool", some(2, 3, 4, 3), types=FLOATS, via=lambda x: ("GlobalLpPool", [x], {}, 21))
    for op in ["GlobalAveragePool", "GlobalMaxPool"]:
        case(op, some(2, 3, 4, 3), types=FLOATS)
        case(op, some(2, 3, 5))
    at = tensor([[[[5, 7], [13, 15]]], [[[16, 18], [25, 24]]]], "int64")
    case("MaxUnpool", some(2, 1, 2, 2), at, kernel_shape=[2, 2], strides=[2, 2], types=FLOATS, ref=unpooled((4, 4)))
    case("MaxUnpool", some(2, 1, 2, 2), at, ints(2, 1, 5, 5), kernel_shape=[2, 2], strides=[2, 2], ref=unpooled((4, 4)))
    case("MaxUnpool", some(2, 1, 2, 2), at, kernel_shape=[3, 3], strides=[2, 3], pads=[1, 0, 0, 1], ref=unpooled((4, 5)))
    case("MaxRoiPool", some(2, 2, 6, 7), tensor([[0, 1, 1, 5, 4], [1, 0, 2, 6, 5]], "float32"), pooled_shape=[2, 3], types=FLOATS, via=lambda x, r: ("MaxRoiPool", [x, r], {"pooled_shape": [2, 3]}, 21))
    case("MaxRoiPool", some(2, 2, 6, 7), tensor([[0, 2, 3, 11, 8], [1, 0, 4, 12, 10]], "float32"), pooled_shape=[3, 2], spatial_scale=0.5, via=lambda x, r: ("MaxRoiPool", [x, r], {"pooled_shape": [3, 2], "spatial_scale": 0.5}, 21))
    col = some(1, 2 * 6, 8)
    case("Col2Im", some(2, 12, 8), ints(5, 4), ints(2, 3), types=FLOATS + ["int8", "int64", "uint8", "uint32"], ref=folded)
    case("Col2Im", some(1, 12, 9), ints(5, 4), ints(2, 3), strides=[2, 1], pads=[1, 0, 0, 1], ref=folded)
    case("Col2Im", some(1, 6, 5), ints(7, 3), ints(3, 2), dilations=[1, 2], ref=folded)
    case("Col2Im", some(1, 6, 5), ints(7), ints(3), ref=folded)


def unpooled(size):
    def f(x, at, shape=None, **_):
        y = np.zeros(x.shape[:2] + size)
        y.reshape(-1)[at.ravel()] = x.ravel()
        return y if shape is None else np.pad(y, [(0, n - m) for n, m in zip(shape, y.shape)])
    return f


def folded(x, image, block, strides=None, pads=None, dilations=None):
    r = len(image)
    strides, dilations, pads = strides or [1] * r, dilations or [1] * r, pads or [0] * 2 * r
    n, c = x.shape[0], x.shape[1] // int(np.prod(block))
    y = np.zeros((n, c) + tuple(image), x.dtype)
    count = [(image[i] + pads[i] + pads[r + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(r)]
    cols = x.reshape((n, c, int(np.prod(block)), int(np.prod(count))))
    for k, off in enumerate(np.ndindex(*block)):
        for l, pos in enumerate(np.ndindex(*count)):
            at = [pos[i] * strides[i] - pads[i] + off[i] * dilations[i] for i in range(r)]
            if all(0 <= at[i] < image[i] for i in range(r)):
                y[(slice(None), slice(None)) + tuple(at)] += cols[:, :, k, l]
    return y


def deformed():
    def f(x, w, offset, b=None, mask=None, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), **_):
        from torchvision.ops import deform_conv2d
        g = lambda a: None if a is None else torch.tensor(a)
        return deform_conv2d(g(x), g(offset), g(w), g(b), tuple(strides), tuple(pads[:2]), tuple(dilations), g(mask)).numpy()
    x, w = some(2, 4, 5, 4), some(3, 4, 2, 3, seed=2)
    case("DeformConv", x, w, some(2, 12, 4, 2, lo=-0.7, hi=0.7, seed=3), types=["float64"], ref=f)
    case("DeformConv", x, w, some(2, 12, 4, 2, lo=-0.7, hi=0.7, seed=3), types=LOW, only=True, ref=f)
    case("DeformConv", x, w, some(2, 12, 4, 2, lo=-0.7, hi=0.7, seed=3), some(3, seed=5), some(2, 6, 4, 2, lo=0.1, hi=1, seed=4), ref=f, kernel_shape=[2, 3])
    case("DeformConv", x, w, some(2, 12, 3, 2, lo=-0.7, hi=0.7, seed=3), strides=[2, 1], pads=[1, 0, 1, 0], ref=f)
    case("DeformConv", x, w, some(2, 12, 3, 2, lo=-0.7, hi=0.7, seed=3), dilations=[2, 1], ref=f)
    case("DeformConv", x, w, some(2, 24, 4, 2, lo=-0.7, hi=0.7, seed=3), offset_group=2, ref=f)
    case("DeformConv", x, some(6, 2, 2, 3, seed=2), some(2, 12, 4, 2, lo=-0.7, hi=0.7, seed=3), group=2, ref=f)
