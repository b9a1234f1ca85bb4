#!/usr/bin/env python3
"""Single operators, and chains of cheap ones, on a tensor of a quarter of a million numbers, and convolutions as networks have
them: graft, PyTorch and ONNX Runtime, in turn.

    go build -o operators.bin ./bench/operators
    python3 bench/operators/compare.py ./operators.bin [--ort FOLDER] [--threads 1] [--only WORD,WORD]

Milliseconds of a run, and of a run with the gradient by the input, for convolutions of networks by the weights, too: the
least of some tries, of PyTorch in the better of its two memory layouts. Behind each operator the mean over all elements is taken, so that nobody copies results. Slowest first.
"""
import argparse
import os
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--ort", default="")
parser.add_argument("--threads", default="1")
parser.add_argument("--only", default="")
parser.add_argument("--batch", type=int, default=32, help="the first dimension: 512 for tensors of 16 MB; only for elementwise operators")
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = options.threads

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(int(options.threads))
torch.manual_seed(1)

SHAPE = (options.batch, 128, 64)
IMAGE = (8, 32, 32, 32)
same, last, middle, first, one = (torch.rand(s) + 0.5 for s in (SHAPE, (64,), (128, 1), (options.batch, 1, 1), (1,)))
between = torch.rand(options.batch, 1, 64) + 0.5
some = torch.randint(0, 32, (32,))
places = torch.randint(0, 64, SHAPE)
mask = torch.rand(SHAPE) > 0.5
words = torch.randint(0, 32 * 128, (4096,))
kernel = {n: torch.randn(s) * 0.1 for n, s in {
    "dense": (32, 32, 3, 3), "point": (32, 32, 1, 1), "depth": (32, 1, 3, 3), "grouped": (32, 8, 3, 3), "five": (32, 32, 5, 5),
    "up": (32, 16, 2, 2), "line": (128, 128, 3), "volume": (16, 16, 3, 3, 3), "matrix": (64, 64)}.items()}

