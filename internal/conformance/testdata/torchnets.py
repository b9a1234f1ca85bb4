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
        m = WithLoss(net).train() if name == "encoder" else WithLoss(net).eval()
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
            torch.onnx.export(m.eval(), x, f"{folder}/{name}.onnx", opset_version=14, input_names=["x"], output_names=["y", "loss"],
                              dynamic_axes={"x": {0: "N"}, "y": {0: "N"}}, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)
        except Exception as e:
            print(name, "is not exported:", str(e).splitlines()[0], file=sys.stderr)


main(sys.argv[1])
