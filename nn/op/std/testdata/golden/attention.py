"""Attention and what goes with it."""
from golden import *


def run():
    q, k, v = some(2, 4, 3, 6), some(2, 2, 5, 6, seed=2), some(2, 2, 5, 4, seed=3)
    low = dict(nolow="sums")
    case("Attention", q, k, v, types=["float64"], **low)
    case("Attention", q, k, v, types=LOW, only=True, tol=0.03, **low)
    case("Attention", q, k, v, is_causal=1)
    case("Attention", q, k, v, scale=0.3, softcap=1.5)
    case("Attention", q, k, v, some(3, 5, seed=5))
    case("Attention", q, k, v, some(2, 1, 3, 5, seed=5), **low)
    case("Attention", q, k, v, Tensor(np.array([[1, 1, 0, 1, 0], [1, 0, 1, 1, 1], [0, 1, 1, 0, 1]], bool)))
    for t in ["float64", "float16", "bfloat16", "int8", "uint8"]:
        mask = convert(some(3, 5, seed=5), t)
        case("Attention", q, k, v, mask, nograd="the mask has a type of its own", nowide="the mask has a type of its own", nolow="sums", tol=0.02 if t == "bfloat16" else None,
             ref=lambda q, k, v, m, t=t: Tensor(scores(q, k, v, m.astype(np.float64))[0], "float32"))
    case("Attention", q, k, v, softmax_precision=1, nograd="computed in float32")
    packed = [some(2, 3, 24), some(2, 5, 12, seed=2), some(2, 5, 8, seed=3)]
    case("Attention", *packed, q_num_heads=4, kv_num_heads=2)
    past = [some(2, 2, 3, 6, seed=6), some(2, 2, 3, 4, seed=7)]
    case("Attention", q, k, v, None, *past, out=3)
    case("Attention", q, k, v, some(3, 8, seed=8), *past, out=3)
    for mode in [0, 1, 2, 3]:
        case("Attention", q, k, v, some(3, 5, seed=5), out=[True, False, False, True], qk_matmul_output_mode=mode, softcap=2.0 if mode else 0.0, ref=scores)
    case("Attention", q, k, v, None, None, None, ints(3, 5))
    rotary()
    streams()


def scores(q, k, v, mask, qk_matmul_output_mode=0, softcap=0.0):
    """The last output in each of its four modes: product, soft cap, mask, softmax (version 24)."""
    k, v = k.repeat(2, 1), v.repeat(2, 1)
    s = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    stages = [s]
    if softcap:
        s = softcap * np.tanh(s / softcap)
    stages.append(s)
    s = s + mask
    stages.append(s)
    p = np.exp(s - s.max(3, keepdims=True))
    p = p / p.sum(3, keepdims=True)
    return p @ v, None, None, (stages + [p])[qk_matmul_output_mode]


def rotary():
    x = some(2, 3, 4, 6)
    cos, sin = some(9, 3, lo=-1, hi=1, seed=2), some(9, 3, lo=-1, hi=1, seed=3)
    at = tensor([[0, 3, 5, 8], [1, 2, 7, 4]], "int64")
    case("RotaryEmbedding", x, cos, sin, at, types=["float64"])
    case("RotaryEmbedding", x, cos, sin, at, types=LOW, only=True, tol=0.02)
    case("RotaryEmbedding", x, cos, sin, at, interleaved=1)
    case("RotaryEmbedding", some(2, 4, 18), cos, sin, at, num_heads=3)
    case("RotaryEmbedding", x, some(2, 4, 3, lo=-1, hi=1, seed=2), some(2, 4, 3, lo=-1, hi=1, seed=3))
    case("RotaryEmbedding", x, some(9, 2, lo=-1, hi=1, seed=2), some(9, 2, lo=-1, hi=1, seed=3), at, rotary_embedding_dim=4, ref=partly)
    case("RotaryEmbedding", x, some(9, 2, lo=-1, hi=1, seed=2), some(9, 2, lo=-1, hi=1, seed=3), at, rotary_embedding_dim=4, interleaved=1, ref=partly)


