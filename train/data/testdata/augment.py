"""Writes augment.json: what torchvision makes of a small image by each of TrivialAugment's changes.
Run with torchvision 0.14 or later:

    /usr/bin/python3 augment.py
"""
import json
import pathlib

import torch
from torchvision.transforms import InterpolationMode
from torchvision.transforms.autoaugment import TrivialAugmentWide, _apply_op

torch.manual_seed(3)
H, W = 96, 99
y, x = torch.meshgrid(torch.arange(H), torch.arange(W), indexing="ij")
img = torch.stack([(40 + x + y) % 256, (200 - x), (x * y // 37) % 180]).to(torch.uint8)
cases = []
for name, (magnitudes, signed) in TrivialAugmentWide()._augmentation_space(31).items():
    steps = [0] if magnitudes.ndim == 0 else [0, 4, 17, 30]
    for step in steps:
        for sign in ([1, -1] if signed and step else [1]):
            m = 0.0 if magnitudes.ndim == 0 else sign * float(magnitudes[step])
            out = _apply_op(img.clone(), name, m, InterpolationMode.NEAREST, None)
            # Some pixels are enough to tell changes apart, and the sum of all.
            cases.append({"name": name, "step": step, "sign": sign, "some": out.flatten()[::13 * 17].tolist(), "sum": int(out.long().sum())})
path = pathlib.Path(__file__).parent / "augment.json"
path.write_text(json.dumps({"height": H, "width": W, "cases": cases}) + "\n")
