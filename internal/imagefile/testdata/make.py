#!/usr/bin/python3
"""Makes the images in this folder, and what Pillow decodes them to, with numpy and Pillow 9.4."""
import os
import numpy as np
from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))
random = np.random.RandomState(1)


def draw(width, height):
    y, x = np.mgrid[0:height, 0:width]
    red = 128 + 100 * np.sin(x / 3.0) + random.randn(height, width) * 20
    planes = [red, 128 + 90 * np.cos(y / 4.0 + x / 7.0), (x * 7 + y * 5) % 256]
    return Image.fromarray(np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8))


def store(name, image, **options):
    path = os.path.join(here, name)
    image.save(path, **options)
    Image.open(path).convert("RGB").save(path + ".ppm")


store("420.jpg", draw(37, 29), quality=80)
store("422.jpg", draw(33, 18), quality=90, subsampling=1)
store("444.jpg", draw(19, 23), quality=95, subsampling=0)
store("gray.jpg", draw(21, 17).convert("L"), quality=70)
store("progressive.jpg", draw(21, 17).convert("L"), quality=70, progressive=True)
store("lossy.webp", draw(37, 28), quality=80)
store("odd.webp", draw(20, 31), quality=60)
store("fax.tif", draw(20, 31).convert("1"), compression="group4")
store("fax0.tif", draw(20, 31).convert("1"), compression="group4", tiffinfo={262: 0})
