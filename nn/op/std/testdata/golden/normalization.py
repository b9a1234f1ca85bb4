"""Normalizations, matrix products, losses."""
from golden import *


def run():
    for v, kw in [(22, {}), (7, {"ratio": 0.3}), (6, {"ratio": 0.3, "is_test": 1})]:
        case("Dropout", some(2, 5), opset=v, attrs=kw, types=FLOATS if v == 22 else [], ref=lambda x, **k: x)
    case("Dropout", some(2, 5), scalar(0.4, "float32"), out=2, seed=7, ref=lambda x, r, **k: (x, np.ones(x.shape, bool)))
    for t in FLOATS:
        case("Dropout", some(2, 5), scalar(0.4, t), Tensor(np.array(False)), ref=lambda x, r, m: Tensor(x, "float32"))
    x, s, b = some(2, 3, 4, 2), some(3, lo=0.5, hi=1.5, seed=2), some(3, seed=3)
    m, v = some(3, lo=-0.5, hi=0.5, seed=4), some(3, lo=0.5, hi=2, seed=5)
    case("BatchNormalization", x, s, b, m, v, types=FLOATS)
    case("BatchNormalization", x, s, b, m, v, epsilon=0.1)
    case("BatchNormalization", x, s, b, m, v, out=3, training_mode=1, momentum=0.7, opset=14, train=True, nograd="running statistics have none")
    case("BatchNormalization", x, s, b, m, v, out=[True, False, False], training_mode=1, train=True)
    case("BatchNormalization", x, s, b, m, v, out=3, training_mode=1, opset=15, types=["float64"], train=True, nograd="running statistics have none")
    case("BatchNormalization", some(5, 3), s, b, m, v)
    case("BatchNormalization", x, s, b, m, v, opset=7, spatial=1)
    case("BatchNormalization", some(4, 3), s, b, m, v, opset=7, spatial=0, via=lambda *t: ("BatchNormalization", list(t), {}, 9))
    case("BatchNormalization", x, s, b, m, v, opset=6, is_test=1, via=lambda *t: ("BatchNormalization", list(t), {}, 9))
    case("BatchNormalization", x, s, b, m, v, opset=5, is_test=1, consumed_inputs=[0, 0, 0, 1, 1], via=lambda *t: ("BatchNormalization", list(t), {}, 9))
    case("InstanceNormalization", x, s, b, types=FLOATS)
    case("InstanceNormalization", some(2, 3, 5), s, b, epsilon=0.3)
    case("InstanceNormalization", x, s, b, opset=5, consumed_inputs=[0, 0, 0], via=lambda *t: ("InstanceNormalization", list(t), {}, 6))
    case("LayerNormalization", some(2, 3, 4), some(4, lo=0.5, seed=2), some(4, seed=3), out=3, types=FLOATS, fixed=[1, 2], nograd="statistics are float32")
    case("LayerNormalization", some(2, 3, 4), some(4, lo=0.5, seed=2), some(4, seed=3))
    case("LayerNormalization", some(2, 3, 4), some(3, 4, lo=0.5, seed=2), axis=1, epsilon=0.2)
    case("LayerNormalization", some(2, 3, 4), some(4, lo=0.5, seed=2), some(4, seed=3), axis=-1)
    case("LayerNormalization", some(2, 3, 4), some(2, 3, 4, lo=0.5, seed=2), axis=0, stash_type=1)
    case("LayerNormalization", tensor(some(2, 3, 4).data, "float16"), tensor(some(4, lo=0.5, seed=2).data, "float16"), stash_type=10,
         ref=lambda x, s, **_: Tensor(layered(x.astype(np.float64), s.astype(np.float64)), "float16"))
    case("RMSNormalization", some(2, 3, 4), some(4, lo=0.5, seed=2), types=FLOATS, ref=rms)
    case("RMSNormalization", some(2, 3, 4), some(3, 4, lo=0.5, seed=2), axis=1, epsilon=0.2, ref=rms)
    case("RMSNormalization", some(2, 3, 4), some(2, 3, 4, lo=0.5, seed=2), axis=-3, ref=rms)
    case("RMSNormalization", tensor(some(2, 4).data, "float16"), tensor(some(4, lo=0.5, seed=2).data, "float16"), stash_type=10,
         ref=lambda x, s, **_: Tensor(rms(x.astype(np.float64), s.astype(np.float64)), "float16"))
    four, s4, b4 = some(2, 4, 3, 2), some(4, lo=0.5, seed=2), some(4, seed=3)
    case("GroupNormalization", four, s4, b4, num_groups=2, types=FLOATS, ref=grouped)
    case("GroupNormalization", four, s4, b4, num_groups=4, epsilon=0.3, ref=grouped)
    case("GroupNormalization", four, s4, b4, num_groups=1, stash_type=1, ref=grouped)
    case("GroupNormalization", tensor(four.data, "float16"), tensor(s4.data, "float16"), tensor(b4.data, "float16"), num_groups=2, stash_type=10,
         ref=lambda x, s, b, **k: Tensor(grouped(x.astype(np.float64), s.astype(np.float64), b.astype(np.float64), num_groups=2), "float16"))
    case("GroupNormalization", four, some(2, lo=0.5, seed=2), some(2, seed=3), num_groups=2, opset=18, ref=lambda x, s, b, **k: grouped(x, s.repeat(2), b.repeat(2), **k))
    case("MeanVarianceNormalization", some(3, 2, 4, 3), types=FLOATS)
    case("MeanVarianceNormalization", some(3, 2, 4, 3), axes=[1, 3])
    case("LpNormalization", some(2, 3, 4), types=FLOATS)
    case("LpNormalization", some(2, 3, 4), p=1, axis=1)
    case("LpNormalization", some(2, 3, 4), axis=0, p=2)
    lrn = some(2, 6, 3, 2)
    case("LRN", lrn, size=3, types=FLOATS)
    case("LRN", lrn, size=4, alpha=0.5, beta=0.6, bias=1.7, ref=even)
    case("LRN", lrn, size=5, alpha=0.3)
    case("LRN", lrn, size=2, beta=0.3, alpha=0.7, ref=even)
    products()
    losses()


