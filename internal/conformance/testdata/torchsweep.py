"""Draws random models of one operator, and computes with PyTorch in float64 what they give and the gradients of a weighted sum of it.

Usage: python3 torchsweep.py FOLDER SEED COUNT [FUNCTION,…]

COUNT models of each operator go to FOLDER/cases.npz: CASE.model, a serialized ONNX model whose last output is "loss"; CASE.in.NAME, its inputs;
CASE.out.NAME, its outputs; CASE.grad.NAME, the gradients of loss by inputs. CASE is FUNCTION SEED:NUMBER OPERATOR-VERSION ATTRIBUTES. Functions below that begin with "op_" draw one model each.
"""
import math, sys, warnings, zlib
import numpy as np
import onnx
import torch
import torchvision
from onnx import helper, numpy_helper
from onnx.backend.test.case.node import resize as reference
from onnx.mapping import NP_TYPE_TO_TENSOR_TYPE
from torch.nn import functional as F

warnings.filterwarnings("ignore")
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


class Draw(np.random.RandomState):
    def between(self, lo, hi):
        return int(self.randint(lo, hi + 1))

    def flag(self):
        return bool(self.randint(2))

    def rarely(self, n):
        return self.randint(n) == 0

    def pick(self, *list):
        return list[self.randint(len(list))]

    def shape(self, rank, lo, hi):
        return [self.between(lo, hi) for _ in range(rank)]

    def axis(self, rank):
        return self.between(-rank, rank - 1)


class Case:
    """A node, with more nodes around it where a framework says the same differently."""

    def __init__(self, r, op, opset=17, domain=""):
        self.r, self.op, self.opset, self.domain = r, op, opset, domain
        self.feeds, self.leaves, self.names, self.attrs, self.fixed, self.before = {}, {}, [], {}, [], []

    def x(self, *shape, grad=True, positive=False, data=None, distinct=False):
        """A floating-point input. Its numbers are different ones, off the kinks at whole numbers and halves."""
        n = int(np.prod(shape)) if shape else 1
        v = self.r.uniform(-3, 3, n) if data is None else np.asarray(data, np.float64).reshape(-1)
        if distinct:
            v = self.r.permutation(n) / 4 - n / 8 + 0.03
        if positive:
            v = np.abs(v) + 0.2
        t = torch.tensor(v.reshape(shape), requires_grad=grad)
        return self.add(t, grad)

    def add(self, t, grad=False):
        name = "x%d" % len(self.feeds)
        self.names.append(name)
        self.feeds[name] = t
        if grad:
            self.leaves[name] = t
        return t

    def ints(self, v, dtype=torch.int64):
        return self.add(torch.tensor(v, dtype=dtype))

    def floats(self, v):
        """float32 numbers that shapes depend on: an initializer."""
        t = self.add(torch.tensor(v, dtype=torch.float32))
        self.fixed.append(self.names[-1])
        return t

    def skip(self):
        self.names.append("")

    def captured(self):
        """Returns the name of the last input, which is not the node's: subgraphs, or nodes before it, read it."""
        return self.names.pop()

    def done(self, *y, outputs=None, no_grad=()):
        """The outputs that PyTorch computes, None for one that is not compared."""
        self.y, self.no_grad = y, no_grad
        self.outputs = outputs or ["y%d" % i if t is not None else "" for i, t in enumerate(y)]
        return self

    def save(self, arrays, key):
        nodes = self.before + [helper.make_node(self.op, self.names, self.outputs, domain=self.domain, **self.attrs)]
        inits, total, terms = [], 0, []
        for i, (name, t) in enumerate(zip(self.outputs, self.y)):
            if t is None or not t.is_floating_point() or i in self.no_grad:
                continue
            w = self.r.uniform(-0.5, 1, tuple(t.shape))
            inits.append(numpy_helper.from_array(np.asarray(w), "w%d" % i))
            nodes += [helper.make_node("Mul", [name, "w%d" % i], ["p%d" % i]), helper.make_node("ReduceSum", ["p%d" % i], ["s%d" % i], keepdims=0)]
            terms.append("s%d" % i)
            total = total + (t * torch.tensor(w)).sum()
        outs = [helper.make_tensor_value_info(n, 0, None) for n in self.outputs if n]
        ins = []
        for name, t in self.feeds.items():
            v = t.detach().numpy()
            if name in self.fixed:
                inits.append(numpy_helper.from_array(v, name))
                continue
            ins.append(helper.make_tensor_value_info(name, NP_TYPE_TO_TENSOR_TYPE[v.dtype], list(v.shape)))
            arrays[key + ".in." + name] = v
        if terms and self.leaves and total.requires_grad:
            nodes.append(helper.make_node("Sum", terms, ["loss"]))
            outs.append(helper.make_tensor_value_info("loss", 0, None))
            grads = torch.autograd.grad(total, list(self.leaves.values()), allow_unused=True)
            for (name, t), g in zip(self.leaves.items(), grads):
                arrays[key + ".grad." + name] = np.array((torch.zeros_like(t) if g is None else g).detach().numpy(), order="C")
        for o in outs:
            o.ClearField("type")
        for name, t in zip(self.outputs, self.y):
            if t is not None:
                arrays[key + ".out." + name] = np.array(t.detach().numpy(), order="C")
        opsets = [helper.make_opsetid("", self.opset)] if not self.domain else [helper.make_opsetid("", 17), helper.make_opsetid(self.domain, self.opset)]
        m = helper.make_model(helper.make_graph(nodes, "g", ins, outs, inits), opset_imports=opsets)
        m.ir_version = 10
        arrays[key + ".model"] = np.frombuffer(m.SerializeToString(), np.uint8)


# Windows.

def padded(x, pads, value=0.0):
    """Pads the axes after the first two by ONNX's list of begins and ends."""
    n = len(pads) // 2
    flat = []
    for i in reversed(range(n)):
        flat += [pads[i], pads[n + i]]
    return F.pad(x, flat, value=value)


def windows(r, n, groups=False):
    k, d, s = r.shape(n, 1, 3), r.shape(n, 1, 2), r.shape(n, 1, 3)
    size = [(k[i] - 1) * d[i] + r.between(1, 5) for i in range(n)]
    return k, d, s, size


