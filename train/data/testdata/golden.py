"""Writes the images and arrays beside it: images with what torchvision makes
of them, and numpy files of several kinds. Run with torchvision 0.14 or later:

    /usr/bin/python3 golden.py
"""
import pathlib

import numpy as np
from PIL import Image
from torchvision import transforms as T

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(1)


def draw(h, w):
    y, x = np.mgrid[0:h, 0:w]
    planes = [128 + 100 * np.sin(x / 5 + k) * np.cos(y / (4 + k)) + rng.normal(0, 10, (h, w)) for k in range(3)]
    return Image.fromarray(np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8))


for name, (h, w) in {"wide": (37, 60), "tall": (90, 41), "small": (12, 15)}.items():
    img = draw(h, w)
    img.save(here / f"{name}.png")
    t = T.Compose([T.Resize(36), T.CenterCrop(32), T.ToTensor(),
                   T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])(img)
    np.save(here / f"{name}.npy", t.numpy())

a = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
np.save(here / "fortran.npy", np.asfortranarray(a.astype(">f8")))
np.savez(here / "set.npz", x=a, y=np.array([3, 1], dtype=np.uint8), mask=np.array([True, False]), scalar=np.float64(2.5))
