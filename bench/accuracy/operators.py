"""The operators that compare.py measures: inputs, the exact result in float64, and PyTorch's."""
import math

import numpy as np
import torch
import torch.nn.functional as F

f32, f64 = np.float32, np.float64
rng = np.random.default_rng(1)
TINY, LEAST, MOST = f32(1.1754944e-38), f32(1e-45), f32(3.4028235e38)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, LEAST, -LEAST, TINY, -TINY, np.nextafter(TINY, f32(0)), -np.nextafter(TINY, f32(0)), MOST, -MOST,
                    1, -1, 0.5, -0.5, 1.5, 2.5, -1.5, -2.5, 2, -2, 3, -3, 1e-20, -1e-20, 1e20, -1e20], f32)


def around(centers, steps=8):
    """Each of centers and the float32 numbers next to it."""
    bits = np.asarray(centers, f32).view(np.int32)[:, None] + np.arange(-steps, steps + 1)
    return bits.astype(np.int32).view(f32).ravel()


def bits(n):
    """Numbers of any exponent, denormal ones, infinities and NaN included."""
    return rng.integers(0, 1 << 32, n, dtype=np.uint64).astype(np.uint32).view(f32)


def unary():
    k = np.concatenate([np.arange(-300, 301), rng.integers(1, 1 << 24, 400)])
    centers = np.concatenate([[1, -1, 88.72284, -87.33655, -103.97208, 89.41599, 0.70710677, 3, -3, 0.5, -0.5, 2 ** 23, -2 ** 23, 1e-3, -1e-3, 9.0, -9.0, 18, -18],
                              2.0 ** np.arange(-126, 127, 9), k * (math.pi / 2), k[:600] / 2 + 0.0])
    x = np.concatenate([SPECIAL, around(centers), bits(1 << 17), rng.uniform(-10, 10, 1 << 16).astype(f32), rng.uniform(-1, 1, 1 << 16).astype(f32),
                        rng.uniform(-110, 110, 1 << 15).astype(f32)])
    return x[: len(x) // 16 * 16]


def pairs():
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    x = np.concatenate([a.ravel(), bits(1 << 17), rng.uniform(0, 30, 1 << 16).astype(f32), rng.uniform(-3, 3, 1 << 15).astype(f32)])
    y = np.concatenate([b.ravel(), bits(1 << 17), rng.uniform(-20, 20, 1 << 16).astype(f32), rng.integers(-9, 9, 1 << 15).astype(f32)])
    return x, y


def rows(n=512, m=1000, scale=1.0):
    x = (rng.standard_normal((n, m)) * scale).astype(f32)
    x[0] = 1e30 * rng.standard_normal(m)
    x[1] = 1e-40 * rng.standard_normal(m)
    x[2, ::2], x[2, 1::2] = 1e8, -1e8
    x[2, 7] = 1
    x[3] = 0
    x[4] += 1e4
    return x


erfc = np.vectorize(math.erfc, otypes=[f64])
erf = np.vectorize(math.erf, otypes=[f64])


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def at_infinity(x, low, y):
    """y, but low at −∞, where a product has no limit by itself."""
    return np.where(np.isneginf(x), low, y)


class Case:
    def __init__(self, name, op, inputs, exact, torch=None, scale=None, label="", opset=17, **attrs):
        self.name, self.op, self.inputs, self.exact, self.torch, self.scale = name, op, inputs, exact, torch, scale
        self.opset, self.attrs = opset, attrs


def cases():
    u, (a, b) = unary(), pairs()
    gelu = lambda x: at_infinity(x, -0.0, 0.5 * x * erfc(-x / math.sqrt(2)))
    inner = lambda x: math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
    table = [
        ("Exp", np.exp, torch.exp), ("Log", np.log, torch.log), ("Sqrt", np.sqrt, torch.sqrt), ("Reciprocal", lambda x: 1 / x, torch.reciprocal),
        ("Erf", erf, torch.erf), ("Sigmoid", sigmoid, torch.sigmoid), ("Tanh", np.tanh, torch.tanh), ("Sin", np.sin, torch.sin), ("Cos", np.cos, torch.cos),
        ("Tan", np.tan, torch.tan), ("Asin", np.arcsin, torch.asin), ("Acos", np.arccos, torch.acos), ("Atan", np.arctan, torch.atan), ("Sinh", np.sinh, torch.sinh),
        ("Cosh", np.cosh, torch.cosh), ("Asinh", np.arcsinh, torch.asinh), ("Acosh", np.arccosh, torch.acosh), ("Atanh", np.arctanh, torch.atanh),
        ("Softplus", softplus, F.softplus), ("Softsign", lambda x: np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x))), F.softsign),
        ("Round", np.round, torch.round), ("Floor", np.floor, torch.floor), ("Ceil", np.ceil, torch.ceil), ("Abs", np.abs, torch.abs), ("Neg", np.negative, torch.neg),
        ("Sign", np.sign, torch.sign), ("Relu", lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, 0.0)), torch.relu),
        ("Selu", lambda x: 1.05070102214813232421875 * np.where(x > 0, x, 1.67326319217681884765625 * np.expm1(np.minimum(x, 0))), F.selu),
    ]
    for name, exact, t in table:
        yield Case(name, name, [u], exact, t)
    yield Case("Elu", "Elu", [u], lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), F.elu, alpha=1.0)
    yield Case("LeakyRelu", "LeakyRelu", [u], lambda x: np.where(x >= 0, x, f64(f32(0.01)) * x), lambda x: F.leaky_relu(x, 0.01), alpha=0.01)
    yield Case("HardSwish", "HardSwish", [u], lambda x: at_infinity(x, np.nan, x * np.clip(x / 6 + 0.5, 0, 1)), F.hardswish)
    yield Case("Mish", "Mish", [u], lambda x: at_infinity(x, np.nan, x * np.tanh(softplus(x))), F.mish, opset=18)
    yield Case("Gelu", "Gelu", [u], gelu, F.gelu, opset=20)
    yield Case("Gelu, tanh", "Gelu", [u], lambda x: at_infinity(x, -0.0, x * sigmoid(2 * inner(x))), lambda x: F.gelu(x, approximate="tanh"), opset=20, approximate="tanh")
    for name, exact, t in [("Add", np.add, torch.add), ("Sub", np.subtract, torch.sub), ("Mul", np.multiply, torch.mul), ("Div", np.divide, torch.div),
                           ("Pow", np.power, torch.pow), ("Max", np.maximum, torch.maximum), ("Min", np.minimum, torch.minimum)]:
        yield Case(name, name, [a, b], exact, t)
    yield Case("Mod, fmod", "Mod", [a, b], np.fmod, torch.fmod, fmod=1)
    x = rows()
    sums = lambda x: np.abs(x).sum(1, keepdims=True)
    yield Case("ReduceSum", "ReduceSum", [x, np.array([1])], lambda x, _: x.sum(1, keepdims=True), lambda x, _: x.sum(1, keepdim=True), lambda x, _: sums(x))
    yield Case("ReduceMean", "ReduceMean", [x], lambda x: x.mean(1, keepdims=True), lambda x: x.mean(1, keepdim=True), lambda x: sums(x) / x.shape[1], axes=[1])
    yield Case("ReduceL2", "ReduceL2", [x[1:]], lambda x: np.sqrt((x * x).sum(1, keepdims=True)), lambda x: x.norm(dim=1, keepdim=True), axes=[1])
    yield Case("ReduceLogSumExp", "ReduceLogSumExp", [x], lambda x: x.max(1, keepdims=True) + np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)),
               lambda x: x.logsumexp(1, keepdim=True), lambda x: np.maximum(np.abs(x).max(1, keepdims=True), 1), axes=[1])
    yield Case("CumSum", "CumSum", [x, np.array(1)], lambda x, _: x.cumsum(1), lambda x, _: x.cumsum(1), lambda x, _: np.abs(x).cumsum(1))

    def softmax(x):
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    wide = rows(scale=30)
    yield Case("Softmax", "Softmax", [wide], softmax, lambda x: x.softmax(1), axis=1)
    yield Case("LogSoftmax", "LogSoftmax", [wide], lambda x: x - x.max(1, keepdims=True) - np.log(np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)),
               lambda x: x.log_softmax(1), lambda x: np.maximum(np.maximum(np.abs(x), np.abs(x).max(1, keepdims=True)), 1), axis=1)
    w, c = (1 + rng.standard_normal(1000)).astype(f32), rng.standard_normal(1000).astype(f32)

    def layernorm(x, w, c):
        d = x - x.mean(1, keepdims=True)
        return d / np.sqrt((d * d).mean(1, keepdims=True) + f64(f32(1e-5))) * w + c
    def layerscale(x, w, c):
        s = np.sqrt(x.var(1, keepdims=True) + 1e-5)
        return np.abs(x).max(1, keepdims=True) / s * np.abs(w) + np.abs(c)
    yield Case("LayerNormalization", "LayerNormalization", [x[3:], w, c], layernorm, lambda x, w, c: F.layer_norm(x, (1000,), w, c), layerscale, axis=-1, epsilon=1e-5)
    p, q = rows(96, 700), rows(700, 130)
    q[0], p[0] = 1, 1e20
    yield Case("MatMul", "MatMul", [p, q], lambda p, q: p @ q, lambda p, q: p @ q, lambda p, q: np.abs(p) @ np.abs(q))
    img, ker = rng.standard_normal((2, 16, 20, 20)).astype(f32), rng.standard_normal((24, 16, 3, 3)).astype(f32)
    img[0, 0] *= 1e-42
    conv = lambda x, w: F.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding=1).numpy()
    yield Case("Conv 3×3", "Conv", [img, ker], conv, lambda x, w: F.conv2d(x, w, padding=1), lambda x, w: conv(np.abs(x), np.abs(w)), pads=[1, 1, 1, 1])
    yield Case("Conv 3×3, stride 2", "Conv", [img, ker], lambda x, w: F.conv2d(torch.from_numpy(x), torch.from_numpy(w), stride=2).numpy(), lambda x, w: F.conv2d(x, w, stride=2),
               lambda x, w: F.conv2d(torch.from_numpy(np.abs(x)), torch.from_numpy(np.abs(w)), stride=2).numpy(), strides=[2, 2])
    yield Case("AveragePool", "AveragePool", [img], lambda x: F.avg_pool2d(torch.from_numpy(x), 3).numpy(), lambda x: F.avg_pool2d(x, 3),
               lambda x: F.avg_pool2d(torch.from_numpy(np.abs(x)), 3).numpy(), kernel_shape=[3, 3], strides=[3, 3])
    yield Case("InstanceNormalization", "InstanceNormalization", [x[3:35].reshape(4, 8, 1000), w[:8], c[:8]],
               lambda x, w, c: F.instance_norm(torch.from_numpy(x), weight=torch.from_numpy(w), bias=torch.from_numpy(c), eps=f64(f32(1e-5))).numpy(),
               lambda x, w, c: F.instance_norm(x, weight=w, bias=c), lambda x, w, c: np.abs(x).max(2, keepdims=True) / np.sqrt(x.var(2, keepdims=True) + 1e-5) * np.abs(w)[:, None] + np.abs(c)[:, None], epsilon=1e-5)
    yield Case("LpNormalization", "LpNormalization", [x[3:]], lambda x: x / np.maximum(np.sqrt((x * x).sum(1, keepdims=True)), 5e-324), lambda x: F.normalize(x, eps=0), axis=1, p=2)
    label = rng.integers(0, 1000, 512)
    yield Case("SoftmaxCrossEntropyLoss", "SoftmaxCrossEntropyLoss", [wide, label], lambda x, t: F.cross_entropy(torch.from_numpy(x), torch.from_numpy(t), reduction="none").numpy(),
               lambda x, t: F.cross_entropy(x, t, reduction="none"), lambda x, t: np.maximum(np.abs(x).max(1), 1), reduction="none")
    wave = rng.standard_normal((4, 1000, 1)).astype(f32)
    dft = lambda x: np.stack([np.fft.fft(x[..., 0]).real, np.fft.fft(x[..., 0]).imag], -1)
    yield Case("DFT", "DFT", [wave], dft, lambda x: torch.view_as_real(torch.fft.fft(x[..., 0])), lambda x: np.abs(x).sum(1, keepdims=True) + 0 * dft(x), axis=1)
    seq, gates, loop = (rng.standard_normal(s).astype(f32) for s in ((40, 8, 24), (1, 256, 24), (1, 256, 64)))

    def lstm(x, w, u):
        order = lambda m: torch.cat([m[0, 64 * i:64 * i + 64] for i in (0, 2, 3, 1)])
        zero = torch.zeros(1, x.shape[1], 64, dtype=x.dtype)
        return torch._VF.lstm(x, (zero, zero), [order(w), order(u / 8)], False, 1, 0.0, False, False, False)[0][:, None]
    yield Case("LSTM", "LSTM", [seq, gates, loop / 8], lambda x, w, u: lstm(*map(torch.from_numpy, (x, w, u * 8))).numpy(), lambda x, w, u: lstm(x, w, u * 8), lambda x, w, u: np.ones((40, 1, 8, 64)), hidden_size=64)
    stretch = lambda x: F.interpolate(x, scale_factor=(2.5, 0.75), mode="bilinear")
    yield Case("Resize, linear", "Resize", [img[:, :, :, :16], np.zeros(0, f32), np.array([1, 1, 2.5, 0.75], f32)], lambda x, _, s: stretch(torch.from_numpy(x)).numpy(), lambda x, _, s: stretch(x),
               lambda x, _, s: stretch(torch.from_numpy(np.abs(x))).numpy(), mode="linear")
