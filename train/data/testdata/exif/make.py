"""Images of 5 by 3 pixels with each Exif orientation, and as Pillow shows them: python3 make.py, beside the files."""
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

here = Path(__file__).parent
pixels = Image.fromarray(np.random.default_rng(1).integers(0, 256, (3, 5, 3)).astype(np.uint8))
for o in range(1, 9):
    exif = Image.Exif()
    exif[0x112] = o
    pixels.save(here / f"{o}.png", exif=exif)
    Image.fromarray(np.asarray(ImageOps.exif_transpose(Image.open(here / f"{o}.png")))).save(here / f"want{o}.png")
    if o == 6:
        pixels.resize((80, 48), Image.NEAREST).save(here / "6.jpg", exif=exif, quality=95, subsampling=0)
        pixels.save(here / "6.webp", exif=exif, lossless=True)
        pixels.save(here / "6.tif", exif=exif)