CASES = {
    "Relu": torch.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Exp": torch.exp, "Log": lambda x: torch.log(x.abs() + 1),
    "Sqrt": lambda x: torch.sqrt(x.abs()), "Abs": torch.abs, "Neg": lambda x: -x, "Reciprocal": torch.reciprocal, "Sin": torch.sin,
    "Cos": torch.cos, "Atan": torch.atan, "Sinh": torch.sinh, "Erf": torch.erf, "Gelu": F.gelu, "Silu": F.silu, "Softplus": F.softplus, "Elu": F.elu,
    "Selu": F.selu, "Celu": F.celu, "LeakyRelu": F.leaky_relu, "HardSwish": F.hardswish, "HardSigmoid": F.hardsigmoid, "Softsign": F.softsign,
    "Floor": torch.floor, "Round": torch.round, "Sign": torch.sign, "Clip": lambda x: x.clamp(-0.5, 0.5), "Relu6": F.relu6,
    "ThresholdedRelu": lambda x: F.threshold(x, 1.0, 0.0), "Mish": lambda x: x * torch.tanh(F.softplus(x)), "PRelu": lambda x: F.prelu(x, one * 0.3),
    "PRelu channels": lambda x: F.prelu(x, middle[:, 0]),
    "Square": lambda x: x * x, "Pow 2": lambda x: x ** 2, "Pow 3": lambda x: x ** 3, "Pow 1.5": lambda x: x.abs() ** 1.5,
    "Pow same": lambda x: x.abs() ** same, "Quick GELU": lambda x: x * torch.sigmoid(1.702 * x), "Chain swish": lambda x: x * torch.sigmoid(1.5 * x) + 0.1 * x * x,
    "Chain tanh": lambda x: 0.5 * torch.tanh(x * last + middle) + torch.relu(0.3 * x - 0.1) * same, "Chain cheap": lambda x: ((x * 2 + 1) * same - 3) / (x.abs() + 1),
    "Chain Mish": lambda x: x * torch.tanh(torch.log(1 + torch.exp(x))), "Chain loss": lambda x: torch.sqrt((x - same) ** 2 + 1e-3) * last, "Squared ReLU": lambda x: torch.relu(x) ** 2,
    "Add one": lambda x: x + one, "Add last": lambda x: x + last, "Add middle": lambda x: x + middle, "Add first": lambda x: x + first,
    "Add between": lambda x: x + between, "Add same": lambda x: x + same, "Mul middle": lambda x: x * middle, "Mul last": lambda x: x * last,
    "Mul same": lambda x: x * same, "Sub same": lambda x: x - same, "Div same": lambda x: x / same, "Div by": lambda x: same / (x.abs() + 1),
    "Max same": lambda x: torch.max(x, same), "Min same": lambda x: torch.min(x, same), "Greater": lambda x: (x > same).float(),
    "Where": lambda x: torch.where(mask, x, same), "Where scalar": lambda x: x.masked_fill(mask, -1.0), "Mod": lambda x: torch.fmod(x, 0.7),
    "Sum last": lambda x: x.sum(2), "Sum middle": lambda x: x.sum(1), "Sum first": lambda x: x.sum(0), "Sum two": lambda x: x.sum((0, 2)),
    "Mean last": lambda x: x.mean(2), "Max last": lambda x: x.max(2)[0], "Amax middle": lambda x: x.amax(1), "Amax last": lambda x: x.amax(2),
    "Min first": lambda x: x.amin(0), "Prod last": lambda x: x.prod(2), "Norm last": lambda x: x.norm(dim=2), "Norm middle": lambda x: x.norm(dim=1),
    "L1 last": lambda x: x.norm(p=1, dim=2), "LogSumExp last": lambda x: x.logsumexp(2), "LogSumExp middle": lambda x: x.logsumexp(1),
    "Variance": lambda x: x.var(2), "ArgMax last": lambda x: x.argmax(2).float(), "ArgMax middle": lambda x: x.argmax(1).float(),
    "TopK": lambda x: x.topk(5, 2)[0], "TopK 1": lambda x: x.topk(1, 2)[0], "CumSum last": lambda x: x.cumsum(2), "CumSum middle": lambda x: x.cumsum(1),
    "Softmax last": lambda x: x.softmax(2), "Softmax middle": lambda x: x.softmax(1), "Softmax first": lambda x: x.softmax(0),
    "LogSoftmax last": lambda x: x.log_softmax(2), "LogSoftmax middle": lambda x: x.log_softmax(1),
    "LayerNorm": lambda x: F.layer_norm(x, (64,), last, last), "InstanceNorm": F.instance_norm, "GroupNorm": lambda x: F.group_norm(x, 8, middle[:, 0], middle[:, 0]),
    "BatchNorm": lambda x: F.batch_norm(x, middle[:, 0], middle[:, 0], middle[:, 0], middle[:, 0]),
    "RMSNorm": lambda x: x * torch.rsqrt((x * x).mean(2, keepdim=True) + 1e-6) * last, "Normalize": lambda x: F.normalize(x, dim=2),
    "Transpose 021": lambda x: x.transpose(1, 2) + 1, "Transpose 102": lambda x: x.transpose(0, 1) + 1, "Transpose 210": lambda x: x.permute(2, 1, 0) + 1,
    "Transpose 120": lambda x: x.permute(1, 2, 0) + 1, "Concat first": lambda x: torch.cat([x, same], 0), "Concat middle": lambda x: torch.cat([x, same], 1),
    "Concat last": lambda x: torch.cat([x, same], 2), "Split middle": lambda x: torch.cat([p * (i + 1) for i, p in enumerate(x.split(32, 1))], 1),
    "Split last": lambda x: torch.cat([p * (i + 1) for i, p in enumerate(x.split(16, 2))], 2),
    "Slice middle": lambda x: x[:, 5:100] * 2, "Slice last": lambda x: x[:, :, 3:50] * 2, "Slice step": lambda x: x[:, :, ::2] * 2,
    "Flip": lambda x: x.flip(2), "Roll": lambda x: x.roll(5, 1), "Pad last": lambda x: F.pad(x, (3, 3)), "Pad middle": lambda x: F.pad(x, (0, 0, 3, 3)),
    "Pad reflect": lambda x: F.pad(x, (3, 3), mode="reflect"), "Pad replicate": lambda x: F.pad(x, (3, 3), mode="replicate"),
    "Expand": lambda x: x[:, :1].expand(SHAPE) * same, "Tile": lambda x: x[:, :, :16].repeat(1, 1, 4), "Gather first": lambda x: x[some],
    "Gather middle": lambda x: x.index_select(1, some), "Gather last": lambda x: x.index_select(2, some), "Embedding": lambda x: F.embedding(words, x.view(-1, 64)),
    "GatherElements last": lambda x: x.gather(2, places), "GatherElements middle": lambda x: x.gather(1, places),
    "ScatterElements": lambda x: same.scatter(2, places, x), "ScatterAdd": lambda x: same.scatter_add(2, places, x),
    "OneHot": lambda x: F.one_hot((x.abs() * 3).long().clamp(0, 7), 8).float(), "Tril": torch.tril, "Cast": lambda x: x.double().float() * 2,
    "Einsum": lambda x: torch.einsum("bij,kj->bik", x, kernel["matrix"]), "MatMul": lambda x: x @ kernel["matrix"], "MatMul batch": lambda x: x @ x.transpose(1, 2),
    "Conv1d": lambda x: F.conv1d(x, kernel["line"], padding=1), "Conv1d dilated": lambda x: F.conv1d(x, kernel["line"], padding=4, dilation=4),
    "Conv": lambda x: F.conv2d(x.view(IMAGE), kernel["dense"], padding=1), "Conv 1×1": lambda x: F.conv2d(x.view(IMAGE), kernel["point"]),
    "Conv 5×5": lambda x: F.conv2d(x.view(IMAGE), kernel["five"], padding=2), "Conv grouped": lambda x: F.conv2d(x.view(IMAGE), kernel["grouped"], padding=1, groups=4),
    "Conv depthwise": lambda x: F.conv2d(x.view(IMAGE), kernel["depth"], padding=1, groups=32), "Conv dilated": lambda x: F.conv2d(x.view(IMAGE), kernel["dense"], padding=2, dilation=2),
    "Conv3d": lambda x: F.conv3d(x.view(1, 16, 16, 32, 32), kernel["volume"], padding=1),
    "ConvTranspose": lambda x: F.conv_transpose2d(x.view(IMAGE), kernel["up"], stride=2), "MaxPool": lambda x: F.max_pool2d(x.view(IMAGE), 2),
    "MaxPool 3": lambda x: F.max_pool2d(x.view(IMAGE), 3, 2, 1), "MaxPool1d": lambda x: F.max_pool1d(x, 2), "AveragePool": lambda x: F.avg_pool2d(x.view(IMAGE), 2),
    "AveragePool 3": lambda x: F.avg_pool2d(x.view(IMAGE), 3, 1, 1), "GlobalAveragePool": lambda x: F.adaptive_avg_pool2d(x.view(IMAGE), 1),
    "AdaptivePool": lambda x: F.adaptive_avg_pool2d(x.view(IMAGE), 4), "Resize nearest": lambda x: F.interpolate(x.view(IMAGE), scale_factor=2.0),
    "Resize linear": lambda x: F.interpolate(x.view(IMAGE), scale_factor=2.0, mode="bilinear", align_corners=False),
    "Resize cubic": lambda x: F.interpolate(x.view(IMAGE), scale_factor=2.0, mode="bicubic", align_corners=False),
    "DepthToSpace": lambda x: F.pixel_shuffle(x.view(IMAGE), 2), "SpaceToDepth": lambda x: F.pixel_unshuffle(x.view(IMAGE), 2),
    "LRN": lambda x: F.local_response_norm(x.view(IMAGE), 5),
    "Resize linear half": lambda x: F.interpolate(x.view(IMAGE), scale_factor=0.5, mode="bilinear", align_corners=False),
    "Resize linear corners": lambda x: F.interpolate(x.view(IMAGE), size=(48, 48), mode="bilinear", align_corners=True),
    "AveragePool 5": lambda x: F.avg_pool2d(x.view(IMAGE), 5, 1, 2),
    "TopK 40": lambda x: x.view(-1, 4096).topk(40, 1)[0], "ArgMax channels": lambda x: x.view(IMAGE).argmax(1).float(),
    "Prod middle": lambda x: x.prod(1), "Remainder": lambda x: torch.remainder(x, 0.7), "Tan": torch.tan, "Pow base": lambda x: 2.5 ** x,
    "Cast int64": lambda x: (x * 9).long().float(), "Cast half": lambda x: x.half().float(), "Cast mask": lambda x: (x > same).long().float(),
    "Double chain": lambda x: (x.double() * 1.5 + same.double()).float(), "Double Exp": lambda x: torch.exp(x.double()).float(),
    "Double Sum": lambda x: x.double().sum(1).float(), "GatherND": lambda x: x[some, some], "LpNormalization middle": lambda x: F.normalize(x, dim=1),
    "GridSample": lambda x: F.grid_sample(x.view(IMAGE), torch.rand(8, 32, 32, 2, generator=torch.Generator().manual_seed(3)) * 2 - 1, align_corners=False),
}