def partly(x, cos, sin, at, rotary_embedding_dim, interleaved=0):
    d = rotary_embedding_dim
    c, s = cos[at][:, None], sin[at][:, None]
    a, b = (x[..., 0:d:2], x[..., 1:d:2]) if interleaved else (x[..., :d // 2], x[..., d // 2:d])
    re, im = a * c - b * s, a * s + b * c
    turned = np.stack([re, im], -1).reshape(x.shape[:-1] + (d,)) if interleaved else np.concatenate([re, im], -1)
    return np.concatenate([turned, x[..., d:]], -1)


def silu(x, alpha=1.0):
    return x / (1 + np.exp(-alpha * x))


def streams():
    case("SwiGLU", some(2, 5), some(2, 5, seed=2), types=FLOATS, opset=28, ref=lambda a, b: silu(a) * b)
    case("SwiGLU", some(2, 5), some(2, 5, seed=2), alpha=1.7, opset=28, ref=lambda a, b, alpha: silu(a, alpha) * b)
    x, w = some(2, 3, 5), some(3, 1, 3, seed=2)
    case("CausalConvWithState", x, w, out=2, types=FLOATS, opset=27, ref=causal)
    case("CausalConvWithState", x, w, some(3, seed=4), some(2, 3, 2, seed=5), out=2, opset=27, activation="silu", ref=causal)
    case("CausalConvWithState", x, w, None, some(2, 3, 2, seed=5), opset=27, activation="swish", ref=causal)
    q, k, v = some(2, 3, 8), some(2, 3, 4, seed=2), some(2, 3, 6, seed=3)
    decay, beta = some(2, 3, 2, lo=-1, hi=-0.1, seed=4), some(2, 3, 2, lo=0.1, hi=0.9, seed=5)
    wide, state = some(2, 3, 4, lo=-1, hi=-0.1, seed=6), some(2, 2, 2, 3, seed=7)
    heads = dict(q_num_heads=4, kv_num_heads=2, opset=27, ref=linear, out=2)
    case("LinearAttention", q, k, v, None, decay, beta, types=["float64"], **heads)
    case("LinearAttention", q, k, v, None, decay, beta, types=LOW, only=True, tol=0.05, nolow="sums", **heads)
    case("LinearAttention", q, k, v, state, wide, beta, **heads)
    for t in FLOATS:
        past = Tensor(state.data, t)
        def mixed(*a, t=t, **kw):
            y, s = linear(*[x.astype(np.float64) for x in a], **kw)
            return Tensor(y, "float32"), Tensor(s, t)
        case("LinearAttention", q, k, v, past, wide, beta, **{**heads, "ref": mixed}, nograd="the state has a type of its own", nolow="sums", nowide="the state has a type of its own", tol=1e-2 if t in LOW else None)
    case("LinearAttention", q, k, v, state, update_rule="linear", scale=0.3, **heads)
    case("LinearAttention", q, k, v, None, wide, update_rule="gated", chunk_size=2, **heads)
    case("LinearAttention", q, k, v, None, None, beta, update_rule="delta", **heads)


def causal(x, w, b=None, past=None, activation="none"):
    n = w.shape[2]
    padded = np.concatenate([np.zeros(x.shape[:2] + (n - 1,)) if past is None else past, x], 2)
    y = sum(padded[:, :, i:i + x.shape[2]] * w[None, :, 0, i, None] for i in range(n))
    if b is not None:
        y = y + b[None, :, None]
    return silu(y) if activation != "none" else y, padded[:, :, x.shape[2]:]


def linear(q, k, v, past=None, decay=None, beta=None, q_num_heads=1, kv_num_heads=1, scale=0.0, update_rule="gated_delta", chunk_size=64):
    n, steps = q.shape[:2]
    split = lambda t: None if t is None else t.reshape(n, steps, kv_num_heads, -1)
    k, v, decay, beta = split(k), split(v), split(decay), split(beta)
    q = q.reshape(n, steps, q_num_heads, -1)
    group, scale = q_num_heads // kv_num_heads, scale or 1 / np.sqrt(k.shape[3])
    state = np.zeros((n, kv_num_heads, k.shape[3], v.shape[3])) if past is None else past.copy()
    y = np.zeros((n, steps, q_num_heads, v.shape[3]))
    for b, t, h in np.ndindex(n, steps, kv_num_heads):
        s = state[b, h]
        if "gated" in update_rule:
            s = s * np.exp(decay[b, t, h])[:, None]
        write = v[b, t, h]
        if "delta" in update_rule:
            write = beta[b, t, h] * (write - k[b, t, h] @ s)
        state[b, h] = s + np.outer(k[b, t, h], write)
        for g in range(group):
            y[b, t, h * group + g] = scale * q[b, t, h * group + g] @ state[b, h]
    return y.reshape(n, steps, -1), state
