"""Images of two or more kinds of things, cut out and pasted on crops of scikit-learn's two sample photographs.

    apt-get download tuxpaint-stamps-default && dpkg -x tuxpaint-stamps-default_*.deb stamps
    S=stamps/usr/share/tuxpaint/stamps
    python3 bench/finetune/cutouts.py DIR mammals=$S/animals/mammals birds=$S/animals/birds
    go run ./bench/finetune --model squeezenet1.1.onnx --train DIR/train --test DIR/test

A kind is a name and folders, joined by commas, of PNG files with a transparent ground; drawings, in folders or files with `cartoon` or
`symbols` in their paths, are passed over. Three fifths of the files of a kind are for training, the others for the test.
"""
import argparse
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

PHOTOS = [Image.fromarray(p) for p in load_sample_images().images]


def cutouts(folders):
    files = [f for folder in folders.split(",") for f in sorted(Path(folder).rglob("*.png"))]
    images = [Image.open(f).convert("RGBA") for f in files if "cartoon" not in str(f) and "symbols" not in str(f)]
    return [i for i in images if min(i.size) >= 60]


def draw(stamp, r):
    photo = PHOTOS[r.integers(len(PHOTOS))]
    w = int(r.integers(160, 420))
    x, y = r.integers(0, photo.width - w), r.integers(0, photo.height - w)
    img = photo.crop((x, y, x + w, y + w)).resize((300, 300))
    scale = r.integers(110, 280) / max(stamp.size)
    stamp = stamp.resize((max(1, int(stamp.width * scale)), max(1, int(stamp.height * scale))), Image.BICUBIC)
    stamp = stamp.rotate(r.uniform(-20, 20), Image.BICUBIC)
    if r.random() < 0.5:
        stamp = stamp.transpose(Image.FLIP_LEFT_RIGHT)
    left, top = (int(r.integers(-20, max(-19, 320 - side))) for side in stamp.size)
    img.paste(stamp, (left, top), stamp)
    pixels = np.asarray(img, float) * r.uniform(0.7, 1.2) + r.normal(0, r.uniform(0, 8), (300, 300, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir", type=Path)
    p.add_argument("kind", nargs="+", help="NAME=FOLDER,FOLDER…")
    p.add_argument("--train", type=int, default=120, help="images of each kind")
    p.add_argument("--test", type=int, default=75, help="images of each kind")
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    r = np.random.default_rng(args.seed)
    for kind in args.kind:
        name, folders = kind.split("=")
        stamps = cutouts(folders)
        order = np.arange(len(stamps))
        r.shuffle(order)
        cut = int(len(stamps) * 0.6)
        for part, some, n in (("train", order[:cut], args.train), ("test", order[cut:], args.test)):
            (args.dir / part / name).mkdir(parents=True, exist_ok=True)
            for i in range(n):
                draw(stamps[some[i % len(some)]], r).save(args.dir / part / name / f"{i:03}.jpg", quality=90)


main()