# Convolutions that the networks of the other benchmarks lack, or hide: input, weight and options, stride 1 unless told otherwise.
CONVOLUTIONS = {
    "ViT patches": ((4, 3, 224, 224), (192, 3, 16, 16), dict(stride=16)),
    "ConvNeXt patches": ((4, 3, 128, 128), (96, 3, 4, 4), dict(stride=4)),
    "ConvNeXt down": ((4, 96, 28, 28), (192, 96, 2, 2), dict(stride=2)),
    "ConvNeXt depthwise": ((4, 96, 28, 28), (96, 1, 7, 7), dict(padding=3, groups=96)),
    "ConvNeXt depthwise 14": ((4, 384, 14, 14), (384, 1, 7, 7), dict(padding=3, groups=384)),
    "EfficientNet depthwise": ((4, 96, 28, 28), (96, 1, 5, 5), dict(stride=2, padding=2, groups=96)),
    "MobileNet depthwise": ((4, 96, 48, 48), (96, 1, 3, 3), dict(stride=2, padding=1, groups=96)),
    "Conformer depthwise": ((4, 256, 400), (256, 1, 31), dict(padding=15, groups=256)),
    "AlexNet stem": ((4, 3, 224, 224), (64, 3, 11, 11), dict(stride=4, padding=2)),
    "5×5": ((4, 64, 28, 28), (64, 64, 5, 5), dict(padding=2)),
    "7×7": ((4, 32, 28, 28), (32, 32, 7, 7), dict(padding=3)),
    "Inception 1×7": ((4, 128, 17, 17), (128, 128, 1, 7), dict(padding=(0, 3))),
    "Inception 7×1": ((4, 128, 17, 17), (128, 128, 7, 1), dict(padding=(3, 0))),
    "DeepLab dilation 12": ((2, 256, 32, 32), (256, 256, 3, 3), dict(padding=12, dilation=12)),
    "Dilation 2": ((4, 128, 28, 28), (128, 128, 3, 3), dict(padding=2, dilation=2)),
    "Dilation 4": ((4, 128, 28, 28), (128, 128, 3, 3), dict(padding=4, dilation=4)),
    "ResNeXt 4": ((4, 128, 28, 28), (128, 4, 3, 3), dict(padding=1, groups=32)),
    "ResNeXt 8 half": ((4, 256, 28, 28), (256, 8, 3, 3), dict(stride=2, padding=1, groups=32)),
    "RegNet 16 half": ((4, 128, 28, 28), (128, 16, 3, 3), dict(stride=2, padding=1, groups=8)),
    "3×3 third": ((4, 64, 48, 48), (64, 64, 3, 3), dict(stride=3)),
    "5×5 third": ((4, 32, 48, 48), (64, 32, 5, 5), dict(stride=3, padding=1)),
    "4×4 half": ((16, 64, 16, 16), (128, 64, 4, 4), dict(stride=2, padding=1)),
    "Image stem": ((1, 3, 480, 640), (32, 3, 3, 3), dict(stride=2, padding=1)),
    "M5": ((8, 1, 16000), (128, 1, 80), dict(stride=4, padding=38)),
    "wav2vec first": ((2, 1, 16000), (512, 1, 10), dict(stride=5)),
    "wav2vec": ((2, 512, 800), (512, 512, 3), dict(stride=2)),
    "Volume": ((4, 16, 12, 12, 12), (32, 16, 3, 3, 3), dict(padding=1)),
    "Volume small": ((4, 32, 6, 6, 6), (64, 32, 3, 3, 3), dict(padding=1)),
    "Volume half": ((2, 64, 16, 16, 16), (128, 64, 3, 3, 3), dict(stride=2, padding=1)),
    "R(2+1)D": ((1, 64, 8, 28, 28), (144, 64, 1, 3, 3), dict(padding=(0, 1, 1))),
    "Transposed 4×4": ((16, 128, 8, 8), (128, 64, 4, 4), dict(stride=2, padding=1, transposed=True)),
    "Transposed 2×2": ((4, 128, 8, 8), (128, 64, 2, 2), dict(stride=2, transposed=True)),
    "Transposed 3×3": ((4, 64, 14, 14), (64, 64, 3, 3), dict(stride=2, padding=1, transposed=True)),
    "Transposed 8×8": ((4, 64, 16, 16), (64, 32, 8, 8), dict(stride=4, padding=2, transposed=True)),
    "Transposed 1d": ((4, 128, 200), (128, 64, 16), dict(stride=8, padding=4, transposed=True)),
}


