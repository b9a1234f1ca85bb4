#!/usr/bin/python3
"""Makes the GIF files in this folder, and what Pillow decodes them to, with numpy and Pillow 9.4."""
import os
import struct
import numpy as np
from PIL import Image

here = os.path.dirname(os.path.abspath(__file__))
y, x = np.mgrid[0:19, 0:23]
image = Image.fromarray(np.stack([x * 9, y * 12, (x * y) % 256], -1).astype(np.uint8)).quantize(8)


def store(name, width, height, **options):
    path = os.path.join(here, name)
    image.save(path, **options)
    with open(path, "r+b") as f:
        f.seek(6)
        f.write(struct.pack("<HH", width, height))
    Image.open(path).convert("RGB").save(path + ".ppm")


store("transparent.gif", 23, 19, transparency=3)
store("part.gif", 30, 25)
store("transparentpart.gif", 30, 25, transparency=5)
