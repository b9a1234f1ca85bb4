"""Exports small networks with PyTorch, and what PyTorch computes beside them, to a folder.

Usage: python3 torchnets.py FOLDER
NAME.onnx has the outputs y and loss, a function of y. NAME.npz has the input x, y, and grad.PARAMETER for
every parameter, the gradients of loss. Weights keep PyTorch's names and layouts: nothing is folded.
"""
import sys, warnings
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
import torchvision.models as M

warnings.filterwarnings("ignore")


class Mixer(nn.Module):
    def __init__(self, size=16, patch=4, d=24, layers=2):
        super().__init__()
        n = (size // patch) ** 2
        self.stem = nn.Conv2d(3, d, patch, patch)
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            n1=nn.LayerNorm(d), a=nn.Linear(n, 2 * n), b=nn.Linear(2 * n, n),
            n2=nn.LayerNorm(d), c=nn.Linear(d, 2 * d), d=nn.Linear(2 * d, d))) for _ in range(layers)])
        self.head = nn.Linear(d, 5)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for b in self.blocks:
            x = x + b["b"](F.gelu(b["a"](b["n1"](x).transpose(1, 2)))).transpose(1, 2)
            x = x + b["d"](F.silu(b["c"](b["n2"](x))))
        return self.head(x.mean(1))


class Decoder(nn.Module):
    """Grouped-query attention with rotary positions, RMS norm, SwiGLU, and the embedding as the head."""
    def __init__(self, vocab=40, d=24, heads=4, groups=2, layers=2):
        super().__init__()
        self.tok, self.heads, self.groups, self.w = nn.Embedding(vocab, d), heads, groups, d // heads
        kv = groups * self.w
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            q=nn.Linear(d, d, bias=False), k=nn.Linear(d, kv, bias=False), v=nn.Linear(d, kv, bias=False), o=nn.Linear(d, d, bias=False),
            gate=nn.Linear(d, 2 * d, bias=False), up=nn.Linear(d, 2 * d, bias=False), down=nn.Linear(2 * d, d, bias=False))) for _ in range(layers)])
        self.norms = nn.ParameterList([nn.Parameter(torch.rand(d) + 0.5) for _ in range(2 * layers + 1)])
        self.register_buffer("freq", 10.0 ** -torch.arange(0, self.w, 2).div(self.w).float())

    def norm(self, x, i):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.norms[i]

    def turn(self, x, angle):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)

    def spread(self, x):  # repeat_interleave is exported wrong
        n, g, t, w = x.shape
        return x[:, :, None].expand(n, g, self.heads // g, t, w).reshape(n, self.heads, t, w)

    def forward(self, x):
        n, t = x.shape
        h, steps = self.tok(x), torch.arange(t)
        angle = torch.einsum("t,f->tf", steps.float(), self.freq)
        mask = torch.triu(torch.full((t, t), float("-inf")), 1)
        for i, b in enumerate(self.blocks):
            y = self.norm(h, 2 * i)
            q = self.turn(b["q"](y).view(n, t, self.heads, self.w).transpose(1, 2), angle)
            k = self.spread(self.turn(b["k"](y).view(n, t, self.groups, self.w).transpose(1, 2), angle))
            v = self.spread(b["v"](y).view(n, t, self.groups, self.w).transpose(1, 2))
            a = torch.softmax(torch.einsum("bhqd,bhkd->bhqk", q, k) / self.w ** 0.5 + mask, -1)
            h = h + b["o"](torch.einsum("bhqk,bhkd->bhqd", a, v).transpose(1, 2).reshape(n, t, -1))
            y = self.norm(h, 2 * i + 1)
            h = h + b["down"](F.silu(b["gate"](y)) * b["up"](y))
        return F.linear(self.norm(h, -1), self.tok.weight)


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1), nn.Conv2d(16, 12, 3, padding=1)
        self.slope = nn.PReLU(16)

    def forward(self, x):
        y = self.slope(self.a(x))
        y = y + torch.tanh(self.b(y))
        return F.pixel_shuffle(self.c(y), 2) + F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)


class Translator(nn.Module):
    """An LSTM reads, a GRU with attention writes."""
    def __init__(self, d=12):
        super().__init__()
        self.src, self.dst = nn.Embedding(20, d), nn.Linear(d, d)
        self.read, self.write = nn.LSTM(d, d, 2, batch_first=True, bidirectional=True), nn.GRU(d, 2 * d, batch_first=True)
        self.out = nn.Linear(4 * d, 20)

    def forward(self, x):
        memory, (h, c) = self.read(self.src(x))
        start = torch.cat([h[-2], h[-1]], -1).unsqueeze(0)
        y, _ = self.write(self.dst(torch.tanh(self.src(x))), start)
        a = torch.softmax(torch.bmm(y, memory.transpose(1, 2)), -1)
        return F.log_softmax(self.out(torch.cat([y, torch.bmm(a, memory)], -1)), -1)


