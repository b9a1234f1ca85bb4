"""Attention as modules of PyTorch and as programs spell it, with seeded weights.

    attentions.py FOLDER
"""
import math
import os
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
SIZE, HEADS = 16, 4


def save(name, model, args, inputs=("x",), axes=None, train=False, outputs=None):
    torch.manual_seed(5)
    for tensor in model.parameters():  # layers that were copied would be exported as one
        tensor.data += 0.05 * torch.randn_like(tensor)
    model.train(train)
    torch.onnx.export(model, args, os.path.join(sys.argv[1], name + ".onnx"), opset_version=14, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=list(inputs), output_names=outputs, dynamic_axes=axes)


class SelfAttention(nn.Module):
    def __init__(self, mask=None, **settings):
        super().__init__()
        self.up, self.attn, self.mask = nn.Linear(SIZE, SIZE), nn.MultiheadAttention(SIZE, HEADS, **settings), mask

    def forward(self, x, padding=None):
        x = self.up(x)
        return self.attn(x, x, x, need_weights=False, attn_mask=self.mask, key_padding_mask=padding)[0]


class CrossAttention(nn.Module):
    def __init__(self, **settings):
        super().__init__()
        self.attn = nn.MultiheadAttention(SIZE, HEADS, batch_first=True, **settings)

    def forward(self, query, key, value=None):
        return self.attn(query, key, key if value is None else value, need_weights=False)[0]


