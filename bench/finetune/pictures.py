"""Pictures of two kinds of insects, drawn on crops of scikit-learn's two sample photographs: a stand-in for photographs by class.

    python3 bench/finetune/pictures.py DIR
    go run ./bench/finetune --model squeezenet1.1.onnx --train DIR/train --test DIR/test

240 pictures to train on, 150 to test on; they differ in size, place, angle and color within a kind, and share no crop.
"""
import sys
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


def picture(kind, r):
    photo = PHOTOS[r.integers(2)]
    w = int(r.integers(160, 420))
    x, y = r.integers(0, photo.width - w), r.integers(0, photo.height - w)
    img = photo.crop((x, y, x + w, y + w)).resize((300, 300)).rotate(90 * int(r.integers(4)))
    size = int(r.integers(60, 190))
    stamp = insect(kind, r).rotate(r.uniform(0, 360), Image.BICUBIC).resize((size, size), Image.BICUBIC)
    img.paste(stamp, (int(r.integers(0, 300 - size)), int(r.integers(0, 300 - size))), stamp)
    img = img.filter(ImageFilter.GaussianBlur(r.uniform(0, 1.6)))
    pixels = np.asarray(img, float) * r.uniform(0.6, 1.3) + r.normal(0, r.uniform(0, 18), (300, 300, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def main():
    r = np.random.default_rng(7)
    for part, n in (("train", 240), ("test", 150)):
        for i in range(n):
            kind = ("ants", "bees")[i % 2]
            path = Path(sys.argv[1]) / part / kind
            path.mkdir(parents=True, exist_ok=True)
            picture(kind, r).save(path / f"{i:03}.jpg", quality=90)


main()
