#!/usr/bin/env python3
"""More networks for the side-by-side benchmark: PEERS/torch_anchor.py with other cases in place of its nine.

Exports, times and prints as that script does (its --help says how); the environment variable PEERS is its folder.

    PEERS=... other/torch_anchor.py --export DIR
    PEERS=... go run ./bench -dir DIR -peers $PEERS -torch bench/other/torch_anchor.py -cases vit,gru
"""
import glob
import importlib.util
import json
import os
import sys

import torch
import torch.nn.functional as F
import torchvision.models as tv
from torch import nn

VOCABULARY = 1000


def anchor():
    """PEERS/torch_anchor.py as a module that takes this file for itself when it starts its children."""
    path = os.path.join(os.environ.get("PEERS", "."), "torch_anchor.py")
    spec = importlib.util.spec_from_file_location("anchor", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__file__ = os.path.abspath(__file__)
    return module


class Block(nn.Module):
    """One pre-norm transformer layer; causal ones hide what comes later."""

    def __init__(self, width, heads, length, causal=False):
        super().__init__()
        self.heads, self.length = heads, length
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.mask = torch.full((length, length), float("-inf")).triu(1) if causal else None

    def forward(self, x):
        width = x.shape[-1]
        split = self.qkv(self.before_attention(x)).reshape(-1, self.length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5
        if self.mask is not None:
            scores = scores + self.mask
        mixed = torch.softmax(scores, -1) @ v
        x = x + self.out(mixed.permute(0, 2, 1, 3).reshape(-1, self.length, width))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class Encoder(nn.Module):
    """Words, two layers, and the mean over all positions."""

    def __init__(self, causal):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, 256), nn.Parameter(torch.randn(128, 256) * 0.02)
        self.layers = nn.Sequential(Block(256, 4, 128, causal), Block(256, 4, 128, causal))
        self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 10)

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.words(ids) + self.places)).mean(1))


class ViT(nn.Module):
    """64² images in 64 patches."""

    def __init__(self):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, 192, 8, 8), nn.Parameter(torch.randn(64, 192) * 0.02)
        self.layers = nn.Sequential(*[Block(192, 3, 64) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.layers(x)).mean(1))


class MixerLayer(nn.Module):
    def __init__(self, width, places):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(places, 2 * places), nn.GELU(), nn.Linear(2 * places, places))
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 192, 8, 8)
        self.layers = nn.Sequential(*[MixerLayer(192, 64) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(192), nn.Linear(192, 10)

    def forward(self, x):
        return self.head(self.norm(self.layers(self.patches(x).flatten(2).transpose(1, 2))).mean(1))


class Recurrent(nn.Module):
    """A recurrent network over words; bidirectional ones have two layers."""

    def __init__(self, cell, bidirectional):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 64)
        self.cell = cell(64, 128, num_layers=1 + bidirectional, bidirectional=bidirectional, batch_first=True)
        self.head = nn.Linear(128 * (1 + bidirectional), 10)

    def forward(self, ids):
        return self.head(self.cell(self.words(ids))[0].mean(1))


class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 128)
        self.windows = nn.ModuleList(nn.Conv1d(128, 100, size) for size in (3, 4, 5))
        self.head = nn.Linear(300, 10)

    def forward(self, ids):
        x = self.words(ids).transpose(1, 2)
        return self.head(torch.cat([F.relu(w(x)).max(2)[0] for w in self.windows], 1))