class Projections(nn.Module):
    """Projections for heads of queries and as many heads of keys and values as given."""

    def __init__(self, shared=HEADS):
        super().__init__()
        self.heads, self.shared = HEADS, shared
        self.query, self.output = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, SIZE, bias=False)
        self.key, self.value = (nn.Linear(SIZE, SIZE // HEADS * shared, bias=False) for _ in range(2))

    def project(self, x):
        b, t, _ = x.shape
        return self.query(x).view(b, t, self.heads, -1), self.key(x).view(b, t, self.shared, -1), self.value(x).view(b, t, self.shared, -1)


class Einsum(Projections):
    def forward(self, x):
        q, k, v = self.project(x)
        weights = (torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.output(torch.einsum("bhts,bshd->bthd", weights, v).reshape(x.shape))


class EinsumOfOneHead(Projections):
    def forward(self, x):
        q, k, v = self.project(x)
        weights = (torch.einsum("bthd,bsd->bhts", q, k[:, :, 0]) * q.shape[-1] ** -0.5).softmax(-1)
        return self.output(torch.einsum("bhts,bsd->bthd", weights, v[:, :, 0]).reshape(x.shape))


class Grouped(Projections):
    def forward(self, x):
        q, k, v = (y.transpose(1, 2) for y in self.project(x))
        if self.shared > 1:
            k, v = (y[:, :, None].expand(-1, -1, self.heads // self.shared, -1, -1).reshape(q.shape) for y in (k, v))
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.output((weights @ v).transpose(1, 2).reshape(x.shape))


class Relative(Projections):
    """Without a scale, and with a bias that is looked up by how far apart two positions are."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Embedding(9, HEADS)
        self.register_buffer("apart", torch.arange(5)[None] - torch.arange(5)[:, None] + 4)

    def forward(self, x):
        q, k, v = (y.transpose(1, 2) for y in self.project(x))
        weights = (q @ k.transpose(-2, -1) + self.bias(self.apart).permute(2, 0, 1)[None]).softmax(-1)
        return self.output((weights @ v).transpose(1, 2).reshape(x.shape))


class Causal(nn.Module):
    """A block of a language model."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.proj = nn.LayerNorm(SIZE), nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
        self.register_buffer("past", torch.tril(torch.ones(8, 8)).view(1, 1, 8, 8) == 1)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).split(c, dim=2))
        scores = (q @ k.transpose(-2, -1) * (1 / math.sqrt(c // HEADS))).masked_fill(~self.past[:, :, :t, :t], float("-inf"))
        return x + self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Weights(nn.Module):
    """The weights of the attention are an output, too: their mean over the heads, or those of each head."""

    def __init__(self, mean):
        super().__init__()
        self.attn, self.mean = nn.MultiheadAttention(SIZE, HEADS, batch_first=True), mean

    def forward(self, x):
        return self.attn(x, x, x, average_attn_weights=self.mean)


class Windows(nn.Module):
    """Swin's attention in windows of 4 × 4 positions of 8 × 8, every second one shifted by two."""

    def __init__(self, shift):
        super().__init__()
        self.shift, self.norm, self.qkv, self.proj = shift, nn.LayerNorm(SIZE), nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
        self.table = nn.Parameter(torch.zeros(49, HEADS))
        at = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = at[:, :, None] - at[:, None, :] + 3
        self.register_buffer("index", (apart[0] * 7 + apart[1]).flatten())

    def forward(self, x):
        y = self.norm(x)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        y = y.view(-1, 2, 4, 2, 4, SIZE).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, SIZE)
        q, k, v = self.qkv(y).reshape(-1, 16, 3, HEADS, SIZE // HEADS).permute(2, 0, 3, 1, 4)
        scores = q * (SIZE // HEADS) ** -0.5 @ k.transpose(-2, -1) + self.table[self.index].view(16, 16, -1).permute(2, 0, 1).unsqueeze(0)
        y = self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, 16, SIZE))
        y = y.view(-1, 2, 2, 4, 4, SIZE).permute(0, 1, 3, 2, 4, 5).reshape(-1, 8, 8, SIZE)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        return x + y


class RMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(SIZE))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Rotary(nn.Module):
    """A block of a language model with rotated queries and keys."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.proj = RMSNorm(), nn.Linear(SIZE, 3 * SIZE, bias=False), nn.Linear(SIZE, SIZE, bias=False)

    def forward(self, x, cos, sin, mask):
        def rotated(y):
            a, b = y.chunk(2, -1)
            return y * cos + torch.cat([-b, a], -1) * sin

        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        scores = rotated(q) @ rotated(k).transpose(-2, -1) / math.sqrt(c // HEADS) + mask
        return x + self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))


class Positions(Projections):
    """Queries and keys rotated by angles that grow with the position: by halves or neighbours, all channels or the first few."""

    def __init__(self, shared=HEADS, interleaved=False, rotated=SIZE // HEADS, base=10000.0):
        super().__init__(shared)
        self.interleaved, self.rotated = interleaved, rotated
        angles = torch.outer(torch.arange(70.0), 1 / base ** (torch.arange(0, rotated, 2).float() / rotated))
        angles = angles.repeat_interleave(2, -1) if interleaved else torch.cat([angles, angles], -1)
        self.register_buffer("rotary_cos", angles.cos())
        self.register_buffer("rotary_sin", angles.sin())

    def rotate(self, x):
        y, rest = x[..., :self.rotated], x[..., self.rotated:]
        a, b = (y[..., ::2], y[..., 1::2]) if self.interleaved else y.chunk(2, -1)
        turned = torch.stack([-b, a], -1).flatten(-2) if self.interleaved else torch.cat([-b, a], -1)
        return torch.cat([y * self.rotary_cos[:x.shape[2]] + turned * self.rotary_sin[:x.shape[2]], rest], -1)

    def forward(self, x):
        q, k, v = (y.transpose(1, 2) for y in self.project(x))
        q, k = self.rotate(q), self.rotate(k)
        k, v = (y[:, :, None].expand(-1, -1, self.heads // self.shared, -1, -1).reshape(q.shape) for y in (k, v))
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.output((weights @ v).transpose(1, 2).reshape(x.shape))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Rotary() for _ in range(3))
        self.register_buffer("cos", torch.rand(5, SIZE // HEADS))
        self.register_buffer("sin", torch.rand(5, SIZE // HEADS))
        self.register_buffer("mask", torch.full((5, 5), float("-inf")).triu(1))

    def forward(self, x):
        for block in self.blocks:
            x = block(x, self.cos, self.sin, self.mask)
        return x


torch.manual_seed(5)
x, y = torch.randn(2, 5, SIZE), torch.randn(2, 7, SIZE)
batch, both, second = {"x": {0: "N"}}, {"x": {0: "N", 1: "T"}}, {"x": {1: "N"}}
padding = torch.arange(5)[None] >= torch.tensor([[3], [5]])
hidden = torch.rand(5, 5) > 0.7
hidden[:, 0] = False
save("batchfirst", SelfAttention(batch_first=True), x, axes=both)
save("sequencefirst", SelfAttention(bias=False), x.transpose(0, 1), axes=second)
save("causal", SelfAttention(torch.triu(torch.ones(5, 5), 1) == 1, batch_first=True), x, axes=batch)
save("masked", SelfAttention(hidden, batch_first=True), x, axes=batch)
save("padded", SelfAttention(batch_first=True), (x, padding), ["x", "padding"], {**batch, "padding": {0: "N"}})
save("cross", CrossAttention(), (x, y), ["x", "key"], {**batch, "key": {0: "N"}})
save("othersizes", CrossAttention(kdim=6, vdim=10), (x, y[:, :, :6], y[:, :, :10]), ["x", "key", "value"], {**batch, "key": {0: "N"}, "value": {0: "N"}})
save("einsum", Einsum(), x, axes=batch)
save("onehead", EinsumOfOneHead(1), x, axes=batch)
save("multiquery", Grouped(1), x, axes=batch)
save("grouped", Grouped(2), x, axes=both)
save("relative", Relative(), x, axes=batch)
save("language", nn.Sequential(*(Causal() for _ in range(3))), x, axes=both)
for first in False, True:
    save("encoder" + "pre" * first, nn.TransformerEncoder(nn.TransformerEncoderLayer(SIZE, HEADS, 32, norm_first=first, batch_first=not first), 3, enable_nested_tensor=False),
         x, axes=batch)
    save("decoder" + "pre" * first, nn.TransformerDecoder(nn.TransformerDecoderLayer(SIZE, HEADS, 32, norm_first=first, batch_first=True), 3),
         (x, y), ["x", "memory"], {**batch, "memory": {0: "N"}})
save("weights", Weights(False), x, axes=batch, outputs=["y", "weights"])
save("averaged", Weights(True), x, axes=batch, outputs=["y", "weights"])
save("windows", nn.Sequential(*(Windows(i % 2 * 2) for i in range(4))), torch.randn(2, 8, 8, SIZE), axes=batch)
save("rotary", Language(), x, axes=batch)
save("training", nn.TransformerEncoder(nn.TransformerEncoderLayer(SIZE, HEADS, 32, batch_first=True), 3, enable_nested_tensor=False), x, axes=batch, train=True)
save("positions", nn.Sequential(Positions(), Positions()), x, axes=both)
save("neighbours", Positions(interleaved=True, base=500.0), x, axes=batch)
save("first", Positions(shared=1, rotated=2), x, axes=batch)