def even(x, size, alpha=1e-4, beta=0.75, bias=1.0):
    """An even window reaches one channel further up, as the standard has it; ONNX Runtime takes odd ones only."""
    y, c = np.zeros_like(x), x.shape[1]
    for i in range(c):
        near = x[:, max(0, i - (size - 1) // 2):min(c, i + size // 2 + 1)]
        y[:, i] = x[:, i] / (bias + alpha / size * (near * near).sum(1)) ** beta
    return y


def layered(x, s, b=0, eps=1e-5):
    c = x - x.mean(-1, keepdims=True)
    return c / np.sqrt((c * c).mean(-1, keepdims=True) + eps) * s + b


def rms(x, s, axis=-1, epsilon=1e-5, stash_type=1):
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon) * s


def grouped(x, s, b, num_groups, epsilon=1e-5, stash_type=1):
    g = x.reshape(x.shape[0], num_groups, -1)
    g = (g - g.mean(2, keepdims=True)) / np.sqrt(g.var(2, keepdims=True) + epsilon)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return g.reshape(x.shape) * s.reshape(shape) + b.reshape(shape)


def products():
    a, b, c = some(2, 3), some(3, 4, seed=2), some(4, seed=3)
    case("Gemm", a, b, c, types=FLOATS + ["int32", "int64", "uint32", "uint64"])
    case("Gemm", a, b)
    case("Gemm", a, b, some(2, 1, seed=3), alpha=0.5, beta=1.7)
    case("Gemm", some(3, 2), b, c, transA=1)
    case("Gemm", a, some(4, 3, seed=2), scalar(0.7, "float32"), transB=1, beta=0.5)
    case("Gemm", some(3, 2), some(4, 3, seed=2), some(2, 4, seed=3), transA=1, transB=1, alpha=-1.3)
    case("Gemm", a, b, some(2, 4, seed=3), opset=6, broadcast=0, via=lambda *t: ("Gemm", list(t), {}, 13))
    case("Gemm", a, b, c, opset=6, broadcast=1, via=lambda *t: ("Gemm", list(t), {}, 13))
    case("MatMul", a, b, types=FLOATS + ["int32", "int64", "uint32", "uint64"])
    for p, q in [((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((2, 1, 3, 4), (5, 4, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4))]:
        case("MatMul", some(*p), some(*q, seed=2))
    for equation, shapes in [("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]), ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]), ("ij->", [(2, 3)]), ("i,j->ij", [(2,), (3,)]),
                             ("...ij,jk->...ik", [(2, 3, 4), (4, 2)]), ("bhwc,hkc->bwhk", [(2, 3, 2, 2), (3, 4, 2)]), ("ij,jk,kl->il", [(2, 3), (3, 2), (2, 4)]), ("ij,jk", [(2, 3), (3, 4)])]:
        case("Einsum", *[some(*s, seed=i + 1) for i, s in enumerate(shapes)], equation=equation, types=FLOATS + ["int32", "int64", "int8", "uint8", "uint64"] if equation == "ij,jk->ik" else [])
    case("Det", some(2, 3, 3), types=FLOATS)
    case("Det", some(2, 2))
    case("Det", tensor([[1, 2], [2, 4]], "float32"))
    for ta in ["uint8", "int8"]:
        for tb in ["uint8", "int8"]:
            pa, pb = tensor(np.rint(np.abs(a.data) * 30) if ta == "uint8" else np.rint(a.data * 30), ta), tensor(np.rint(np.abs(b.data) * 30) if tb == "uint8" else np.rint(b.data * 30), tb)
            case("MatMulInteger", pa, pb, ref=integer_product)
            case("MatMulInteger", pa, pb, tensor(12, ta), tensor(5, tb), ref=integer_product)
            case("MatMulInteger", pa, pb, tensor([1, 7], ta), tensor([1, 2, 3, 4], tb), ref=integer_product)


def integer_product(a, b, za=None, zb=None):
    a, b = a.astype(np.int32), b.astype(np.int32)
    if za is not None:
        a = a - za.astype(np.int32).reshape(-1, 1)
    if zb is not None:
        b = b - zb.astype(np.int32).reshape(1, -1)
    return Tensor(a @ b)


def losses():
    x, labels, w = some(3, 5), ints(4, 0, 2), some(5, lo=0.3, hi=2, seed=3)
    planes, spots = some(2, 3, 2, 2), tensor([[[0, 2], [1, 1]], [[2, 2], [0, 1]]], "int64")
    logp = Tensor(np.log(np.abs(x.data) / 9))
    for t in ["int64", "int32"]:
        y, z = tensor(labels.data, t), tensor(spots.data, t)
        case("SoftmaxCrossEntropyLoss", x, y, out=2, opset=13, types=FLOATS if t == "int64" else [], ref=entropy)
        case("NegativeLogLikelihoodLoss", logp, y, types=FLOATS if t == "int64" else [], ref=likelihood)
        for reduction in ["none", "sum", "mean"]:
            case("SoftmaxCrossEntropyLoss", x, y, w, reduction=reduction, ref=entropy, out=1, opset=13)
            case("SoftmaxCrossEntropyLoss", planes, z, reduction=reduction, ignore_index=1, ref=entropy, out=2, opset=13)
            case("NegativeLogLikelihoodLoss", logp, y, w, reduction=reduction, ref=likelihood)
            case("NegativeLogLikelihoodLoss", planes, z, some(3, lo=0.4, hi=1.3, seed=5), reduction=reduction, ignore_index=2, ref=likelihood)
    case("SoftmaxCrossEntropyLoss", x, ints(4, -1, 2), w, ignore_index=-1, ref=entropy, opset=13)


def likelihood(logp, y, w=None, reduction="mean", ignore_index=None):
    y = y.astype(np.int64)
    kept = y != ignore_index if ignore_index is not None else np.ones(y.shape, bool)
    at = np.where(kept, y, 0)
    weight = kept * (1.0 if w is None else w[at])
    loss = -np.take_along_axis(logp, at[:, None], 1)[:, 0] * weight
    if reduction == "none":
        return loss
    return np.asarray(loss.sum() / (weight.sum() if reduction == "mean" else 1))


def entropy(x, y, w=None, **k):
    shifted = x - x.max(1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    return likelihood(logp, y, w, **k), logp