class Temporal(nn.Module):
    """Dilated one-dimensional convolutions with residuals."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(16, 64, 1)
        self.layers = nn.ModuleList(nn.Conv1d(64, 64, 3, padding=2 ** i, dilation=2 ** i) for i in range(6))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = x + F.relu(layer(x))
        return self.head(x.mean(2))


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2),
            nn.Conv3d(16, 32, 3, padding=1), nn.BatchNorm3d(32), nn.ReLU(), nn.MaxPool3d(2),
            nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


def double(c, d):
    return nn.Sequential(nn.Conv2d(c, d, 3, padding=1), nn.BatchNorm2d(d), nn.ReLU(),
                         nn.Conv2d(d, d, 3, padding=1), nn.BatchNorm2d(d), nn.ReLU())


class UNet(nn.Module):
    """Three levels down and up with transposed convolutions, then the mean over the image."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([double(3, 16), double(16, 32), double(32, 64)])
        self.bottom = double(64, 128)
        self.ups = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in (64, 32, 16))
        self.joins = nn.ModuleList(double(2 * c, c) for c in (64, 32, 16))
        self.head = nn.Conv2d(16, 10, 1)

    def forward(self, x):
        kept = []
        for d in self.down:
            kept.append(d(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for up, join, k in zip(self.ups, self.joins, reversed(kept)):
            x = join(torch.cat([k, up(x)], 1))
        return self.head(x).mean((2, 3))


class Autoencoder(nn.Module):
    """Strided convolutions down, transposed ones up (4×4, stride 2), leaky ReLU, as in a DCGAN."""

    def __init__(self):
        super().__init__()
        c = [3, 32, 64, 128]
        self.down = nn.ModuleList(nn.Conv2d(a, b, 4, 2, 1) for a, b in zip(c, c[1:]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 4, 2, 1) for a, b in reversed(list(zip(c, c[1:]))))
        self.head = nn.Linear(3, 10)

    def forward(self, x):
        for d in self.down:
            x = F.leaky_relu(d(x), 0.2)
        for u in self.up[:-1]:
            x = F.leaky_relu(u(x), 0.2)
        return self.head(torch.tanh(self.up[-1](x)).mean((2, 3)))


class VGG(nn.Module):
    """VGG-11 with batch normalization as it is used for images of 32²."""

    def __init__(self):
        super().__init__()
        layers, c = [], 3
        for d in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
            layers += [nn.Conv2d(c, d, 3, padding=1), nn.BatchNorm2d(d), nn.ReLU()] if d else [nn.MaxPool2d(2)]
            c = d or c
        self.features, self.head = nn.Sequential(*layers), nn.Linear(512, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


class Tabular(nn.Module):
    """A deep narrow network on rows of numbers, activations and normalizations in turn."""

    def __init__(self):
        super().__init__()
        layers, c = [], 40
        for act in (nn.ReLU(), nn.SELU(), nn.SiLU(), nn.Tanh(), nn.ELU(), nn.Softplus()):
            layers += [nn.Linear(c, 128), nn.BatchNorm1d(128), act]
            c = 128
        self.layers = nn.Sequential(*layers, nn.Linear(128, 10))

    def forward(self, x):
        return self.layers(x)


CASES = {  # the network, the shape of its input; whole numbers are words
    "resnet50": (lambda: tv.resnet50(weights=None, num_classes=10), (4, 3, 96, 96)),
    "densenet121": (lambda: tv.densenet121(weights=None, num_classes=10), (4, 3, 64, 64)),
    "googlenet": (lambda: tv.googlenet(weights=None, num_classes=10, aux_logits=False, init_weights=False), (4, 3, 96, 96)),
    "efficientnet_b0": (lambda: tv.efficientnet_b0(weights=None, num_classes=10), (4, 3, 96, 96)),
    "mobilenet_v3": (lambda: tv.mobilenet_v3_large(weights=None, num_classes=10), (8, 3, 96, 96)),
    "shufflenet_v2": (lambda: tv.shufflenet_v2_x1_0(weights=None, num_classes=10), (8, 3, 96, 96)),
    "regnet_y_400mf": (lambda: tv.regnet_y_400mf(weights=None, num_classes=10), (4, 3, 96, 96)),
    "convnext_tiny": (lambda: tv.convnext_tiny(weights=None, num_classes=10), (2, 3, 64, 64)),
    "vgg11_32": (VGG, (16, 3, 32, 32)),
    "unet": (UNet, (4, 3, 64, 64)),
    "autoencoder": (Autoencoder, (16, 3, 64, 64)),
    "volume": (Volume, (4, 1, 24, 24, 24)),
    "encoder": (lambda: Encoder(False), (8, 128, "words")),
    "gpt": (lambda: Encoder(True), (8, 128, "words")),
    "vit": (ViT, (8, 3, 64, 64)),
    "mixer": (Mixer, (8, 3, 64, 64)),
    "gru": (lambda: Recurrent(nn.GRU, False), (32, 50, "words")),
    "rnn": (lambda: Recurrent(nn.RNN, False), (32, 50, "words")),
    "bilstm": (lambda: Recurrent(nn.LSTM, True), (16, 50, "words")),
    "textcnn": (TextCNN, (32, 60, "words")),
    "temporal": (Temporal, (16, 16, 128)),
    "tabular": (Tabular, (256, 40)),
}


def build(case):
    """The case's (model, input, target), always the same."""
    torch.manual_seed(20240)
    make, shape = CASES[case]
    model = make()
    for parent in list(model.modules()):  # results must be reproducible
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Dropout) or type(child).__name__ == "StochasticDepth":
                setattr(parent, name, nn.Identity())
    gen = torch.Generator().manual_seed(20241)
    with torch.no_grad():  # equal parameters would be exported as one
        for _, t in list(model.named_parameters()) + list(model.named_buffers()):
            if t.is_floating_point() and t.numel() > 1 and bool((t == t.flatten()[0]).all()):
                t.add_(0.1 * torch.rand(t.shape, generator=gen))
    if shape[-1] == "words":
        x = torch.randint(0, VOCABULARY, shape[:-1], generator=gen)
    else:
        x = torch.randn(shape, generator=gen)
    return model, x, torch.randint(0, 10, (shape[0],), generator=gen)


def correct_types(folder):
    """Says in the exported descriptions which inputs are words."""
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path) as f:
            meta = json.load(f)
        case = os.path.splitext(os.path.basename(path))[0]
        if case in CASES and CASES[case][1][-1] == "words":
            meta["input"]["dtype"] = "int64"
            with open(path, "w") as f:
                json.dump(meta, f, indent=1)


def main():
    module = anchor()
    module.CASES, module.build, module.BIG = tuple(CASES), build, tuple(CASES)
    module.LR = {case: 0.0003 for case in CASES}
    module.main()
    if "--export" in sys.argv:
        correct_types(sys.argv[sys.argv.index("--export") + 1])


if __name__ == "__main__":
    main()
