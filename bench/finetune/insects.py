"""Images of two kinds of insects, drawn on crops of scikit-learn's two sample photographs: a stand-in for photographs by class.

    python3 bench/finetune/insects.py DIR [--task small|large|grain] [--test 150] [--seed 7]
    go run ./bench/finetune --model squeezenet1.1.onnx --train DIR/train --test DIR/test

240 images to train on, 150 to test on; they differ in size, place, angle and color within a kind, and share no crop. The insects
are small in their images, or large; grain is nothing that images show usually: the direction of a faint pattern of lines.
"""
import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from sklearn.datasets import load_sample_images

PHOTOS = [Image.fromarray(p) for p in load_sample_images().images]


def insect(kind, r):
    """A drawing of 200 by 200: ants have three parts and long legs, bees one striped body and wings."""
    img = Image.new("RGBA", (200, 200))
    d = ImageDraw.Draw(img)
    shade = tuple(int(v) for v in r.integers(10, 120, 3)) + (255,)
    light = tuple(int(v) for v in r.integers(110, 250, 3)) + (255,)
    for k in range(3):
        for side in (-1, 1):
            y, reach = 80 + 20 * k + r.integers(-8, 9), r.integers(30, 75)
            d.line([(100, y), (100 + side * reach * 0.6, y + r.integers(-25, 5)), (100 + side * reach, y + r.integers(-20, 35))], fill=shade, width=4)
    stretch = r.uniform(0.8, 1.3)
    if kind == "ants":
        for y, a, b in ((55, 14, 16), (90, 12, 20), (140, 19, 30)):
            d.ellipse([100 - a * stretch, y - b, 100 + a * stretch, y + b], fill=shade)
    else:
        for side in (-1, 1):
            d.ellipse([100 + side * 38 - 32, 70, 100 + side * 38 + 32, 110], fill=light[:3] + (150,))
        d.ellipse([100 - 24 * stretch, 50, 100 + 24 * stretch, 165], fill=shade)
        for y in (85, 110, 135):
            d.ellipse([100 - 20 * stretch, y - 5, 100 + 20 * stretch, y + 5], fill=light)
    return img


def stamped(img, kind, r, least, most):
    size = int(r.integers(least, most))
    stamp = insect(kind, r).rotate(r.uniform(0, 360), Image.BICUBIC).resize((size, size), Image.BICUBIC)
    img.paste(stamp, (int(r.integers(0, 300 - size)), int(r.integers(0, 300 - size))), stamp)
    return img


def lined(img, kind, r):
    """Lines that fall from left to right, or rise."""
    x, y = np.meshgrid(np.arange(300), np.arange(300))
    slope = np.deg2rad(r.uniform(25, 65)) * (1 if kind == "ants" else -1)
    wave = np.sin((x * np.cos(slope) + y * np.sin(slope)) * 2 * np.pi / r.uniform(8, 20) + r.uniform(0, 6))
    return Image.fromarray((np.asarray(img, float) + r.uniform(6, 16) * wave[..., None]).clip(0, 255).astype(np.uint8))


TASKS = {
    "small": lambda img, kind, r: stamped(img, kind, r, 60, 190),
    "large": lambda img, kind, r: stamped(img, kind, r, 130, 290),
    "grain": lined,
}


def draw(task, kind, r):
    photo = PHOTOS[r.integers(2)]
    w = int(r.integers(160, 420))
    x, y = r.integers(0, photo.width - w), r.integers(0, photo.height - w)
    img = photo.crop((x, y, x + w, y + w)).resize((300, 300)).rotate(90 * int(r.integers(4)))
    img = TASKS[task](img, kind, r).filter(ImageFilter.GaussianBlur(r.uniform(0, 1.6)))
    pixels = np.asarray(img, float) * r.uniform(0.6, 1.3) + r.normal(0, r.uniform(0, 18), (300, 300, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir", type=Path)
    p.add_argument("--task", choices=TASKS, default="small")
    p.add_argument("--train", type=int, default=240)
    p.add_argument("--test", type=int, default=150)
    p.add_argument("--seed", type=int, default=7)
    args = p.parse_args()
    r = np.random.default_rng(args.seed)
    for part, n in (("train", args.train), ("test", args.test)):
        for i in range(n):
            kind = ("ants", "bees")[i % 2]
            path = args.dir / part / kind
            path.mkdir(parents=True, exist_ok=True)
            draw(args.task, kind, r).save(path / f"{i:03}.jpg", quality=90)


main()
