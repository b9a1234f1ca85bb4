"""Small networks trained with every usual preprocessing of images, exported to ONNX without a word about it.

    python3 bench/finetune/preparations.py DIR --mnist FOLDER [--seed 1] [--untrained]
    go run ./bench/finetune --preparations DIR

Five networks as torchvision builds them (with and without BatchNormalization) learn to tell glyphs on crops of scikit-learn's two sample
photographs, in color, and MNIST's digits, in gray; some exports take channels last. PyTorch folds BatchNormalization into convolutions by default; such networks
are exported in both ways, as NETWORK and NETWORK-folded. DIR/glyphs and DIR/digits hold the models, named
NETWORK_PRESET_LAYOUT.onnx, and in images/ images that were not trained on. --untrained writes the networks with random weights.
"""
import argparse
import gzip
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_sample_images
from torch import nn

PHOTOS = [Image.fromarray(p) for p in load_sample_images().images]
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CAFFE = ((123.68, 116.779, 103.939), (1, 1, 1))
PLAIN, HALF = ((0, 0, 0), (1, 1, 1)), ((0.5,) * 3, (0.5,) * 3)
COLOR = {  # range, mean and deviation of red, green and blue, whether blue comes first
    "imagenet": (1, *IMAGENET, False), "caffe": (255, *CAFFE, True), "caffe-rgb": (255, *CAFFE, False), "unit": (1, *PLAIN, False),
    "symmetric": (1, *HALF, False), "raw": (255, *PLAIN, False), "unit-bgr": (1, *PLAIN, True), "raw-bgr": (255, *PLAIN, True),
}
GRAY = {
    "unit": (1, (0,), (1,), False), "symmetric": (1, (0.5,), (0.5,), False), "raw": (255, (0,), (1,), False),
    "mnist": (1, (0.1307,), (0.3081,), False),
}


class Residual(nn.Module):
    def __init__(self, inside, outside=None):
        super().__init__()
        self.inside, self.outside = inside, outside or nn.Identity()

    def forward(self, x):
        return self.inside(x) + self.outside(x)


class Fire(nn.Module):
    def __init__(self, cin, few, many):
        super().__init__()
        self.squeeze, self.one, self.three = nn.Conv2d(cin, few, 1), nn.Conv2d(few, many, 1), nn.Conv2d(few, many, 3, padding=1)

    def forward(self, x):
        x = self.squeeze(x).relu()
        return torch.cat([self.one(x).relu(), self.three(x).relu()], 1)


def conv(cin, cout, kernel=3, stride=1, groups=1, act=nn.ReLU):
    layers = [nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


def ending(c, classes):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, classes)]


def resnet(c, k):
    block = lambda a, b, s: nn.Sequential(
        Residual(nn.Sequential(conv(a, b, stride=s), conv(b, b, act=None)), None if (a, s) == (b, 1) else conv(a, b, 1, s, act=None)), nn.ReLU())
    return nn.Sequential(conv(c, 16), block(16, 16, 1), block(16, 32, 2), block(32, 32, 2), *ending(32, k))


def mobilenet(c, k):
    def block(a, b, s):
        inside = nn.Sequential(conv(a, 3 * a, 1, act=nn.ReLU6), conv(3 * a, 3 * a, 3, s, 3 * a, act=nn.ReLU6), conv(3 * a, b, 1, act=None))
        return Residual(inside) if a == b and s == 1 else inside
    return nn.Sequential(conv(c, 16, act=nn.ReLU6), block(16, 16, 1), block(16, 24, 2), block(24, 24, 1), block(24, 32, 2), *ending(32, k))


def vgg(c, k):
    return nn.Sequential(conv(c, 16), nn.MaxPool2d(2), conv(16, 32), nn.MaxPool2d(2), conv(32, 32), *ending(32, k))


def squeezenet(c, k):
    return nn.Sequential(nn.Conv2d(c, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), Fire(24, 8, 16), nn.MaxPool2d(2), Fire(32, 8, 24), *ending(48, k))


def alexnet(c, k):
    return nn.Sequential(nn.Conv2d(c, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 64, 48), nn.ReLU(), nn.Linear(48, k))


NETS = {"resnet": resnet, "mobilenet": mobilenet, "vgg-bn": vgg, "squeezenet": squeezenet, "alexnet": alexnet}