class Network(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x).mean()


class Convolution(nn.Module):
    def __init__(self, weight, transposed=False, **options):
        super().__init__()
        self.weight, self.options = nn.Parameter(torch.randn(weight) * 0.1), options
        self.f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][len(weight) - 3] if transposed else [F.conv1d, F.conv2d, F.conv3d][len(weight) - 3]

    def forward(self, x):
        return self.f(x, self.weight, **self.options).mean()


def layouts(network, x):
    """A network and its input as they are, then with the channels last, where that makes a difference."""
    yield network, x
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    if last and isinstance(network, Convolution):
        yield network.to(memory_format=last), x.to(memory_format=last)


def cases():
    for name, f in CASES.items():
        yield name, Network(f), torch.randn(SHAPE)
    for name, (shape, weight, options) in CONVOLUTIONS.items():
        yield name, Convolution(weight, **options), torch.randn(shape)


def best(f, seconds=0.04):
    least, n, start = 1e9, 0, time.perf_counter()
    while n < 3 or time.perf_counter() - start < seconds:
        t = time.perf_counter()
        f()
        least, n = min(least, time.perf_counter() - t), n + 1
    return least * 1e3


def peer(*command):
    """A function that sends a line to a process and gives the numbers it answers."""
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(line):
        p.stdin.write(line + "\n")
        p.stdin.flush()
        return [float(v) for v in p.stdout.readline().split()]
    return ask


