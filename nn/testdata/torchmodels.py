"""Exports torchvision's architectures, with small widths where they allow it, to a folder.

Usage: python3 torchmodels.py FOLDER
Weights are seeded; normalization statistics are made random so that a wrong cut shows.
"""
import sys, warnings
import torch
from torch import nn
import torchvision.models as M

warnings.filterwarnings("ignore")


class GPT(nn.Module):
    def __init__(self, vocab=50, d=24, heads=3, layers=2, length=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.blocks = nn.ModuleList([nn.ModuleDict(dict(
            n1=nn.LayerNorm(d), q=nn.Linear(d, d), k=nn.Linear(d, d), v=nn.Linear(d, d), o=nn.Linear(d, d),
            n2=nn.LayerNorm(d), up=nn.Linear(d, 4 * d), down=nn.Linear(4 * d, d))) for _ in range(layers)])
        self.heads, self.norm, self.head = heads, nn.LayerNorm(d), nn.Linear(d, vocab)

    def forward(self, x):
        n, t = x.shape
        h = self.tok(x) + self.pos(torch.arange(t))
        mask = (torch.arange(t)[None, :] > torch.arange(t)[:, None]).float() * -1e9
        for b in self.blocks:
            y = b["n1"](h)
            q, k, v = (b[c](y).view(n, t, self.heads, -1).transpose(1, 2) for c in "qkv")
            a = (q @ k.transpose(2, 3) / (q.shape[-1] ** 0.5) + mask).softmax(-1)
            h = h + b["o"]((a @ v).transpose(1, 2).reshape(n, t, -1))
            h = h + b["down"](nn.functional.gelu(b["up"](b["n2"](h))))
        return self.head(self.norm(h))


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.rnn = cell(6, 10, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(20, 3)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])


def image(size=64):
    return torch.rand(2, 3, size, size)


def models():
    yield "resnet18", lambda: M.ResNet(M.resnet.BasicBlock, [2, 2, 2, 2], num_classes=10), image()
    yield "resnet50", lambda: M.ResNet(M.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, width_per_group=16), image()
    yield "resnext", lambda: M.ResNet(M.resnet.Bottleneck, [1, 1, 1, 1], num_classes=10, groups=8, width_per_group=4), image()
    yield "mobilenet_v2", lambda: M.mobilenet_v2(width_mult=0.25, num_classes=10), image()
    yield "mobilenet_v3", lambda: M.mobilenet_v3_small(width_mult=0.5, num_classes=10), image()
    yield "shufflenet_v2", lambda: M.shufflenet_v2_x0_5(num_classes=10), image()
    yield "densenet", lambda: M.DenseNet(8, (2, 2, 2, 2), 16, num_classes=10), image()
    yield "googlenet", lambda: M.GoogLeNet(num_classes=10, aux_logits=False, init_weights=False), image()
    yield "efficientnet_b0", lambda: M.efficientnet_b0(num_classes=10), image()
    yield "regnet", lambda: M.regnet_y_400mf(num_classes=10), image()
    yield "convnext", lambda: M.convnext.ConvNeXt([M.convnext.CNBlockConfig(16, 32, 1), M.convnext.CNBlockConfig(32, None, 1)], num_classes=10), image()
    yield "vgg_bn", lambda: nn.Sequential(M.vgg.make_layers([8, "M", 16, "M", 24, 24, "M"], True), nn.Flatten(), nn.Linear(24 * 8 * 8, 32), nn.ReLU(), nn.Linear(32, 10)), image()
    yield "vit", lambda: M.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), image(32)
    yield "swin", lambda: M.SwinTransformer([4, 4], 24, [2, 2], [3, 6], [4, 4], num_classes=10), image(32)
    yield "lstm", lambda: Recurrent(nn.LSTM), torch.rand(2, 7, 6)
    yield "gru", lambda: Recurrent(nn.GRU), torch.rand(2, 7, 6)
    yield "gpt", lambda: GPT(), torch.randint(0, 2, (2, 9))


def main(folder):
    for name, make, x in models():
        torch.manual_seed(0)
        m = make().eval()
        for b in m.modules():
            if isinstance(b, nn.BatchNorm2d):
                b.weight.data.uniform_(0.5, 1.5), b.bias.data.uniform_(-0.2, 0.2)
                b.running_mean.uniform_(-0.2, 0.2), b.running_var.uniform_(0.5, 1.5)
        try:
            torch.onnx.export(m, x, f"{folder}/{name}.onnx", opset_version=13, input_names=["x"], output_names=["y"],
                              dynamic_axes=None if name in ("lstm", "gru") else {"x": {0: "N"}, "y": {0: "N"}},
                              do_constant_folding=True)
        except Exception as e:
            print(name, "is not exported:", str(e).splitlines()[0], file=sys.stderr)


main(sys.argv[1])