class Temporal(nn.Module):
    """Dilated causal convolutions with normalized weights."""
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.utils.weight_norm(nn.Conv1d(4 if i == 0 else 10, 10, 3, dilation=2 ** i)) for i in range(3)])
        self.last = nn.Conv1d(10, 2, 1)

    def forward(self, x):
        for i, l in enumerate(self.layers):
            y = F.leaky_relu(l(F.pad(x, (2 ** (i + 1), 0))), 0.1)
            x = y if i == 0 else x + y
        return self.last(x)


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv3d(1, 6, 3, padding=1), nn.BatchNorm3d(6), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(6, 8, 3, padding=1, groups=2),
                                 nn.InstanceNorm3d(8, affine=True), nn.ELU(), nn.AvgPool3d(2), nn.Flatten(), nn.Linear(8 * 2 * 2 * 2, 4))

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        def block(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(2, b), nn.Hardswish())
        self.a, self.b, self.c, self.d = block(2, 8), block(8, 12), block(24, 12), block(16, 8)
        self.mid, self.up = block(12, 12), nn.ConvTranspose2d(12, 8, 3, 2, 1, 1)
        self.out = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.mid(F.avg_pool2d(b, 2))
        c = self.c(torch.cat([b, F.interpolate(c, size=b.shape[2:], mode="bilinear", align_corners=True)], 1))
        return self.out(self.d(torch.cat([a, self.up(c)], 1)))


class Pyramid(nn.Module):
    """Features at three scales, boxes and scores of all of them behind one another."""
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.SiLU()) for a, b in ((3, 8), (8, 12), (12, 16))])
        self.side = nn.ModuleList([nn.Conv2d(c, 8, 1) for c in (8, 12, 16)])
        self.box, self.cls = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 6, 3, padding=1)

    def forward(self, x):
        maps = []
        for d in self.down:
            x = d(x)
            maps.append(x)
        top, out = None, []
        for m, s in zip(reversed(maps), reversed(self.side)):
            y = s(m)
            top = y if top is None else y + F.interpolate(top, scale_factor=2.0, mode="nearest")
            boxes, scores = self.box(top), self.cls(top)
            n = boxes.shape[0]
            out.append(torch.cat([boxes.view(n, 2, 4, -1).permute(0, 3, 1, 2).reshape(n, -1, 4).exp(), scores.view(n, 2, 3, -1).permute(0, 3, 1, 2).reshape(n, -1, 3).sigmoid()], -1))
        return torch.cat(out, 1)


class Masked(nn.Module):
    """PyTorch's own attention: a padding mask, and an encoder and decoder with a causal one. No embedding here has a
    padding_idx: PyTorch gives its row no gradient, which ONNX cannot say."""
    def __init__(self, d=12):
        super().__init__()
        self.tok, self.look = nn.Embedding(9, d), nn.MultiheadAttention(d, 3, batch_first=True)
        self.net, self.out = nn.Transformer(d, 3, 1, 1, 20, batch_first=True), nn.Linear(d, 9)

    def forward(self, x):
        h = self.tok(x)
        h = h + self.look(h, h, h, key_padding_mask=x.eq(0), need_weights=False)[0]
        mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
        return self.out(self.net(h, h * 0.5 + 0.1, tgt_mask=mask))


class Experts(nn.Module):
    """The two best of four experts, the choice scattered into a row of weights."""
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(6, 4)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 5)) for _ in range(4)])

    def forward(self, x):
        w, i = self.gate(x).topk(2, -1)
        w = torch.zeros_like(self.gate(x)).scatter(1, i, w.softmax(-1))
        return (w.unsqueeze(-1) * torch.stack([e(x) for e in self.experts], 1)).sum(1)


class Capsules(nn.Module):
    """Three rounds of routing by agreement."""
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 6, 3), nn.Conv2d(6, 8, 3, 2, 1)
        self.w = nn.Parameter(torch.randn(18, 3, 4, 5) * 0.3)

    def squash(self, v):
        n = (v ** 2).sum(-1, keepdim=True)
        return n / (1 + n) * v / torch.sqrt(n + 1e-8)

    def forward(self, x):
        u = self.b(F.relu(self.a(x)))
        u = self.squash(u.view(x.shape[0], 2, 4, 9).permute(0, 1, 3, 2).reshape(x.shape[0], 18, 4))
        h = torch.einsum("bni,njio->bnjo", u, self.w)
        b = (h * 0).sum(-1)
        for i in range(3):
            v = self.squash((b.softmax(2).unsqueeze(-1) * h).sum(1))
            b = b + (h * v.unsqueeze(1)).sum(-1)
        return v.norm(dim=-1)