graft = peer(options.program, "-threads", options.threads)
runtime = options.ort and peer("node", os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnxruntime.js"), options.ort, options.threads)
rows = []
with tempfile.TemporaryDirectory() as folder:
    for name, network, x in cases():
        if options.only and not any(word in name for word in options.only.split(",")):
            continue
        weights = list(network.parameters())
        file = os.path.join(folder, "model.onnx")
        try:
            torch.onnx.export(network, x, file, opset_version=16, input_names=["x"], output_names=["y"], do_constant_folding=True)
        except Exception as e:  # not every version exports everything
            print("not exported:", name, str(e).split("\n")[0])
            continue
        ours = graft(" ".join([file] + [n for n, _ in network.named_parameters()]))
        theirs = runtime(file)[0] if runtime else 0
        forward = both = 1e9
        for network, x in layouts(network, x):
            with torch.no_grad():
                forward = min(forward, best(lambda: network(x)))
            leaf = x.clone().requires_grad_()
            y = network(leaf)
            if y.requires_grad:
                both = min(both, best(lambda: torch.autograd.grad(network(leaf), [leaf, *weights])))
            else:
                both = 0
        ratios = [a / b for a, b in ((ours[0], forward), (ours[0], theirs), (ours[1], both)) if a and b]
        rows.append((max(ratios, default=0), name, ours[0], forward, theirs, ours[1], both))

print("| operator | graft ms | PyTorch | ratio | ONNX Runtime | ratio | with gradient: graft ms | PyTorch | ratio |\n|---|---|---|---|---|---|---|---|---|")
for _, name, a, t, r, b, u in sorted(rows, reverse=True):
    cell = lambda x, y: f"{x / y:.2f}" if x and y else "–"
    print(f"| {name} | {a:.3f} | {t:.3f} | {cell(a, t)} | {r:.3f} | {cell(a, r)} | {b:.3f} | {u:.3f} | {cell(b, u)} |")
