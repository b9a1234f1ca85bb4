"""Small networks with seeded weights, as torchvision's and PyTorch's modules are exported.

    small.py FOLDER
"""
import os
import sys
import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torchvision.models.convnext import CNBlock, LayerNorm2d
from torchvision.models.densenet import DenseNet
from torchvision.models.mobilenetv2 import InvertedResidual
from torchvision.models.resnet import BasicBlock, Bottleneck
from torchvision.models.squeezenet import Fire
from torchvision.models.swin_transformer import SwinTransformer
from torchvision.models.vision_transformer import VisionTransformer

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self, forward, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.run = forward

    def forward(self, *x):
        return self.run(self, *x)


def blocks(*list):
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), *list, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(5))


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 1, 2, bias=False), nn.BatchNorm2d(o))


def recurrent(cell, **settings):
    return Net(lambda s, x: s.head(s.rnn(x)[0]), rnn=cell(6, 5, **settings), head=nn.Linear(5 * (1 + settings.get("bidirectional", False)), 3))


def states(cell):
    return Net(lambda s, x: s.rnn(x)[1][0] if cell is nn.LSTM else s.rnn(x)[1], rnn=cell(6, 5))


def gate(s, x):
    y = s.conv(x)
    return y * torch.sigmoid(s.up(F.relu(s.down(F.adaptive_avg_pool2d(y, 1)))))


class ChannelNorm(nn.Module):
    """ConvNeXt's normalization over the channels, written by hand."""

    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        x = x - x.mean(1, keepdim=True)
        x = x / torch.sqrt(x.pow(2).mean(1, keepdim=True) + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


class Gated(nn.Module):
    """A block of WaveNet, which gives what the next block reads and what all of them add up."""

    def __init__(self, dilation):
        super().__init__()
        self.filter, self.gate = (nn.Conv1d(4, 4, 2, dilation=dilation, padding=dilation) for _ in range(2))
        self.next, self.skip = nn.Conv1d(4, 4, 1), nn.Conv1d(4, 5, 1)

    def forward(self, x):
        y = (torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x)))[..., : x.shape[-1]]
        return x + self.next(y), self.skip(y)