class GraphNet(nn.Module):
    """Messages along seven edges of five nodes, gathered and added up; then attention over neighbours."""
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.out = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1), nn.Linear(6, 3)
        src, dst = torch.tensor([0, 1, 2, 3, 4, 0, 2]), torch.tensor([1, 2, 3, 4, 0, 2, 0])
        self.register_buffer("src", src)
        self.register_buffer("into", F.one_hot(dst, 5).float().t())
        self.register_buffer("near", (self.into @ F.one_hot(src, 5).float() + torch.eye(5)).bool())

    def forward(self, x):
        h = self.a(x)
        h = F.relu(h + torch.einsum("nm,bmd->bnd", self.into, h[:, self.src]))
        e = F.leaky_relu(self.b(h) + self.c(h).transpose(1, 2), 0.2).masked_fill(~self.near, -1e9)
        return self.out(F.elu(e.softmax(-1) @ h))


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum, self.mean = nn.EmbeddingBag(10, 6, mode="sum"), nn.EmbeddingBag(10, 6, mode="mean")
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        return self.out(torch.tanh(torch.cat([self.sum(x), self.mean(x)], -1)))


class Cells(nn.Module):
    """Recurrent layers of every kind, both ways and step by step."""
    def __init__(self):
        super().__init__()
        self.gru, self.rnn = nn.GRU(4, 6, 2, batch_first=True, bidirectional=True), nn.RNN(12, 6, nonlinearity="relu", batch_first=True)
        self.cell, self.out = nn.LSTMCell(6, 5), nn.Linear(5, 3)

    def forward(self, x):
        y, _ = self.rnn(self.gru(x)[0])
        h = c = y[:, 0, :5] * 0
        for t in range(4):
            h, c = self.cell(y[:, t], (h, c))
        return self.out(h)


