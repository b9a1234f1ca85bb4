#!/usr/bin/python3
"""Expected values of the operators on channels in blocks, computed by NumPy from their definition: blocked.py > blocked.json

A case has the operator, its attributes, the block, its inputs and its output. Images are as their shape tells. Weights are in
the order in which an optimized file stores them: [O/b, I/b, kernel, b of I, b of O], or [O/b, I, kernel, b of O] where the
input does not come in blocks or each channel is convolved by itself. Numbers are small and whole, but for averages.
"""
import json
import numpy as np

rng = np.random.default_rng(5)


def whole(*shape):
    return rng.integers(-3, 4, shape).astype(np.float64)


def padded(x, pads, value=0.0):
    return np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])], constant_values=value)


def windows(x, kernel, strides, dilations):
    kh, kw = kernel
    oh = (x.shape[2] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    ow = (x.shape[3] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    out = np.empty(x.shape[:2] + (oh, ow, kh, kw))
    for i in range(oh):
        for j in range(ow):
            top, left = i * strides[0], j * strides[1]
            out[:, :, i, j] = x[:, :, top:top + (kh - 1) * dilations[0] + 1:dilations[0], left:left + (kw - 1) * dilations[1] + 1:dilations[1]]
    return out


def conv(x, w, bias, pads, strides, dilations, group):
    v = windows(padded(x, pads), w.shape[2:], strides, dilations)
    per, outs = x.shape[1] // group, w.shape[0] // group
    y = np.concatenate([np.einsum('nchwij,ocij->nohw', v[:, g * per:(g + 1) * per], w[g * outs:(g + 1) * outs]) for g in range(group)], 1)
    return y if bias is None else y + bias[None, :, None, None]


def stored(w, b, blocks):
    o, i, kh, kw = w.shape
    if blocks:
        return w.reshape(o // b, b, i // b, b, kh, kw).transpose(0, 2, 4, 5, 3, 1).reshape(w.shape)
    return w.reshape(o // b, b, i, kh, kw).transpose(0, 2, 3, 4, 1).reshape(w.shape)


def activated(y, name, params):
    if name == 'Relu':
        return np.maximum(y, 0)
    if name == 'LeakyRelu':
        return np.where(y < 0, params[0] * y, y)
    return y


cases = []


def case(name, op, block, attrs, inputs, output):
    pack = lambda x: None if x is None else {'shape': list(x.shape), 'data': [float('%.7g' % v) for v in x.ravel()]}
    cases.append({'name': '%s, blocks of %d' % (name, block), 'op': op, 'block': block, 'attrs': attrs, 'in': [pack(x) for x in inputs], 'out': pack(output)})


def conv_case(name, b, x, w, bias=None, sum_=None, blocks=True, pads=(0, 0, 0, 0), strides=(1, 1), dilations=(1, 1), group=1, activation='', params=()):
    y = conv(x, w, bias, pads, strides, dilations, group)
    if sum_ is not None:
        y = y + sum_(y.shape)
        rng_sum = sum_.last
    attrs = {'pads': list(pads), 'strides': list(strides), 'dilations': list(dilations), 'group': group, 'kernel_shape': list(w.shape[2:]),
             'activation': activation, 'activation_params': list(params)}
    case(name, 'Conv', b, attrs, [x, stored(w, b, blocks), bias, None if sum_ is None else rng_sum], activated(y, activation, params))


def addend(shape):
    addend.last = whole(*shape)
    return addend.last


for b in (8, 16):
    conv_case('Conv', b, whole(1, b, 4, 3), whole(b, b, 2, 2), whole(b), activation='Relu')
    conv_case('Conv of two blocks', b, whole(1, 2 * b, 2, 2), whole(b, 2 * b, 1, 1))
    conv_case('Conv of a plain image', b, whole(1, 3, 5, 4), whole(b, 3, 3, 2), whole(b), blocks=False, pads=(1, 0, 1, 1), strides=(2, 1))
    conv_case('Conv of single channels', b, whole(1, b, 5, 5), whole(b, 1, 2, 2), None, addend, blocks=False, group=b, dilations=(2, 1), activation='LeakyRelu', params=(0.5,))
    x = whole(1, b, 5, 4)
    v = windows(padded(x, (1, 0, 0, 1), -np.inf), (2, 3), (2, 1), (1, 1))
    case('MaxPool', 'MaxPool', b, {'kernel_shape': [2, 3], 'pads': [1, 0, 0, 1], 'strides': [2, 1]}, [x], v.max((4, 5)))
    case('MaxPool dilated', 'MaxPool', b, {'kernel_shape': [2, 2], 'dilations': [3, 2]}, [x], windows(x, (2, 2), (1, 1), (3, 2)).max((4, 5)))
    total = windows(padded(x, (1, 0, 0, 1)), (2, 3), (2, 1), (1, 1)).sum((4, 5))
    count = windows(padded(np.ones_like(x), (1, 0, 0, 1)), (2, 3), (2, 1), (1, 1)).sum((4, 5))
    case('AveragePool', 'AveragePool', b, {'kernel_shape': [2, 3], 'pads': [1, 0, 0, 1], 'strides': [2, 1]}, [x], total / count)
    case('AveragePool with padding', 'AveragePool', b, {'kernel_shape': [2, 3], 'pads': [1, 0, 0, 1], 'strides': [2, 1], 'count_include_pad': 1}, [x], total / 6)
    case('GlobalMaxPool', 'GlobalMaxPool', b, {}, [x], x.max((2, 3), keepdims=True))
    case('GlobalAveragePool', 'GlobalAveragePool', b, {}, [x], x.mean((2, 3), keepdims=True))
    case('Upsample', 'Upsample', b, {'scales': [1, 1, 2, 3]}, [x[:, :, :2, :2]], x[:, :, :2, :2].repeat(2, 2).repeat(3, 3))
    x = whole(1, 3, 2, 2)
    fill = np.concatenate([x, np.zeros((1, b - 3, 2, 2))], 1)
    case('ReorderInput', 'ReorderInput', b, {}, [x], fill)
    case('ReorderInput, channels last', 'ReorderInput', b, {'channels_last': 1}, [x.transpose(0, 2, 3, 1)], fill)
    case('ReorderOutput', 'ReorderOutput', b, {'channels': 3}, [fill], x)
    case('ReorderOutput, channels last', 'ReorderOutput', b, {'channels': 3, 'channels_last': 1}, [fill], x.transpose(0, 2, 3, 1))

for b in (8, 16):
    conv_case('Conv of one channel', b, whole(1, 1, 5, 4), whole(b, 1, 2, 2), whole(b), blocks=False)
    conv_case('Conv in groups', b, whole(1, 2 * b, 3, 3), whole(2 * b, b, 2, 2), group=2, strides=(1, 2))

print('[' + ',\n'.join(json.dumps(c, separators=(',', ':')) for c in cases) + ']')