class Coupled(nn.Module):
    """A reversible block of two streams."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, y):
        y = y + torch.tanh(self.a(x))
        return x + torch.tanh(self.b(y)), y


def wave(s, x):
    x, total = s.start(x), None
    for block in s.blocks:
        x, y = block(x)
        total = y if total is None else total + y
    return s.end(F.relu(total))


def reversible(s, x):
    x, y = s.start(x).chunk(2, -1)
    for block in s.blocks:
        x, y = block(x, y)
    return s.end(torch.cat([x, y], -1))


def shared(s, x):
    for _ in range(3):
        x = x + F.relu(s.fc(s.norm(x)))
    return s.head(s.norm(x))


def tokens(s, x):
    x = torch.cat([s.first.expand(x.shape[0], -1, -1), s.second.repeat(x.shape[0], 1, 1), s.patches(x).flatten(2).transpose(1, 2)], 1)
    return s.head(F.relu(s.fc(x)).mean(1))


def translate(s, x):
    _, states = s.encoder(x)
    return s.decoder(x, states)[0]


image, sequence, rows = torch.randn(2, 3, 32, 32), torch.randn(4, 2, 6), torch.randn(2, 6)
nets = {
    "vit": (VisionTransformer(32, 16, 2, 2, 16, 32, num_classes=5), image),
    "swin": (SwinTransformer([4, 4], 8, [2], [2], [4, 4], stochastic_depth_prob=0, num_classes=5), image),
    "basic": (blocks(BasicBlock(8, 8), BasicBlock(8, 8), BasicBlock(8, 12, 2, down(8, 12)), BasicBlock(12, 12)), image),
    "bottleneck": (blocks(Bottleneck(8, 2), Bottleneck(8, 2), Bottleneck(8, 3, 2, down(8, 12)), Bottleneck(12, 3)), image),
    "mobile": (blocks(InvertedResidual(8, 8, 1, 1), InvertedResidual(8, 8, 1, 4), InvertedResidual(8, 12, 2, 4), InvertedResidual(12, 12, 1, 4)), image),
    "dense": (DenseNet(4, (2, 3), 8, num_classes=5), image),
    "squeeze": (blocks(Fire(8, 4, 6, 6), nn.MaxPool2d(3, 2, ceil_mode=True), Fire(12, 4, 6, 6)), image),
    "autoencoder": (nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.LeakyReLU(0.2), nn.ConvTranspose2d(4, 4, 4, 2, 1), nn.PReLU(4), nn.Conv2d(4, 3, (1, 3), padding=(0, 1), bias=False), nn.Tanh()), image),
    "normalized": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.SiLU(), nn.Conv2d(8, 8, 3, groups=8, dilation=2), nn.InstanceNorm2d(8, affine=True), nn.Hardswish(), nn.AvgPool2d(2, ceil_mode=True), nn.MaxPool2d(3, 2, 1), nn.Flatten(), nn.LazyLinear(4), nn.Softmax(1)), image),
    "gated": (Net(gate, conv=nn.Conv2d(3, 8, 3), down=nn.Conv2d(8, 2, 1), up=nn.Conv2d(2, 8, 1)), image),
    "upsampled": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Upsample(scale_factor=2, mode="bilinear"), nn.ELU(), nn.Upsample(scale_factor=2), nn.PixelShuffle(2)), image),
    "perceptron": (nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 8, bias=False), nn.Mish(), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 3), nn.LogSoftmax(1)), rows),
    "split": (Net(lambda s, x: torch.cat([s.a(x[:, :3]), F.softplus(x[:, 3:]) * s.scale], 1) / 2, a=nn.Linear(3, 4), scale=nn.Parameter(torch.rand(3))), rows),
    "two": (Net(lambda s, x: (s.a(x).clamp(-1, 1), s.a(x) - s.b(x)), a=nn.Linear(6, 4), b=nn.Linear(6, 4)), rows),
    "embedded": (Net(lambda s, x: s.head(s.table(x).mean(1)), table=nn.Embedding(9, 6), head=nn.Linear(6, 2)), torch.randint(9, (2, 7))),
    "lstm": (recurrent(nn.LSTM), sequence), "gru": (recurrent(nn.GRU), sequence), "rnn": (recurrent(nn.RNN), sequence),
    "relu": (recurrent(nn.RNN, nonlinearity="relu", bias=False), sequence),
    "deeplstm": (recurrent(nn.LSTM, num_layers=2, bidirectional=True), sequence), "firstgru": (recurrent(nn.GRU, batch_first=True, bidirectional=True), sequence),
    "lstmstate": (states(nn.LSTM), sequence), "grustate": (states(nn.GRU), sequence),
    "channels": (nn.Sequential(CNBlock(3, 1.0, 0.0), nn.Conv2d(3, 8, 4, 4), LayerNorm2d(8), nn.Conv2d(8, 4, 2, 2), ChannelNorm(4)), image),
    "wave": (Net(wave, start=nn.Conv1d(2, 4, 1), blocks=nn.ModuleList(Gated(2**i) for i in range(5)), end=nn.Conv1d(5, 3, 1)), torch.randn(2, 2, 16)),
    "reversible": (Net(reversible, start=nn.Linear(6, 8), blocks=nn.ModuleList(Coupled() for _ in range(4)), end=nn.Linear(8, 3)), rows),
    "translator": (Net(translate, encoder=nn.LSTM(6, 5), decoder=nn.LSTM(6, 5)), sequence), "translatorgru": (Net(translate, encoder=nn.GRU(6, 5), decoder=nn.GRU(6, 5)), sequence),
    "convolved": (nn.Sequential(nn.Conv1d(2, 4, 3, stride=2), nn.ReLU6(), nn.MaxPool1d(2)), sequence.permute(0, 1, 2)),
    "shared": (Net(shared, norm=nn.LayerNorm(6), fc=nn.Linear(6, 6), head=nn.Linear(6, 3)), rows),
    "tokens": (Net(tokens, first=nn.Parameter(torch.rand(1, 1, 8)), second=nn.Parameter(torch.rand(1, 2, 8)), patches=nn.Conv2d(3, 8, 8, 8), fc=nn.Linear(8, 8), head=nn.Linear(8, 3)), image),
    "unbiasedlstm": (recurrent(nn.LSTM, bias=False, bidirectional=True), sequence), "unbiasedgru": (recurrent(nn.GRU, bias=False), sequence),
    "volume": (nn.Sequential(nn.Conv3d(1, 2, 2), nn.Sigmoid(), nn.AdaptiveAvgPool3d(1), nn.Flatten()), torch.randn(2, 1, 4, 4, 4)),
}
for name, (model, x) in nets.items():
    model = model.eval()
    model(x)  # lazy layers
    for tensor in [*model.parameters(), *model.buffers()]:  # equal tensors would be exported as one
        if tensor.is_floating_point() and tensor.numel() > 1:
            tensor.data += 0.02 * torch.randn_like(tensor).abs()
    torch.onnx.export(model, x, os.path.join(sys.argv[1], name + ".onnx"), opset_version=14, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=["x"], dynamic_axes={"x": {1 if "n" == name[-1:] and name == "rnn" else 0: "N"}} if x.dim() != 3 else None)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.fc, self.act = nn.LayerNorm(6), nn.Linear(6, 6), nn.GELU()

    def forward(self, x):
        return x + self.act(self.fc(self.norm(x)))


model = nn.Sequential(Block(), Block(), nn.Linear(6, 3)).eval()
for tensor in model.parameters():
    tensor.data += 0.02 * torch.randn_like(tensor).abs()
torch.onnx.export(model, rows, os.path.join(sys.argv[1], "functions.onnx"), opset_version=15, export_modules_as_functions=True, input_names=["x"], dynamic_axes={"x": {0: "N"}})