class Adversaries(nn.Module):
    """A generator, and what judges its pictures."""
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(5, 128)
        self.draw = nn.Sequential(nn.ConvTranspose2d(8, 6, 3, 2, 1, 1), nn.BatchNorm2d(6), nn.ReLU(), nn.ConvTranspose2d(6, 4, 4, 2, 1, groups=2), nn.Tanh())
        self.judge = nn.Sequential(nn.utils.spectral_norm(nn.Conv2d(4, 6, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Conv2d(6, 8, 4, 2, 1), nn.InstanceNorm2d(8), nn.SELU(), nn.Flatten(), nn.Linear(128, 1), nn.Sigmoid())

    def forward(self, x):
        return self.judge(self.draw(self.start(x).view(x.shape[0], 8, 4, 4)))


class Spatial(nn.Module):
    """A spatial transformer."""
    def __init__(self):
        super().__init__()
        self.conv, self.turn, self.out = nn.Conv2d(2, 4, 3, padding=1), nn.Linear(64, 6), nn.Conv2d(2, 3, 3)
        self.turn.weight.data *= 0.1
        self.turn.bias.data = torch.tensor([1, 0.1, 0.05, -0.1, 0.9, 0.02])

    def forward(self, x):
        t = self.turn(F.relu(F.max_pool2d(self.conv(x), 2)).flatten(1)).view(-1, 2, 3)
        v, u = torch.meshgrid(torch.linspace(-1, 1, 8), torch.linspace(-1, 1, 8), indexing="ij")
        grid = torch.stack([u, v, torch.ones_like(u)], -1).view(1, 64, 3) @ t.transpose(1, 2)
        return self.out(F.grid_sample(x, grid.view(-1, 8, 8, 2), padding_mode="border", align_corners=False))


class Latent(nn.Module):
    """Learned queries expanded to the batch, memory read by likeness, a norm across channels."""
    def __init__(self):
        super().__init__()
        self.lat, self.mem = nn.Parameter(torch.randn(1, 3, 8) * 0.3), nn.Parameter(torch.randn(5, 8) * 0.3)
        self.q, self.k, self.v, self.norm, self.out = nn.Linear(8, 8), nn.Linear(6, 8), nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 4)

    def forward(self, x):
        h = self.lat.expand(x.shape[0], -1, -1)
        h = h + (self.q(h) @ self.k(x).transpose(1, 2) / 8 ** 0.5).softmax(-1) @ self.v(x)
        like = F.cosine_similarity(h.unsqueeze(2), self.mem, dim=-1)
        h = h + (3 * like).softmax(-1) @ self.mem
        return self.out(F.normalize(self.norm(h), dim=-1).mean(1))


def encoder():
    return nn.Sequential(nn.Linear(6, 16), nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu", norm_first=True), 2), nn.Linear(16, 3))


def image(size=32, channels=3):
    return torch.rand(2, channels, size, size)


def networks():
    yield "mixer", Mixer(), image(16)
    yield "decoder", Decoder(), torch.randint(0, 40, (2, 7))
    yield "super", SuperResolution(), image(8)
    yield "translator", Translator(), torch.randint(0, 20, (2, 6))
    yield "temporal", Temporal(), torch.rand(2, 4, 20)
    yield "volume", Volume(), torch.rand(2, 1, 8, 8, 8)
    yield "unet", UNet(), image(16, 2)
    yield "pyramid", Pyramid(), image(32)
    yield "encoder", encoder(), torch.rand(2, 5, 6)
    yield "maxvit", M.MaxVit((32, 32), stem_channels=8, partition_size=4, block_channels=[8, 16], block_layers=[1, 1], head_dim=4, stochastic_depth_prob=0.0, num_classes=5), image(32)
    yield "swin_v2", M.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=5, block=M.swin_transformer.SwinTransformerBlockV2, downsample_layer=M.swin_transformer.PatchMergingV2), image(32)
    yield "efficientnet_v2", M.EfficientNet([M.efficientnet.FusedMBConvConfig(2, 3, 2, 8, 8, 1), M.efficientnet.MBConvConfig(4, 3, 2, 8, 16, 1)], 0.0, num_classes=5, last_channel=24), image(32)
    yield "mobilenet_v3", M.mobilenet_v3_small(width_mult=0.25, num_classes=5), image(32)
    yield "shufflenet", M.ShuffleNetV2([1, 1, 1], [8, 16, 24, 32, 48], num_classes=5), image(32)
    yield "densenet", M.DenseNet(6, (2, 2), 8, num_classes=5), image(32)
    yield "masked", Masked(), torch.tensor([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]])
    yield "experts", Experts(), torch.rand(4, 6)
    yield "capsules", Capsules(), image(8, 1)
    yield "graph", GraphNet(), torch.rand(2, 5, 4)
    yield "bag", Bag(), torch.randint(0, 10, (3, 4))
    yield "cells", Cells(), torch.rand(2, 4, 4)
    yield "adversaries", Adversaries(), torch.rand(2, 5)
    yield "spatial", Spatial(), image(8, 2)
    yield "latent", Latent(), torch.rand(2, 7, 6)
    yield "swin", M.SwinTransformer([4, 4], 12, [2], [3], [4, 4], stochastic_depth_prob=0.0, num_classes=5), image(32)
    yield "convnext", M.ConvNeXt([M.convnext.CNBlockConfig(8, 12, 1), M.convnext.CNBlockConfig(12, None, 1)], stochastic_depth_prob=0.0, num_classes=4), image(32)


class WithLoss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        y = self.net(x)
        return y, (torch.sin(3 * y) + 0.5 * y).mean()


def main(folder):
    torch.manual_seed(0)
    for name, net, x in networks():
        for p in net.parameters():  # the exporter makes one of parameters that are equal
            p.data += 0.02 * torch.randn_like(p)
        for b in net.modules():
            if isinstance(b, nn.modules.batchnorm._BatchNorm) and b.track_running_stats:
                b.weight.data.uniform_(0.5, 1.5), b.bias.data.uniform_(-0.2, 0.2)
                b.running_mean.uniform_(-0.2, 0.2), b.running_var.uniform_(0.5, 1.5)
        m = WithLoss(net).train() if name in ("encoder", "masked") else WithLoss(net).eval()
        for d in m.modules():
            if isinstance(d, nn.Dropout):
                d.p = 0.0
            if isinstance(d, nn.MultiheadAttention):
                d.dropout = 0.0
        y, loss = m(x)
        loss.backward()
        arrays = {"grad." + n: p.grad.numpy() for n, p in m.named_parameters() if p.grad is not None}
        np.savez(f"{folder}/{name}.npz", x=x.numpy(), y=y.detach().numpy(), loss=loss.detach().numpy(), **arrays)
        try:
            torch.onnx.export(m.eval(), x, f"{folder}/{name}.onnx", opset_version=16 if name == "spatial" else 14, input_names=["x"], output_names=["y", "loss"],
                              dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)
        except Exception as e:
            print(name, "is not exported:", str(e).splitlines()[0], file=sys.stderr)


main(sys.argv[1])