def glyphs(n, r):
    """n images of 32 by 32 of five letters of several colors and fonts, on photographs, as bytes; and their classes."""
    fonts = sorted(map(str, Path("/usr/share/fonts").rglob("*.ttf")))
    images, classes = [], []
    for i in range(n):
        photo = PHOTOS[r.integers(2)]
        w = int(r.integers(60, 300))
        x, y = r.integers(0, photo.width - w), r.integers(0, photo.height - w)
        img = photo.crop((x, y, x + w, y + w)).resize((32, 32))
        font = ImageFont.truetype(fonts[r.integers(len(fonts))], int(r.integers(20, 29))) if fonts else ImageFont.load_default()
        ink = tuple(int(v) for v in r.integers(0, 256, 3))
        ImageDraw.Draw(img).text((16 + r.integers(-3, 4), 16 + r.integers(-3, 4)), "AEKSX"[i % 5], fill=ink, font=font, anchor="mm" if fonts else None)
        images.append(np.asarray(img))
        classes.append(i % 5)
    return np.stack(images), np.array(classes)


def digits(folder, n, r):
    """n of MNIST's test images, padded to 32 by 32."""
    images = np.frombuffer(gzip.open(folder / "t10k-images-idx3-ubyte.gz").read(), np.uint8, offset=16).reshape(-1, 28, 28)
    classes = np.frombuffer(gzip.open(folder / "t10k-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    some = r.permutation(len(images))[:n]
    return np.pad(images[some], ((0, 0), (2, 2), (2, 2)))[..., None], classes[some].astype(int)


def prepared(images, preset):
    white, mean, std, bgr = preset
    x = (torch.tensor(images).float() / 255 * white - torch.tensor(mean)) / torch.tensor(std)
    return (x.flip(-1) if bgr else x).permute(0, 3, 1, 2).contiguous()


class ChannelsLast(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x.permute(0, 3, 1, 2))


def trained(net, x, y, epochs):
    rule = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(epochs):
        for some in torch.randperm(len(x)).split(32):
            loss = nn.functional.cross_entropy(net(x[some]), y[some])
            rule.zero_grad()
            loss.backward()
            rule.step()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir", type=Path)
    p.add_argument("--mnist", type=Path, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--images", type=int, default=2000)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--nets", nargs="+", choices=NETS, default=list(NETS))
    p.add_argument("--kinds", nargs="+", choices=("glyphs", "digits"), default=["glyphs", "digits"])
    p.add_argument("--untrained", action="store_true")
    args = p.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    r = np.random.default_rng(args.seed)
    for kind, presets, (images, classes) in (("glyphs", COLOR, glyphs(args.images + 400, r)), ("digits", GRAY, digits(args.mnist, args.images + 400, r))):
        if kind not in args.kinds:
            continue
        for i, (img, c) in enumerate(zip(images[args.images:], classes[args.images:])):
            path = args.dir / kind / "images" / str(c)
            path.mkdir(parents=True, exist_ok=True)
            Image.fromarray(img.squeeze()).save(path / f"{i:03}.png")
        y = torch.tensor(classes)
        for number, (name, build) in enumerate(NETS.items()):
            for k, (preset, values) in enumerate(presets.items()):
                if name not in args.nets:
                    continue
                net, x = build(images.shape[-1], int(classes.max()) + 1), prepared(images, values)
                if not args.untrained:
                    trained(net, x[:args.images], y[:args.images], args.epochs)
                net.eval()
                with torch.no_grad():
                    right = (net(x[args.images:]).argmax(1) == y[args.images:]).float().mean().item()
                last = (number + k) % 2 == 1
                sample = x[:1].permute(0, 2, 3, 1) if last else x[:1]
                norms = any(isinstance(m, nn.BatchNorm2d) for m in net.modules())
                for folded in (False, True) if norms else (False,):
                    file = args.dir / kind / f"{name}{'-folded' * folded}_{preset}_{'nhwc' if last else 'nchw'}.onnx"
                    mode = torch.onnx.TrainingMode.EVAL if folded or not norms else torch.onnx.TrainingMode.PRESERVE
                    torch.onnx.export(ChannelsLast(net).eval() if last else net, sample, file, input_names=["x"], output_names=["scores"],
                                      dynamic_axes={"x": {0: "N"}, "scores": {0: "N"}}, opset_version=13, training=mode)
                print(f"{file} {right:.3f}", flush=True)


main()
