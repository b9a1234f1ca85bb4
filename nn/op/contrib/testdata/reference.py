"""Computes what operators of com.microsoft give where ONNX Runtime's CPU provider cannot, by their formulas in NumPy.

    python3 reference.py QUESTIONS.json

prints {name: [output, ...]}. A question has an operator, its attributes under the names of the Go configuration, and inputs
{dtype, shape, data} or null. TestTransformersInReference asks, and with -update keeps the answers in reference.json.
"""
import json
import sys

import numpy as np


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def heads(x, n):  # [B, S, N·H] to [B, N, S, H]
    return x.reshape(x.shape[0], x.shape[1], n, -1).transpose(0, 2, 1, 3)


def attend(q, k, v, scale, bias=0.0):
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5) + bias
    y = softmax(scores) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1), scores


def causal(queries, keys, past):
    i, j = np.arange(queries)[:, None], np.arange(keys)[None]
    return np.where(j > past + i, float(np.finfo(np.float32).min), 0.0)


def put(cache, x, at):
    """The cache with the rows of x from row at on."""
    cache = cache.copy()
    cache[:, :, at:at + x.shape[2]] = x
    return cache


def neox(x, past, width):
    """Turns the first width elements of each head, those half the width apart together."""
    angle = (past + np.arange(x.shape[2]))[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
    a, b, rest = x[..., :width // 2], x[..., width // 2:width], x[..., width:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle), rest], -1)


def attention(c, x, w, b=None, mask=None, past=None, add=None, length=None):
    n, filler = c['NumHeads'], -10000.0 if c['MaskFilter'] is None else c['MaskFilter']
    rows = x @ w + (0 if b is None else b)
    q, k, v = (heads(p, n) for p in np.split(rows, 3, -1))
    kept = 0
    if past is not None:
        kept = int(length[0]) if length is not None else past.shape[3]
    if c['DoRotary']:
        width = c['RotaryDim'] or q.shape[-1]
        q, k = neox(q, kept, width), neox(k, kept, width)
    present = np.stack([k, v])
    if length is not None:
        present = np.stack([put(past[0], k, kept), put(past[1], v, kept)])
    elif past is not None:
        present = np.concatenate([past, present], 3)
    total = kept + x.shape[1]
    bias = np.zeros((1, 1, x.shape[1], total))
    if c['Unidirectional']:
        bias = bias + causal(x.shape[1], total, kept)
    if mask is not None:  # of all positions
        bias = bias + np.where(mask[:, :, kept:total, :total] > 0, 0.0, filler)
    y, _ = attend(q, present[0][:, :, :total], present[1][:, :, :total], c['Scale'], bias)
    return [y, present]


def qattention(c, x, w, b, x_scale, w_scale, mask=None, x_zero=None, w_zero=None, past=None):
    shift = lambda v, zero: v if zero is None else v - zero
    float_config = {'NumHeads': c['Heads'], 'MaskFilter': c['MaskValue'], 'Scale': c['Scale'], 'Unidirectional': c['Causal'],
                    'DoRotary': c['Rotary'], 'RotaryDim': 0}
    return attention(float_config, shift(x, x_zero) * x_scale, shift(w, w_zero) * w_scale, b, mask, past)


def multi_head(c, q, k=None, v=None, b=None, mask=None, add=None, past_k=None, past_v=None, length=None, beams=None):
    n = c['NumHeads']
    if k is None:
        flat = lambda i: q[:, :, :, i].reshape(*q.shape[:2], -1)
        q, k, v = flat(0), flat(1), flat(2)
    elif k.ndim == 5:
        flat = lambda i: k[:, :, :, i].reshape(*k.shape[:2], -1)
        k, v = flat(0), flat(1)
    if b is not None:
        d = q.shape[-1]
        q, k, v = q + b[:d], k + b[d:2 * d], v + b[2 * d:]
    return cached(c, heads(q, n), heads(k, n), heads(v, n), past_k, past_v, length, c['Unidirectional'])


def decoder(c, q, k=None, v=None, mask=None, add=None, past_k=None, past_v=None, length=None):
    n = c['NumHeads']
    if k is None:
        q, k, v = np.split(q, 3, -1)
    if k.ndim == 3:
        k, v = heads(k, n), heads(v, n)
    bias = 0.0
    if mask is not None:
        bias = np.where(mask[:, None, None] > 0, 0.0, -10000.0)
    return cached(c, heads(q, n), k, v, past_k, past_v, length, False, bias)


def cached(c, q, k, v, past_k, past_v, length, one_way, bias=0.0):
    kept, rows = 0, k.shape[2]
    if length is not None:
        kept = int(length[0])
        k, v = put(past_k, k, kept), put(past_v, v, kept)
    elif past_k is not None:
        kept = past_k.shape[2]
        k, v = np.concatenate([past_k, k], 2), np.concatenate([past_v, v], 2)
    total = kept + rows
    if one_way:
        bias = bias + causal(q.shape[2], total, kept)
    y, scores = attend(q, k[:, :, :total], v[:, :, :total], c['Scale'], bias)
    return [y, k, v, scores]


def group_query(c, q, k, v, past_k, past_v, last, total, *rest):
    """A prompt whose heads are normalized."""
    groups = c['NumHeads'] // c['KVHeads']
    q, k, v = heads(q, c['NumHeads']), heads(k, c['KVHeads']), heads(v, c['KVHeads'])
    norm = lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + c['NormEpsilon']) * w
    q, k = norm(q, rest[-2]), norm(k, rest[-1])
    spread = lambda x: np.repeat(x, groups, 1)
    y, _ = attend(q, spread(k), spread(v), c['Scale'], causal(q.shape[2], q.shape[2], 0))
    return [y, k, v]


def rfft(c, x):
    y = np.fft.rfftn(x, axes=range(-c['SignalRank'], 0))
    return [np.stack([y.real, y.imag], -1)]


def irfft(c, x):
    return [np.fft.irfftn(x[..., 0] + 1j * x[..., 1], axes=range(-c['SignalRank'], 0))]


OPERATORS = {'Attention': attention, 'QAttention': qattention, 'MultiHeadAttention': multi_head, 'DecoderMaskedMultiHeadAttention': decoder, 'GroupQueryAttention': group_query,
             'Rfft': rfft, 'Irfft': irfft}


def main():
    answers = {}
    for q in json.load(open(sys.argv[1])):
        given = [None if x is None else np.array(x['data'], np.float64).reshape(x['shape']) for x in q['In']]
        out = OPERATORS[q['Operator']](q['Config'], *given)
        answers[q['Name']] = [{'dtype': 'float32', 'shape': y.shape, 'data': [float('%.9g' % v) for v in y.ravel()]} for y in out[:q['Outputs']]]
    json.dump(answers, sys.stdout)


main()