def op_conv(r):
    c, n, g = Case(r, "Conv", r.pick(11, 22)), r.between(1, 3), r.between(1, 3)
    k, d, s, size = windows(r, n)
    pads = r.shape(2 * n, 0, 2) if r.flag() else [0] * 2 * n
    a, b = g * r.between(1, 3), g * r.between(1, 3)
    if r.rarely(4):  # depthwise
        g = a
        b = a * r.between(1, 2)
    x, w = c.x(r.between(1, 3), a, *size), c.x(b, a // g, *k)
    bias = c.x(b) if r.flag() else None
    c.attrs = dict(kernel_shape=k, dilations=d, strides=s, pads=pads, group=g)
    return c.done([F.conv1d, F.conv2d, F.conv3d][n - 1](padded(x, pads), w, bias, s, 0, d, g))


def op_conv_transpose(r):
    c, n, g = Case(r, "ConvTranspose", r.pick(11, 22)), r.between(1, 3), r.between(1, 3)
    k, d, s = r.shape(n, 1, 3), r.shape(n, 1, 2), r.shape(n, 1, 3)
    size = r.shape(n, 1, 4)
    extra = [r.between(0, max(s[i], d[i]) - 1) if r.flag() else 0 for i in range(n)]
    full = [(size[i] - 1) * s[i] + (k[i] - 1) * d[i] + 1 + extra[i] for i in range(n)]
    pads = [r.between(0, min(2, (full[i] - 1) // 2)) for i in range(n)] * 1
    x, w = c.x(r.between(1, 3), g * r.between(1, 3), *size), None
    w = c.x(x.shape[1], r.between(1, 3), *k)
    bias = c.x(w.shape[1] * g) if r.flag() else None
    c.attrs = dict(kernel_shape=k, dilations=d, strides=s, pads=pads + pads, group=g, output_padding=extra)
    return c.done([F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1](x, w, bias, s, pads, extra, g, d))


def op_max_pool(r):
    n = r.between(1, 3)
    c = Case(r, "MaxPool", r.pick(10, 12, 22))
    k, d, s, size = windows(r, n)
    pads = [r.between(0, k[i] // 2) for i in range(n)]
    ceil = r.flag()
    x = c.x(r.between(1, 2), r.between(1, 3), *size, distinct=True)
    c.attrs = dict(kernel_shape=k, dilations=d, strides=s, pads=pads + pads, ceil_mode=int(ceil))
    return c.done([F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1](x, k, s, pads, d, ceil))


def op_average_pool(r):
    n = r.between(1, 3)
    c = Case(r, "AveragePool", r.pick(19, 22))
    k, _, s, size = windows(r, n)
    size = [max(a, b) for a, b in zip(size, k)]
    pads = [r.between(0, k[i] // 2) for i in range(n)]
    ceil, count = r.flag(), r.flag()
    x = c.x(r.between(1, 2), r.between(1, 3), *size)
    c.attrs = dict(kernel_shape=k, strides=s, pads=pads + pads, ceil_mode=int(ceil), count_include_pad=int(count))
    one = lambda v: v[0] if n == 1 else v
    return c.done([F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1](x, one(k), one(s), one(pads), ceil, count))


def op_lp_pool(r):
    c, n = Case(r, "LpPool", r.pick(11, 18, 22)), r.between(1, 2)
    k, _, s, size = windows(r, n)
    size = [max(a, b) for a, b in zip(size, k)]
    p = r.between(1, 4)
    x = c.x(r.between(1, 2), r.between(1, 3), *size)
    c.attrs = dict(kernel_shape=k, strides=s, p=p)
    y = x.abs().pow(p)
    one = lambda v: v[0] if n == 1 else v
    y = [F.avg_pool1d, F.avg_pool2d][n - 1](y, one(k), one(s)) * float(np.prod(k))
    return c.done(y.pow(1 / p))


def op_global_pool(r):
    name = r.pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    c, n = Case(r, name, r.pick(2, 22)), r.between(1, 3)
    if name == "GlobalLpPool":
        c.attrs["p"] = r.between(1, 3)
    x = c.x(r.between(1, 3), r.between(1, 3), *r.shape(n, 1, 5), distinct=name == "GlobalMaxPool")
    axes = list(range(2, 2 + n))
    if name == "GlobalAveragePool":
        return c.done(x.mean(axes, keepdim=True))
    if name == "GlobalMaxPool":
        return c.done(x.amax(axes, keepdim=True))
    p = c.attrs["p"]
    return c.done(x.abs().pow(p).sum(axes, keepdim=True).pow(1 / p))


def op_max_unpool(r):
    c = Case(r, "MaxUnpool", r.pick(9, 11, 22))
    n, ch, k = r.between(1, 2), r.between(1, 2), r.shape(2, 2, 3)
    size = [k[i] * r.between(1, 3) for i in range(2)]
    y, i = F.max_pool2d(torch.tensor(r.permutation(n * ch * size[0] * size[1]).reshape(n, ch, *size) / 7), k, return_indices=True)
    x = c.x(*y.shape)
    flat = i + (torch.arange(n * ch) * size[0] * size[1]).reshape(n, ch, 1, 1)
    c.add(flat)
    c.attrs = dict(kernel_shape=k, strides=k)
    return c.done(F.max_unpool2d(x, i, k))


def op_col2im(r):
    c = Case(r, "Col2Im", 18)
    k, d, s, p = r.shape(2, 1, 3), r.shape(2, 1, 2), r.shape(2, 1, 2), r.shape(2, 0, 1)
    size = [(k[i] - 1) * d[i] + 1 + r.between(0, 4) for i in range(2)]
    blocks = int(np.prod([(size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in range(2)]))
    x = c.x(r.between(1, 2), r.between(1, 3) * k[0] * k[1], blocks)
    c.ints(size), c.ints(k)
    c.attrs = dict(dilations=d, strides=s, pads=p + p)
    return c.done(F.fold(x, size, k, d, p, s))


def op_deform_conv(r):
    c, g, og = Case(r, "DeformConv", r.pick(19, 22)), r.between(1, 2), r.between(1, 2)
    k, d, s, p = r.shape(2, 1, 3), r.shape(2, 1, 2), r.shape(2, 1, 2), r.shape(2, 0, 1)
    a, b, n = g * og * r.between(1, 2), g * r.between(1, 2), r.between(1, 2)
    size = [(k[i] - 1) * d[i] + r.between(1, 4) for i in range(2)]
    out = [(size[i] + 2 * p[i] - (k[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(2)]
    x, w = c.x(n, a, *size), c.x(b, a // g, *k)
    offset = c.x(n, og * k[0] * k[1] * 2, *out)
    bias = c.x(b) if r.flag() else c.skip()
    mask = c.x(n, og * k[0] * k[1], *out) if r.flag() else None
    c.attrs = dict(kernel_shape=k, dilations=d, strides=s, pads=p + p, group=g, offset_group=og)
    return c.done(torchvision.ops.deform_conv2d(x, offset, w, bias, s, p, d, mask))


def op_roi_align(r):
    c = Case(r, "RoiAlign", r.pick(16, 22))
    n, m, aligned = r.between(1, 2), r.between(1, 3), r.flag()
    x = c.x(n, r.between(1, 3), *r.shape(2, 3, 7))
    box = r.uniform(0, 4, (m, 4))
    box[:, 2:] += box[:, :2] + 0.5
    c.add(torch.tensor(box))
    which = c.ints([r.between(0, n - 1) for _ in range(m)])
    out, ratio, scale = r.shape(2, 1, 3), r.between(0, 3), r.pick(1.0, 0.5)
    c.attrs = dict(output_height=out[0], output_width=out[1], sampling_ratio=ratio, spatial_scale=scale, coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel")
    return c.done(torchvision.ops.roi_align(x, torch.cat([which[:, None].double(), torch.tensor(box)], 1), out, scale, ratio, aligned))


# Recurrent networks: PyTorch's gates in ONNX's order.

def recurrent(r, op, order, run):
    c = Case(r, op, r.pick(7, 14, 22) if op != "GRU" else r.pick(7, 14, 22))
    t, n, a, h, both = r.between(1, 4), r.between(1, 3), r.between(1, 3), r.between(1, 4), r.flag()
    d, gates = 2 if both else 1, len(order)
    bidirectional = dict(direction="bidirectional") if both else {}
    x, w, u = c.x(t, n, a), c.x(d, gates * h, a), c.x(d, gates * h, h)
    bias = c.x(d, 2 * gates * h) if r.flag() else c.skip()
    lens = None
    if r.rarely(3):
        lens = sorted((r.between(1, t) for _ in range(n)), reverse=True)
        lens[0] = t
        c.ints(lens, torch.int32)
    else:
        c.skip()
    zero = torch.zeros(d, n, h)
    h0 = c.x(d, n, h) if r.flag() else c.skip()
    state = [h0 if h0 is not None else zero]
    if op == "LSTM":
        c0 = c.x(d, n, h) if r.flag() else c.skip()
        state.append(c0 if c0 is not None else zero)
    c.attrs = dict(hidden_size=h, **bidirectional)
    sort = lambda m: torch.cat([m[i * h:(i + 1) * h] for i in order])
    flat = []
    for k in range(d):
        flat += [sort(w[k]), sort(u[k])]
        b = bias[k] if bias is not None else torch.zeros(2 * gates * h)
        flat += [sort(b[:gates * h]), sort(b[gates * h:])]
    kind, extra = run(c, r)
    hx = tuple(state) if op == "LSTM" else state[0]
    if lens is None:
        out = kind(x, hx, flat, True, 1, 0.0, False, both, False)
        y = out[0]
    else:
        p = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lens))
        out = kind(p.data, p.batch_sizes, hx, flat, True, 1, 0.0, False, both)
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(torch.nn.utils.rnn.PackedSequence(out[0], p.batch_sizes), total_length=t)
    y = y.reshape(t, n, d, h).transpose(1, 2)
    if op == "LSTM" and r.rarely(4):
        return c.done(y, out[1], out[2])
    return c.done(y, *out[1:])


def op_lstm(r):
    return recurrent(r, "LSTM", [0, 2, 3, 1], lambda c, r: (torch._VF.lstm, None))


def op_gru(r):
    def kind(c, r):
        c.attrs["linear_before_reset"] = 1
        return torch._VF.gru, None
    return recurrent(r, "GRU", [1, 0, 2], kind)


def op_rnn(r):
    def kind(c, r):
        if r.flag():
            c.attrs["activations"] = ["Relu"] * (2 if "direction" in c.attrs else 1)
            return torch._VF.rnn_relu, None
        return torch._VF.rnn_tanh, None
    return recurrent(r, "RNN", [0], kind)


# Normalizations.

def op_layer_norm(r):
    c, rank = Case(r, "LayerNormalization", 17), r.between(1, 4)
    shape = r.shape(rank, 1, 4)
    shape[-1] = r.between(2, 5)
    axis = r.axis(rank)
    c.attrs = dict(axis=axis, epsilon=0.125)
    rest = shape[axis % rank:]
    x, s = c.x(*shape), c.x(*rest)
    b = c.x(*rest) if r.flag() else None
    return c.done(F.layer_norm(x, rest, s, b, 0.125))


def op_group_norm(r):
    c, g = Case(r, "GroupNormalization", r.pick(18, 21)), r.between(1, 3)
    each = r.between(1, 3)
    shape = [r.between(1, 3), g * each] + r.shape(r.between(1, 3), 1, 3)
    shape[2] = r.between(2, 3)
    c.attrs = dict(num_groups=g, epsilon=0.125)
    x = c.x(*shape)
    s, b = c.x(g if c.opset == 18 else g * each), c.x(g if c.opset == 18 else g * each)
    wide = lambda v: v.repeat_interleave(each) if c.opset == 18 else v
    return c.done(F.group_norm(x, g, wide(s), wide(b), 0.125))


def op_instance_norm(r):
    c = Case(r, "InstanceNormalization", r.pick(6, 22))
    x = c.x(r.between(1, 3), r.between(1, 3), *r.shape(r.between(1, 3), 2, 4))
    s, b = c.x(x.shape[1]), c.x(x.shape[1])
    c.attrs = dict(epsilon=0.125)
    return c.done(F.instance_norm(x, None, None, s, b, True, 0.1, 0.125))


def op_batch_norm(r):
    c, training = Case(r, "BatchNormalization", r.pick(14, 15)), r.flag()
    shape = [r.between(1, 3), r.between(1, 3)] + r.shape(r.between(1, 3), 1, 3)
    shape[2] = r.between(2, 3)
    x, s, b = c.x(*shape), c.x(shape[1]), c.x(shape[1])
    m, v = c.x(shape[1], grad=not training), c.x(shape[1], positive=True, grad=not training)
    c.attrs = dict(epsilon=0.125, training_mode=int(training), momentum=0.75)
    if not training:
        wide = lambda t: t.reshape([-1] + [1] * (len(shape) - 2))
        return c.done((x - wide(m)) / wide(v + 0.125).sqrt() * wide(s) + wide(b))
    axes = [i for i in range(len(shape)) if i != 1]
    y = F.batch_norm(x, None, None, s, b, True, 0.25, 0.125)
    mean, var = m * 0.75 + x.mean(axes) * 0.25, v * 0.75 + x.var(axes, unbiased=False) * 0.25
    return c.done(y, mean, var, no_grad=(1, 2))


def op_lp_norm(r):
    c, rank = Case(r, "LpNormalization", r.pick(1, 22)), r.between(1, 4)
    p, axis = r.between(1, 2), r.axis(rank)
    c.attrs = dict(p=p, axis=axis)
    return c.done(F.normalize(c.x(*r.shape(rank, 1, 4)), p, axis, 0))


def op_lrn(r):
    c, size = Case(r, "LRN", r.pick(1, 13)), r.pick(1, 3, 5)
    c.attrs = dict(size=size, alpha=0.5, beta=0.75, bias=1.25)
    return c.done(F.local_response_norm(c.x(r.between(1, 2), r.between(1, 6), *r.shape(r.between(1, 3), 1, 3)), size, 0.5, 0.75, 1.25))


def op_mean_variance_norm(r):
    c = Case(r, "MeanVarianceNormalization", r.pick(9, 13))
    x = c.x(r.between(2, 3), r.between(1, 3), *r.shape(2, 2, 3), distinct=True)
    axes = r.pick([0, 2, 3], [0, 1, 2, 3], [2, 3], [-1])
    c.attrs = dict(axes=axes)
    m = x.mean(axes, keepdim=True)
    sd = ((x * x).mean(axes, keepdim=True) - m * m).sqrt()
    return c.done((x - m) / (sd + 1e-9))


def op_rms_norm(r):
    c, rank = Case(r, "RMSNormalization", 23), r.between(1, 4)
    shape, axis = r.shape(rank, 1, 4), r.axis(rank)
    c.attrs = dict(axis=axis, epsilon=0.125)
    x, s = c.x(*shape), c.x(*shape[axis % rank:])
    axes = list(range(axis % rank, rank))
    return c.done(x / (x.pow(2).mean(axes, keepdim=True) + 0.125).sqrt() * s)


# Softmax, losses.

def op_softmax(r):
    name, opset = r.pick("Softmax", "LogSoftmax"), r.pick(1, 11, 13)
    c, rank = Case(r, name, opset), r.between(1, 4)
    x, axis = c.x(*r.shape(rank, 1, 4)), r.axis(rank) if opset > 1 else r.between(0, rank - 1)
    c.attrs["axis"] = axis
    f = F.softmax if name == "Softmax" else F.log_softmax
    if opset == 13:
        return c.done(f(x, axis))
    flat = x.reshape(int(np.prod(x.shape[:axis % rank])), -1)
    return c.done(f(flat, -1).reshape(x.shape))


def classes(c, r, probabilities):
    n, k, rest = r.between(1, 4), r.between(1, 4), r.shape(r.between(0, 2), 1, 3)
    x = c.x(n, k, *rest)
    t = torch.tensor(r.randint(0, k, [n] + rest))
    ignore, reduction = None, r.pick("none", "sum", "mean")
    if r.flag():
        ignore = r.pick(r.between(0, k - 1), -1, k + 3)
        t = torch.where(torch.tensor(r.randint(0, 3, t.shape)) == 0, torch.tensor(ignore), t)
        c.attrs["ignore_index"] = ignore
        if bool((t == ignore).all()):
            t.view(-1)[0] = (ignore + 1) % k if 0 <= ignore < k and k > 1 else 0
            if bool((t == ignore).all()):
                reduction = "sum"
    c.add(t)
    w = c.x(k, positive=True, grad=False) if r.flag() else None
    c.attrs["reduction"] = reduction
    return x, t, w, reduction, -100 if ignore is None else ignore


def op_nll_loss(r):
    c = Case(r, "NegativeLogLikelihoodLoss", r.pick(12, 13, 22))
    x, t, w, reduction, ignore = classes(c, r, False)
    return c.done(F.nll_loss(x, t, w, reduction=reduction, ignore_index=ignore))


def op_cross_entropy(r):
    c = Case(r, "SoftmaxCrossEntropyLoss", r.pick(12, 13))
    x, t, w, reduction, ignore = classes(c, r, True)
    y = F.cross_entropy(x, t, w, reduction=reduction, ignore_index=ignore)
    if r.flag():
        return c.done(y, F.log_softmax(x, 1))
    return c.done(y)


# Sampling.

def op_grid_sample(r):
    c, n = Case(r, "GridSample", r.pick(16, 20, 22)), r.between(1, 2)
    spatial = 2 if c.opset < 20 or r.flag() else 3
    mode = r.pick("bilinear", "nearest", "bicubic") if spatial == 2 else r.pick("bilinear", "nearest")
    x = c.x(n, r.between(1, 2), *r.shape(spatial, 1, 5))
    shape = [n] + r.shape(spatial, 1, 4) + [spatial]
    g = c.x(*shape, data=r.uniform(-1.8, 1.8, int(np.prod(shape))))
    padding, align = r.pick("zeros", "border", "reflection"), r.flag()
    names = dict(bilinear="linear", bicubic="cubic", nearest="nearest")
    c.attrs = dict(mode=names[mode] if c.opset >= 20 else mode, padding_mode=padding, align_corners=int(align))
    return c.done(F.grid_sample(x, g, mode, padding, align))


def op_affine_grid(r):
    c, n = Case(r, "AffineGrid", 20), r.between(2, 3)
    b, align = r.between(1, 3), r.flag()
    theta = c.x(b, n, n + 1)
    size = [b, r.between(1, 2)] + r.shape(n, 1, 4)
    c.ints(size)
    c.attrs = dict(align_corners=int(align))
    return c.done(F.affine_grid(theta, size, align))


def op_resize(r):
    c = Case(r, "Resize", r.pick(11, 13, 18, 19))
    mode = r.pick("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear")
    n = dict(linear=1, bilinear=2, bicubic=2, trilinear=3).get(mode, r.between(1, 3))
    x = c.x(r.between(1, 2), r.between(1, 2), *r.shape(n, 1, 9))
    align = mode[0] != "n" and r.rarely(3)
    antialias = c.opset >= 18 and mode in ("bilinear", "bicubic") and not align and r.flag()  # PyTorch aligns its filter, too
    c.attrs["mode"] = "nearest" if mode[0] == "n" else "cubic" if mode == "bicubic" else "linear"
    if mode == "nearest":
        c.attrs.update(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    elif mode == "nearest-exact":
        c.attrs.update(coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_ceil")
    else:
        c.attrs["coordinate_transformation_mode"] = "align_corners" if align else r.pick("half_pixel")
    if antialias:
        c.attrs.update(antialias=1, exclude_outside=1)
        if mode == "bicubic":
            c.attrs["cubic_coeff_a"] = -0.5
    kw = dict(mode=mode, antialias=antialias)
    if mode[0] != "n":
        kw["align_corners"] = align
    c.floats([]) if c.opset < 13 else c.skip()
    axes = c.opset >= 18 and r.flag()
    if axes:
        c.attrs["axes"] = list(range(2, 2 + n))
    if align or r.flag():
        size = r.shape(n, 1, 13)
        c.floats([]) if c.opset < 13 else c.skip()
        c.ints(size if axes else list(x.shape[:2]) + size)
        return c.done(F.interpolate(x, size=size, **kw))
    # Where a position is a whole number, that of nearest depends on how the scale is rounded. PyTorch takes any scale that keeps a length for 1.
    scales = (0.5, 0.75, 1, 1.25, 1.5, 2, 2.5, 3.25) if mode[0] == "n" else (0.5, 0.37, 0.6, 0.9, 1, 1.1, 1.5, 1.37, 2, 2.3, 3.3, 1 / 3, 4 / 3)
    scale = [float(np.float32(r.pick(*scales))) for _ in range(n)]
    scale = [2.0 if int(d * s) in (0, d) and s != 1 else s for s, d in zip(scale, x.shape[2:])]
    c.floats(scale if axes else [1, 1] + scale)
    return c.done(F.interpolate(x, scale_factor=scale, **kw))


def op_resize_reference(r):
    """ONNX's reference computes positions in float64, of scales and regions in float32; at whole numbers and halves that decides what is nearest."""
    c, n = Case(r, "Resize", r.pick(11, 13, 18, 19)), r.between(1, 2)
    x = c.x(*r.shape(n, 1, 8), grad=False)
    mode, where = r.pick("nearest", "linear", "cubic"), r.pick("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
    c.attrs.update(mode=mode, coordinate_transformation_mode=where)
    kw, coeffs = {}, reference.linear_coeffs
    if mode == "nearest":
        near = c.attrs["nearest_mode"] = r.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        coeffs = lambda ratio: reference.nearest_coeffs(ratio, near)
    if mode == "cubic":
        a = c.attrs["cubic_coeff_a"] = r.pick(-0.75, -0.5)
        coeffs = lambda ratio: reference.cubic_coeffs(ratio, a)
        if where != "tf_crop_and_resize" and r.flag():
            c.attrs["exclude_outside"], kw["exclude_outside"] = 1, True
    roi = None
    if where == "tf_crop_and_resize":
        roi = np.float32([r.between(-2, 4) / 10 for _ in range(n)] + [r.between(5, 12) / 10 for _ in range(n)])
        c.floats(roi)
        c.attrs["extrapolation_value"] = kw["extrapolation_value"] = 0.75
    else:
        c.floats([]) if c.opset < 13 else c.skip()
    if r.flag():
        size = r.shape(n, 2, 12)
        c.floats([]) if c.opset < 13 else c.skip()
        c.ints(size)
        kw["output_size"] = size
    else:
        scale = np.float32([r.pick(0.5, 0.37, 0.6, 0.9, 1.1, 1.5, 1.37, 2, 2.3, 3.3, 1 / 3, 2 / 3, 4 / 3, 5 / 3, 0.1, 0.7) for _ in range(n)])
        for k, d in enumerate(x.shape):
            scale[k] = scale[k] if int(d * scale[k]) > 1 else 2.5
        c.floats(scale)
        kw["scale_factors"] = scale
    y = reference.interpolate_nd(x.numpy(), coeffs, roi=None if roi is None else roi.astype(np.float64), coordinate_transformation_mode=where, **kw)
    return c.done(torch.tensor(y))


# Indices.

def op_gather(r):
    c, rank = Case(r, "Gather", r.pick(11, 13)), r.between(1, 4)
    x, axis = c.x(*r.shape(rank, 1, 4)), r.axis(rank)
    n = x.shape[axis]
    i = torch.tensor(r.randint(-n, n, r.shape(r.between(0, 2), 0 if r.rarely(4) else 1, 3)), dtype=torch.int64)
    c.add(i)
    c.attrs["axis"] = axis
    axis %= rank
    y = x.index_select(axis, (i.reshape(-1) + n) % n)
    return c.done(y.reshape(list(x.shape[:axis]) + list(i.shape) + list(x.shape[axis + 1:])))


def op_gather_elements(r):
    c, rank = Case(r, "GatherElements", r.pick(11, 13)), r.between(1, 4)
    x, axis = c.x(*r.shape(rank, 1, 4)), r.axis(rank)
    shape = [r.between(1, d) for d in x.shape]
    shape[axis] = r.between(1, 5)
    n = x.shape[axis]
    i = c.add(torch.tensor(r.randint(-n, n, shape)))
    c.attrs["axis"] = axis
    return c.done(x.gather(axis, (i + n) % n))


def op_gather_nd(r):
    c, rank = Case(r, "GatherND", r.pick(12, 13)), r.between(1, 4)
    x = c.x(*r.shape(rank, 1, 4))
    batch = r.between(0, rank - 1)
    depth = r.between(1, rank - batch)
    lead = list(x.shape[:batch]) + r.shape(r.between(0, 2), 1, 3)
    parts = [torch.tensor(r.randint(-x.shape[batch + k], x.shape[batch + k], lead)) for k in range(depth)]
    c.add(torch.stack(parts, -1))
    c.attrs["batch_dims"] = batch
    first = [torch.arange(x.shape[k]).reshape([-1] + [1] * (len(lead) - 1 - k)).expand(lead) for k in range(batch)]
    return c.done(x[tuple(first + parts)])


def op_scatter_elements(r):
    c, rank = Case(r, "ScatterElements", r.pick(16, 18)), r.between(1, 3)
    x, axis = c.x(*r.shape(rank, 1, 4)), r.axis(rank)
    shape = [r.between(1, d) for d in x.shape]
    reduction = r.pick("none", "add", "mul") if c.opset == 16 else r.pick("none", "add", "mul", "max", "min")
    n = x.shape[axis]
    if reduction == "none":
        i = torch.tensor(np.argsort(r.uniform(size=list(x.shape[:axis % rank]) + [n] + list(x.shape[axis % rank + 1:])), axis))
        i = i[tuple(slice(0, d) for d in shape)]
    else:
        shape[axis] = r.between(1, 5)
        i = torch.tensor(r.randint(0, n, shape))
    i = c.add(i.contiguous() - n * torch.tensor(r.randint(0, 2, tuple(i.shape))))
    u = c.x(*i.shape)
    c.attrs = dict(axis=axis, reduction=reduction)
    i = (i + n) % n
    if reduction == "none":
        return c.done(x.scatter(axis, i, u))
    return c.done(x.scatter_reduce(axis, i, u, dict(add="sum", mul="prod", max="amax", min="amin")[reduction], include_self=True))


def op_scatter_nd(r):
    c, rank = Case(r, "ScatterND", r.pick(16, 18)), r.between(1, 3)
    x = c.x(*r.shape(rank, 1, 4))
    depth, lead = r.between(1, rank), r.shape(r.between(1, 2), 1, 4)
    add = r.flag()
    if not add:
        lead = [r.between(1, x.shape[0])]
        parts = [torch.tensor(r.permutation(x.shape[0])[:lead[0]])] + [torch.tensor(r.randint(0, x.shape[k], lead)) for k in range(1, depth)]
    else:
        parts = [torch.tensor(r.randint(-x.shape[k], x.shape[k], lead)) for k in range(depth)]
    c.add(torch.stack(parts, -1))
    u = c.x(*lead, *x.shape[depth:])
    c.attrs["reduction"] = "add" if add else "none"
    return c.done(x.index_put(tuple(parts), u, accumulate=add))


def op_cumsum(r):
    c, rank = Case(r, "CumSum", r.pick(11, 14)), r.between(1, 3)
    x, axis = c.x(*r.shape(rank, 1, 5)), r.axis(rank)
    c.ints(axis)
    exclusive, reverse = r.flag(), r.flag()
    c.attrs = dict(exclusive=int(exclusive), reverse=int(reverse))
    y = x.flip(axis) if reverse else x
    z = y.cumsum(axis) - (y if exclusive else 0)
    return c.done(z.flip(axis) if reverse else z)


def op_topk(r):
    c, rank = Case(r, "TopK", 11), r.between(1, 4)
    x, axis = c.x(*r.shape(rank, 1, 6), distinct=True), r.axis(rank)
    k, largest = r.between(1, x.shape[axis]), r.flag()
    c.ints([k])
    c.attrs = dict(axis=axis, largest=int(largest), sorted=1)
    return c.done(*x.topk(k, axis, largest, True))


def op_einsum(r):
    c = Case(r, "Einsum", 12)
    letters, sizes = "abcdefg"[:r.between(1, 5)], None
    sizes = {l: r.between(1, 4) for l in letters}
    terms = ["".join(r.permutation(list(letters))[:r.between(1, min(4, len(letters)))]) for _ in range(r.between(1, 3))]
    if r.rarely(4) and len(terms[0]) > 1:  # a diagonal
        terms[0] = terms[0][0] + terms[0]
    used = sorted(set("".join(terms)))
    out = "".join(r.permutation(used)[:r.between(0, len(used))])
    wide = r.rarely(4)
    shapes = [[sizes[l] for l in t] for t in terms]
    if wide:
        more = r.shape(r.between(1, 2), 1, 3)
        terms = ["..." + t for t in terms]
        shapes = [more + s for s in shapes]
        out = "..." + out
    eq = ",".join(terms) + ("->" + out if wide or r.between(0, 3) else "")
    c.attrs["equation"] = eq
    return c.done(torch.einsum(eq, *[c.x(*s) for s in shapes]))


# Spectra.

def op_dft(r):
    c = Case(r, "DFT", r.pick(17, 20))
    rank = r.between(1, 3)
    kind = r.pick("complex", "real", "inverse", "onesided")
    shape = [1] * (rank == 1) + r.shape(rank, 1, 7)
    axis = r.between(0 if rank == 1 else 0, len(shape) - 1)
    n = shape[axis] if r.flag() else r.between(1, 9)
    x = c.x(*shape, 2 if kind in ("complex", "inverse") else 1)
    if n != shape[axis]:
        c.ints(n)
    else:
        c.skip()
    if c.opset == 20:
        c.ints(axis if r.flag() else axis - len(shape) - 1)
        c.attrs = dict(inverse=int(kind == "inverse"), onesided=int(kind == "onesided"))
    else:
        c.attrs = dict(axis=axis, inverse=int(kind == "inverse"), onesided=int(kind == "onesided"))
    z = torch.complex(x[..., 0], x[..., 1] if x.shape[-1] == 2 else torch.zeros_like(x[..., 0]))
    if kind == "inverse":
        y = torch.fft.ifft(z, n, axis)
    elif kind == "onesided":
        y = torch.fft.rfft(x[..., 0], n, axis)
    else:
        y = torch.fft.fft(z, n, axis)
    return c.done(torch.view_as_real(y))


def op_stft(r):
    c, b = Case(r, "STFT", 17), r.between(1, 2)
    frame, step = r.between(2, 7), r.between(1, 4)
    length, onesided = frame + r.between(0, 9), r.flag()
    x = c.x(b, length, 1)
    c.ints(step)
    w = c.x(frame, positive=True) if r.flag() else c.skip()
    if w is None or r.flag():
        c.ints(frame)
    c.attrs["onesided"] = int(onesided)
    y = torch.stft(x[..., 0], frame, step, frame, w if w is not None else torch.ones(frame), center=False, onesided=onesided, return_complex=True)
    return c.done(torch.view_as_real(y).transpose(1, 2))


# Products and attention.

def op_matmul(r):
    c = Case(r, "MatMul", r.pick(9, 13))
    m, k, n = r.shape(3, 1, 5)
    lead = r.shape(r.between(0, 2), 1, 3)
    a, b = lead + [m, k], [d if r.flag() else 1 for d in lead][r.between(0, len(lead)):] + [k, n]
    if r.rarely(5):
        a = [k]
    elif r.rarely(5):
        b = [k]
    return c.done(torch.matmul(c.x(*a), c.x(*b)))


def op_gemm(r):
    c = Case(r, "Gemm", r.pick(9, 11, 13))
    m, k, n = r.shape(3, 1, 5)
    ta, tb, alpha, beta = r.flag(), r.flag(), r.pick(1.0, 0.5), r.pick(1.0, 0.25)
    a, b = c.x(*([k, m] if ta else [m, k])), c.x(*([n, k] if tb else [k, n]))
    z = c.x(*r.pick([n], [1, n], [m, 1], [m, n], [1], [])) if c.opset < 11 or r.flag() else 0
    c.attrs = dict(transA=int(ta), transB=int(tb), alpha=alpha, beta=beta)
    return c.done(alpha * ((a.T if ta else a) @ (b.T if tb else b)) + beta * z)


def op_det(r):
    c, n = Case(r, "Det", r.pick(11, 22)), r.between(1, 5)
    return c.done(torch.det(c.x(*r.shape(r.between(0, 2), 1, 3), n, n)))


def op_attention(r):
    c = Case(r, "Attention", 23)
    n, kv, each, l, s, d, e = r.between(1, 2), r.between(1, 2), r.between(1, 2), r.between(1, 4), r.between(1, 5), r.between(1, 4), r.between(1, 4)
    h, flat = kv * each, r.flag()
    if flat:
        q, k, v = c.x(n, l, h * d), c.x(n, s, kv * d), c.x(n, s, kv * e)
        c.attrs.update(q_num_heads=h, kv_num_heads=kv)
        split = lambda x, heads: x.reshape(n, x.shape[1], heads, -1).transpose(1, 2)
        q4, k4, v4 = split(q, h), split(k, kv), split(v, kv)
    else:
        q4, k4, v4 = c.x(n, h, l, d), c.x(n, kv, s, d), c.x(n, kv, s, e)
    mask = None
    if r.flag():
        mask = c.x(*r.pick([l, s], [n, 1, l, s], [n, h, l, s], [1, 1, l, s]))
    elif r.flag():
        mask = torch.tensor(r.randint(0, 3, (l, s)) > 0)
        mask[:, 0] = True
        c.add(mask)
    scale = 1 / math.sqrt(d)
    if r.flag():
        scale = c.attrs["scale"] = 0.375
    k4, v4 = k4.repeat_interleave(each, 1), v4.repeat_interleave(each, 1)
    a = q4 @ k4.transpose(-1, -2) * scale
    cap = 0.0
    if r.rarely(3):
        c.attrs["softcap"] = cap = 2.0
    if r.rarely(3):
        c.attrs["is_causal"] = 1
        a_causal = torch.ones(l, s, dtype=torch.bool).tril()
    else:
        a_causal = None
    bias = 0
    if mask is not None:
        bias = mask if mask.dtype != torch.bool else torch.zeros(l, s).masked_fill(~mask, -math.inf)
    if a_causal is not None:
        bias = bias + torch.zeros(l, s).masked_fill(~a_causal, -math.inf)
    a = cap * torch.tanh(a / cap) + bias if cap else a + bias
    y = torch.softmax(a, -1) @ v4
    return c.done(y.transpose(1, 2).reshape(n, l, -1) if flat else y)


def op_linear_attention(r):
    c, rule = Case(r, "LinearAttention", 27), r.pick("linear", "gated", "delta", "gated_delta")
    n, hk, each, d, e = r.between(1, 3), r.between(1, 3), r.between(1, 3), r.between(1, 4), r.between(1, 4)
    t, h = 0 if r.rarely(12) else r.between(1, 5), hk * each
    q, k, v = c.x(n, t, h * d), c.x(n, t, hk * d), c.x(n, t, hk * e)
    past = c.x(n, hk, d, e) if r.flag() else c.skip()
    decay = c.x(n, t, hk * r.pick(1, d)) if "gated" in rule else c.skip()
    beta = c.x(n, t, r.pick(1, hk)) if "delta" in rule else c.skip()
    c.attrs = dict(q_num_heads=h, kv_num_heads=hk)
    if rule != "gated_delta" or r.flag():
        c.attrs["update_rule"] = rule
    if r.rarely(3):
        c.attrs["chunk_size"] = r.between(1, 3)
    scale = 1 / math.sqrt(d)
    if r.flag():
        c.attrs["scale"] = r.pick(0.0, 0.375, -0.5)
        scale = c.attrs["scale"] or scale
    state = [[past[b, i] if past is not None else torch.zeros(d, e) for i in range(hk)] for b in range(n)]
    y = [[] for _ in range(n)]
    for b in range(n):
        for s in range(t):
            for i in range(hk):
                key, value, m = k[b, s, i * d:(i + 1) * d], v[b, s, i * e:(i + 1) * e], state[b][i]
                if decay is not None:
                    g = decay[b, s].reshape(hk, -1)[i]
                    m = torch.exp(g)[:, None] * m
                if beta is not None:
                    value = beta[b, s, i % beta.shape[2]] * (value - m.T @ key)
                m = state[b][i] = m + torch.outer(key, value)
                for j in range(i * each, (i + 1) * each):
                    y[b].append(scale * (q[b, s, j * d:(j + 1) * d] @ m))
    y = torch.stack([torch.cat(row) for row in y]).reshape(n, t, h * e) if t else torch.zeros(n, 0, h * e)
    return c.done(y, torch.stack([torch.stack(row) for row in state])) if r.flag() else c.done(y)


def op_causal_conv(r):
    c, activation = Case(r, "CausalConvWithState", 27), r.pick(None, "none", "silu", "swish")
    n, ch, k, length = r.between(1, 3), r.between(1, 4), r.between(1, 5), 0 if r.rarely(12) else r.between(1, 6)
    x, w = c.x(n, ch, length), c.x(ch, 1, k)
    bias = c.x(ch) if r.flag() else c.skip()
    past = c.x(n, ch, k - 1) if r.flag() else None
    if activation:
        c.attrs["activation"] = activation
    full = torch.cat([past if past is not None else torch.zeros(n, ch, k - 1), x], 2)
    y = torch.zeros(n, ch, length)
    for i in range(k):
        y = y + w[:, 0, i, None] * full[:, :, i:i + length]
    if bias is not None:
        y = y + bias[:, None]
    if activation in ("silu", "swish"):
        y = y * torch.sigmoid(y)
    return c.done(y, full[:, :, full.shape[2] - (k - 1):]) if r.flag() else c.done(y)


def op_flex_attention(r):
    c = Case(r, "FlexAttention", 1, "ai.onnx.preview")
    n, kv, each, l, s, d, e = r.between(1, 2), r.between(1, 2), r.between(1, 3), r.between(1, 4), r.between(1, 5), r.between(1, 4), r.between(1, 4)
    h = kv * each
    q, k, v = c.x(n, h, l, d), c.x(n, kv, s, d), c.x(n, kv, s, e)
    shared = []

    def body(x):
        """A random subgraph, and what it makes of x."""
        nodes, inits, name = [], [], "in"

        def then(op, *more, **attrs):
            nonlocal name
            nodes.append(helper.make_node(op, [name, *more], ["t%d" % len(nodes)], **attrs))
            name = nodes[-1].output[0]

        for _ in range(r.between(1, 3)):
            kind = r.between(0, 4)
            if kind == 0:
                then("Tanh")
                x = torch.tanh(x)
            elif kind == 1:
                a = r.uniform(0.5, 2, (1,))
                inits.append(numpy_helper.from_array(a, "c%d" % len(inits)))
                then("Mul", inits[-1].name)
                x = x * torch.tensor(a)
            elif kind == 2 and shared and r.flag():
                b, label = shared[r.randint(len(shared))]
                then("Add", label)
                x = x + b
            elif kind == 2:
                b = c.x(*r.pick([l, s], [h, 1, 1], [1], [n, h, l, s], []))
                shared.append((b, c.captured()))
                then("Add", shared[-1][1])
                x = x + b
            elif kind == 3:
                m = c.add(torch.tensor(r.randint(0, 3, (l, s)) > 0))
                label = c.captured()
                inits.append(numpy_helper.from_array(np.array(-2.5), "c%d" % len(inits)))
                nodes.append(helper.make_node("Where", [label, name, inits[-1].name], ["t%d" % len(nodes)]))
                name = nodes[-1].output[0]
                x = torch.where(m, x, torch.tensor(-2.5))
            else:
                then("Sigmoid")
                x = torch.sigmoid(x)
        info = lambda v: helper.make_tensor_value_info(v, 11, ["B", "H", "L", "S"])
        return helper.make_graph(nodes, "body", [info("in")], [info(name)], inits), x

    scale = 1 / math.sqrt(d)
    if r.flag():
        scale = c.attrs["scale"] = r.pick(0.375, -0.5, 0.0)
    if r.rarely(3):
        c.attrs["softmax_precision"] = 11
    a = q @ k.repeat_interleave(each, 1).transpose(-1, -2) * scale
    if r.flag():
        c.attrs["score_mod"], a = body(a)
    p = torch.softmax(a, -1)
    if r.flag():
        c.attrs["prob_mod"], p = body(p)
    return c.done(p @ v.repeat_interleave(each, 1))


# Training.

def op_update_rule(r):
    """Steps of torch.optim, or the formula where it differs: with eps inside of Adam's root, and in step 0."""
    name = r.pick("Adagrad", "Adam", "Momentum")
    c, n, t = Case(r, name, 1, "ai.onnx.preview.training"), r.between(1, 3), r.pick(0, 1, 2, 7, 1000)
    single = lambda v: float(np.float32(v))
    lr, states = float(r.pick(0.5, 0.0625, 0.0)), 2 if name == "Adam" else 1
    c.add(torch.tensor(lr, dtype=r.pick(torch.float32, torch.float64)).reshape(r.pick([], [1])))
    c.add(torch.tensor(t).reshape(r.pick([], [1])))
    shapes = [([0, 2] if r.rarely(10) else r.shape(r.between(0, 3), 1, 4)) for _ in range(n)]
    x = [c.x(*s, grad=False) for s in shapes]
    g = [c.x(*s, grad=False) for s in shapes]
    v = [c.x(*s, grad=False, positive=name == "Adagrad") for s in shapes]
    w = [c.x(*s, grad=False, positive=True) for s in shapes] if name == "Adam" else []
    # A float, or the default where there is one.
    def attr(key, default, *values):
        if default is not None and r.rarely(3):
            return single(default)
        c.attrs[key] = float(r.pick(*values))
        return single(c.attrs[key])
    norm = attr("norm_coefficient", None if name == "Momentum" else 0, 0, 0.1, 0.7)
    if name == "Adagrad":
        decay, eps = attr("decay_factor", 0, 0, 0.1), attr("epsilon", 1e-6, 1e-3, 0.3)
    elif name == "Adam":
        a, b, eps, post = attr("alpha", 0.9, 0.0, 0.5, 0.95), attr("beta", 0.999, 0.0, 0.6, 0.99), attr("epsilon", 1e-6, 1e-3, 0.3), attr("norm_coefficient_post", 0, 0, 0.2)
    else:
        a, b, nesterov = attr("alpha", None, 0.1, 0.9, 1.5), attr("beta", None, 0.0, 0.3, 1.0), r.flag()
        c.attrs["mode"] = "nesterov" if nesterov else "standard"
    ys = []
    for i in range(n):
        p = x[i].clone().requires_grad_()
        p.grad = g[i].clone()
        s, u = v[i].clone(), w[i].clone() if w else None
        if name == "Adagrad":
            o = torch.optim.Adagrad([p], lr, decay, norm, 0, eps)
            o.state[p]["step"], o.state[p]["sum"] = torch.tensor(float(t)), s
            o.step()
            ys.append((p.detach(), s))
        elif name == "Adam" and t > 0:
            o = torch.optim.Adam([p], lr, (a, b), eps / math.sqrt(1 - b ** t), norm)
            o.state[p].update(step=torch.tensor(float(t - 1)), exp_avg=s, exp_avg_sq=u)
            o.step()
            ys.append((p.detach() * (1 - post), s, u))
        elif name == "Adam":
            d = norm * x[i] + g[i]
            s, u = a * s + (1 - a) * d, b * u + (1 - b) * d * d
            ys.append(((1 - post) * (x[i] - lr * s / (u.sqrt() + eps)), s, u))
        elif t > 0 and (not nesterov or 1 - b == 0):
            o = torch.optim.SGD([p], lr, a, 1 - b, norm, nesterov)
            o.state[p]["momentum_buffer"] = s
            o.step()
            ys.append((p.detach(), s))
        else:
            d = norm * x[i] + g[i]
            s = a * s + (b if t > 0 else 1) * d
            ys.append((x[i] - lr * (d + a * s if nesterov else s), s))
    return c.done(*[y[k] for k in range(1 + states) for y in ys])


def op_gradient(r):
    """Gradient nodes behind a small network: by inputs and by values inside, at the values named and at others, of scalars and tensors."""
    c = Case(r, "Gradient", 1, "ai.onnx.preview.training")
    n, m, k = r.shape(3, 1, 4)
    a, b, d = c.x(n, m), c.x(m, k), c.x(n, k)
    make = lambda op, ins, out, **attrs: c.before.append(helper.make_node(op, ins, [out], **attrs))
    last = r.pick("Tanh", "Sigmoid", "Softplus", "Exp")
    total = r.flag()

    def upper(h, d):
        y = dict(Tanh=torch.tanh, Sigmoid=torch.sigmoid, Softplus=lambda x: F.softplus(x, threshold=1e9), Exp=torch.exp)[last](h * d) * d
        return y.sum() if total else y

    make("MatMul", ["x0", "x1"], "h")
    make("Mul", ["h", "x2"], "u")
    make(last, ["u"], "v")
    make("Mul", ["v", "x2"], "y")
    of = "y"
    if total:
        make("ReduceSum", ["y"], "z", keepdims=0)
        of = "z"
    inside = r.rarely(3)
    named = [("h", a @ b), ("x2", d)] if inside else [("x0", a), ("x1", b), ("x2", d)]
    named = [named[i] for i in r.permutation(len(named))]
    if r.flag():  # at other values
        at = [(name, c.x(*t.shape)) for name, t in named]
        c.names = c.names[3:]
    else:
        at, c.names = named, [name for name, _ in named]
    xs = r.between(1, len(named))
    v = dict(at)
    y = upper(v["h"] if inside else v["x0"] @ v["x1"], v["x2"])
    grads = torch.autograd.grad(y.sum(), [t for _, t in at[:xs]])
    c.attrs = dict(xs=[name for name, _ in named[:xs]], y=of)
    if xs < len(named) or r.flag():
        c.attrs["zs"] = [name for name, _ in named[xs:]]
    if not c.attrs.get("zs", [1]):
        del c.attrs["zs"]
    keep = [g if r.between(0, 3) or i == 0 else None for i, g in enumerate(grads)]
    while keep[-1] is None:
        keep.pop()
    return c.done(*keep, no_grad=range(len(keep)))  # those are refused: second derivatives


# Elements.

UNARY = dict(
    Abs=(torch.abs, 13), Acos=(lambda x: torch.acos(x / 4), 7), Acosh=(None, 9), Asin=(None, 7), Asinh=(torch.asinh, 9), Atan=(torch.atan, 7), Atanh=(None, 9), Cos=(torch.cos, 7), Cosh=(torch.cosh, 9),
    Erf=(torch.erf, 13), Exp=(torch.exp, 13), Log=(torch.log, 13), Neg=(torch.neg, 13), Reciprocal=(torch.reciprocal, 13), Relu=(torch.relu, 14), Sigmoid=(torch.sigmoid, 13), Sin=(torch.sin, 7), Sinh=(torch.sinh, 9),
    Softplus=(lambda x: F.softplus(x, threshold=1e9), 1), Softsign=(F.softsign, 1), Sqrt=(torch.sqrt, 13), Tan=(torch.tan, 7), Tanh=(torch.tanh, 13), HardSwish=(F.hardswish, 14), Mish=(F.mish, 18),
    Ceil=(torch.ceil, 13), Floor=(torch.floor, 13), Round=(torch.round, 11), Sign=(torch.sign, 13))


def op_unary(r):
    name = r.pick(*sorted(UNARY))
    f, opset = UNARY[name]
    c = Case(r, name, opset)
    shape = r.shape(r.between(0, 4), 1, 4)
    n = int(np.prod(shape))
    if name in ("Acos", "Asin", "Atanh"):
        return c.done(getattr(torch, name.lower())(c.x(*shape, data=r.uniform(-0.99, 0.99, n))))
    if name == "Acosh":
        return c.done(torch.acosh(c.x(*shape, data=r.uniform(1.01, 9, n))))
    if name in ("Softplus", "Sigmoid", "Tanh", "Mish", "Erf") and r.flag():
        return c.done(f(c.x(*shape, data=r.uniform(-40, 40, n))))
    return c.done(f(c.x(*shape, positive=name in ("Log", "Sqrt"))))


def op_activation(r):
    name = r.pick("Elu", "Selu", "Celu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Shrink", "Gelu", "Gelu tanh", "PRelu", "Clip", "Swish")
    shape = r.shape(r.between(1, 4), 1, 4)
    a = float(np.float32(r.uniform(0.2, 1.5)))
    c = Case(r, name.split()[0], dict(Celu=12, Clip=13, Gelu=20, PRelu=16, Swish=24, Shrink=9, ThresholdedRelu=10).get(name.split()[0], 6))
    x = c.x(*shape)
    if name == "Elu":
        c.attrs["alpha"] = a
        return c.done(torch.where(x > 0, x, a * torch.expm1(x)))
    if name == "Selu":
        alpha, gamma = np.float32(1.67326319217681884765625).item(), np.float32(1.05070102214813232421875).item()
        return c.done(gamma * torch.where(x > 0, x, alpha * torch.expm1(x)))
    if name == "Celu":
        c.attrs["alpha"] = a
        return c.done(F.celu(x, a))
    if name == "LeakyRelu":
        c.attrs["alpha"] = a
        return c.done(F.leaky_relu(x, a))
    if name == "HardSigmoid":
        c.attrs.update(alpha=a, beta=0.25)
        return c.done((a * x + 0.25).clamp(0, 1))
    if name == "ThresholdedRelu":
        c.attrs["alpha"] = a
        return c.done(F.threshold(x, a, 0))
    if name == "Shrink":
        c.attrs.update(lambd=a, bias=0.25)
        return c.done(torch.where(x < -a, x + 0.25, torch.where(x > a, x - 0.25, 0 * x)))
    if name == "Gelu":
        return c.done(F.gelu(x))
    if name == "Gelu tanh":
        c.attrs["approximate"] = "tanh"
        return c.done(0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))))
    if name == "PRelu":
        s = c.x(*r.pick(shape, [1], shape[-1:]))
        return c.done(torch.where(x > 0, x, x * s))
    if name == "Swish":
        c.attrs["alpha"] = a
        return c.done(x * torch.sigmoid(a * x))
    lo, hi = c.x(grad=False, data=-1.0), c.x(grad=False, data=1.5)
    return c.done(x.clamp(-1, 1.5))


def op_swiglu(r):
    c, shape = Case(r, "SwiGLU", 28), r.shape(r.between(0, 4), 0 if r.rarely(10) else 1, 4)
    alpha = 1.0
    if r.flag():
        alpha = c.attrs["alpha"] = r.pick(0.0, 1.75, -0.5, 1.0)
    a = c.x(*shape, data=r.uniform(-40, 40, int(np.prod(shape)))) if r.flag() else c.x(*shape)
    return c.done(a * torch.sigmoid(alpha * a) * c.x(*shape))


def op_cum_prod(r):
    c, rank = Case(r, "CumProd", 26), r.between(1, 4)
    shape, axis = r.shape(rank, 0 if r.rarely(10) else 1, 5), r.axis(rank)
    x = c.x(*shape, data=[0 if r.rarely(6) else v for v in r.uniform(-2, 2, int(np.prod(shape)))])
    c.ints(axis, r.pick(torch.int32, torch.int64))
    for key in ("exclusive", "reverse"):
        if r.flag():
            c.attrs[key] = r.between(0, 1)
    y = x.flip(axis) if c.attrs.get("reverse") else x
    if c.attrs.get("exclusive") and shape[axis]:
        y = torch.cat([torch.ones_like(y.narrow(axis, 0, 1)), y.narrow(axis, 0, shape[axis] - 1)], axis)
    y = y.cumprod(axis)
    return c.done(y.flip(axis) if c.attrs.get("reverse") else y)


def broadcasting(r, c, count, **kw):
    shape = r.shape(r.between(0, 4), 1, 4)
    return [c.x(*[d if not r.rarely(3) else 1 for d in shape][r.between(0, len(shape)) if k and r.rarely(3) else 0:], **kw) for k in range(count)]


def op_binary(r):
    name = r.pick("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Where", "Max", "Min", "Sum", "Mean")
    c = Case(r, name, dict(Where=16, Max=13, Min=13, Sum=13, Mean=13, Pow=15).get(name, 13))
    if name == "Where":
        shape = r.shape(r.between(1, 3), 1, 4)
        k = c.add(torch.tensor(r.randint(0, 2, shape[r.between(0, 1):])) > 0)
        a, b = [c.x(*[d if not r.rarely(3) else 1 for d in shape]) for _ in range(2)]
        return c.done(torch.where(k, a, b))
    if name in ("Max", "Min", "Sum", "Mean"):
        v = broadcasting(r, c, r.between(1, 4))
        y = v[0]
        for x in v[1:]:
            y = torch.maximum(y, x) if name == "Max" else torch.minimum(y, x) if name == "Min" else y + x
        return c.done(y / len(v) if name == "Mean" else y)
    a, b = broadcasting(r, c, 2, positive=name == "Pow")
    if name == "Mod":
        c.attrs["fmod"] = 1
        return c.done(torch.fmod(a, b))
    return c.done(dict(Add=torch.add, Sub=torch.sub, Mul=torch.mul, Div=torch.div, Pow=torch.pow)[name](a, b))


def op_reduce(r):
    name = r.pick("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp", "SumSquare", "LogSum")
    c, rank = Case(r, "Reduce" + name, 18), r.between(1, 4)
    x = c.x(*r.shape(rank, 1, 4), positive=name == "LogSum")
    axes = [i for i in range(rank) if r.flag()] or [r.between(0, rank - 1)]
    keep = r.flag()
    c.ints([a - rank if r.flag() else a for a in axes])
    c.attrs["keepdims"] = int(keep)
    if name == "Prod":
        y = x
        for a in sorted(axes, reverse=True):
            y = y.prod(a, keepdim=keep)
        return c.done(y)
    f = dict(Sum=torch.sum, Mean=torch.mean, Max=torch.amax, Min=torch.amin, LogSumExp=torch.logsumexp).get(name)
    if f is not None:
        return c.done(f(x, axes, keepdim=keep))
    y = dict(L1=lambda: x.abs(), L2=lambda: x * x, SumSquare=lambda: x * x, LogSum=lambda: x)[name]().sum(axes, keepdim=keep)
    return c.done(y.sqrt() if name == "L2" else y.log() if name == "LogSum" else y)


# Movement.

def op_pad(r):
    c = Case(r, "Pad", r.pick(13, 18, 19))
    mode, n = r.pick("constant", "reflect", "edge") if c.opset < 19 else r.pick("constant", "reflect", "edge", "wrap"), r.between(1, 2)
    x = c.x(r.between(1, 2), r.between(1, 2), *r.shape(n, 2, 5))
    low = -1 if mode == "constant" else 0
    begin, end = [r.between(low, d - 1) if mode != "wrap" else r.between(0, d) for d in x.shape[2:]], [r.between(low, d - 1) for d in x.shape[2:]]
    begin = [max(b, -x.shape[2 + i] - e + 1) for i, (b, e) in enumerate(zip(begin, end))]
    c.ints([0, 0] + begin + [0, 0] + end)
    c.attrs["mode"] = mode
    flat = []
    for i in reversed(range(n)):
        flat += [begin[i], end[i]]
    if mode == "constant":
        v = c.x(data=0.75) if r.flag() else torch.tensor(0.0)
        inside = F.pad(torch.ones_like(x), flat)
        return c.done(F.pad(x, flat) + (1 - inside) * v)
    return c.done(F.pad(x, flat, mode=dict(reflect="reflect", edge="replicate", wrap="circular")[mode]))


def op_blocks(r):
    b, n, ch, hw = r.between(2, 3), r.between(1, 2), r.between(1, 2), r.shape(2, 1, 3)
    if r.flag():
        c = Case(r, "DepthToSpace", r.pick(11, 13))
        x = c.x(n, ch * b * b, *hw)
        c.attrs = dict(blocksize=b, mode="CRD")
        return c.done(F.pixel_shuffle(x, b))
    c = Case(r, "SpaceToDepth", 13)
    x = c.x(n, ch, hw[0] * b, hw[1] * b)
    c.attrs = dict(blocksize=b)
    y = x.reshape(n, ch, hw[0], b, hw[1], b).permute(0, 3, 5, 1, 2, 4)
    return c.done(y.reshape(n, -1, *hw))


def op_slice(r):
    c, rank = Case(r, "Slice", r.pick(10, 13)), r.between(1, 4)
    x = c.x(*r.shape(rank, 1, 5))
    axes = [i for i in range(rank) if r.flag()] or [0]
    starts, ends, steps, y = [], [], [], x
    for a in axes:
        n, step = x.shape[a], r.pick(1, 1, 2, 3, -1, -2)
        s, e = r.between(-n, n + 1), r.between(-n - 1, n + 1)
        i = list(range(n))[slice(s, e, step)]
        if step < 0 and e < -n:
            i = list(range(n))[slice(s, None, step)]
        starts.append(s), ends.append(e), steps.append(step)
        y = y.index_select(a, torch.tensor(i, dtype=torch.int64))
    c.ints(starts), c.ints(ends), c.ints([a - rank if r.flag() else a for a in axes]), c.ints(steps)
    return c.done(y)


def op_shapes(r):
    name = r.pick("Expand", "Tile", "Transpose", "Trilu", "Concat", "Split")
    c, rank = Case(r, name, dict(Trilu=14).get(name, 13)), r.between(1, 4)
    shape = r.shape(rank, 1, 4)
    if name == "Expand":
        x = c.x(*[d if r.flag() else 1 for d in shape])
        c.ints(r.shape(1, 1, 3) + shape if r.flag() else shape)
        return c.done(x.expand(*c.feeds["x1"].tolist()))
    if name == "Tile":
        x = c.x(*shape)
        c.ints(r.shape(rank, 1, 3))
        return c.done(x.repeat(*c.feeds["x1"].tolist()))
    if name == "Transpose":
        c.attrs["perm"] = [int(i) for i in r.permutation(rank)]
        return c.done(c.x(*shape).permute(*c.attrs["perm"]))
    if name == "Trilu":
        x, k = c.x(*shape, r.between(1, 4)), r.between(-3, 3)
        c.ints(k)
        c.attrs["upper"] = r.between(0, 1)
        return c.done(x.triu(k) if c.attrs["upper"] else x.tril(k))
    axis = c.attrs["axis"] = r.axis(rank)
    if name == "Concat":
        v = []
        for _ in range(r.between(1, 3)):
            shape[axis] = r.between(1, 3)
            v.append(c.x(*shape))
        return c.done(torch.cat(v, axis))
    sizes = r.shape(r.between(1, 3), 1, 3)
    shape[axis] = sum(sizes)
    x = c.x(*shape)
    c.ints(sizes)
    return c.done(*x.split(sizes, axis))


def described(v):
    return "+".join(n.op_type for n in v.node) if isinstance(v, onnx.GraphProto) else str(v).replace(".", ",")


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    arrays = {}
    for name in sorted(n for n in globals() if n.startswith("op_") and (len(sys.argv) < 5 or n[3:] in sys.argv[4].split(","))):
        for i in range(count):
            r = Draw((zlib.crc32(name.encode()) + 7919 * seed + 104729 * i) % 2 ** 32)
            c = globals()[name](r)
            c.save(arrays, "%s %d:%d %s-%d%s" % (name[3:], seed, i, c.op, c.opset, "".join(" %s=%s" % (k, described(v)) for k, v in sorted(c.attrs.items()))))
    np.savez(folder + "/cases.npz", **arrays)


main()
