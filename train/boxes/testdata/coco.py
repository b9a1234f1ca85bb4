"""A set of images with boxes, detections, and COCO's figures for them, computed from their definition: python3 coco.py, beside the files.

Written for clarity, apart from graft: for each category, threshold and range of sizes every detection of every image gets, in the order of
its score, the free object that it overlaps most; precision is read at 101 recalls.
"""
import json
from pathlib import Path

import numpy as np

LIMITS, RECALLS = np.linspace(0.5, 0.95, 10), np.linspace(0, 1, 101)
SIZES = {"all": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, 1e10)}


def overlap(d, g, crowd):
    w = min(d[0] + d[2], g[0] + g[2]) - max(d[0], g[0])
    h = min(d[1] + d[3], g[1] + g[3]) - max(d[1], g[1])
    if w <= 0 or h <= 0:
        return 0.0
    return w * h / (d[2] * d[3] if crowd else d[2] * d[3] + g[2] * g[3] - w * h)


def one(truth, found, limit, size, most):
    """Precision at each recall, and the largest recall, of one category; None without objects."""
    marks, objects = [], 0
    for image in sorted(truth):
        gts = [dict(g, skip=bool(g["iscrowd"]) or not size[0] <= g["area"] <= size[1], free=True) for g in truth[image]]
        objects += sum(not g["skip"] for g in gts)
        for d in sorted(found[image], key=lambda d: -d["score"])[:most]:
            for group in (False, True):
                able = [(overlap(d["bbox"], g["bbox"], g["iscrowd"]), i) for i, g in enumerate(gts) if g["skip"] == group and (g["free"] or g["iscrowd"])]
                able = [a for a in able if a[0] >= min(limit, 1 - 1e-10)]
                if able:
                    break
            if able:
                g = gts[max(able)[1]]
                g["free"] = False
                if not g["skip"]:
                    marks.append((d["score"], 1))
            elif size[0] <= d["bbox"][2] * d["bbox"][3] <= size[1]:
                marks.append((d["score"], 0))
    if not objects:
        return None
    marks.sort(key=lambda m: -m[0])
    right = np.cumsum([m[1] for m in marks])
    recall, precision = right / objects, right / np.arange(1, len(marks) + 1)
    at = [max([p for p, r in zip(precision, recall) if r >= want], default=0.0) for want in RECALLS]
    return np.mean(at), recall[-1] if len(recall) else 0.0


def figures(coco, results):
    images, categories = [i["id"] for i in coco["images"]], [c["id"] for c in coco["categories"]]
    memory = {}

    def values(limits, size, most, what):
        out = []
        for c in categories:
            truth = {i: [a for a in coco["annotations"] if (a["image_id"], a["category_id"]) == (i, c)] for i in images}
            found = {i: [d for d in results if (d["image_id"], d["category_id"]) == (i, c)] for i in images}
            for t in limits:
                key = (c, t, size, most)
                if key not in memory:
                    memory[key] = one(truth, found, t, SIZES[size], most)
                if memory[key]:
                    out.append(memory[key][what])
        return float(np.mean(out)) if out else -1.0

    return {
        "AP": values(LIMITS, "all", 100, 0), "AP50": values(LIMITS[:1], "all", 100, 0), "AP75": values(LIMITS[5:6], "all", 100, 0),
        **{f"AP {s}": values(LIMITS, s, 100, 0) for s in ("small", "medium", "large")},
        **{f"AR {n}": values(LIMITS, "all", n, 1) for n in (1, 10, 100)},
        **{f"AR {s}": values(LIMITS, s, 100, 1) for s in ("small", "medium", "large")},
    }


def made(seed, images, categories):
    """Objects of all sizes, crowds among them, and detections that are near them, doubled, or of nothing."""
    r = np.random.default_rng(seed)
    coco = {"images": [], "annotations": [], "categories": [{"id": 3 * c + 1, "name": f"c{c}"} for c in range(categories)]}
    results = []
    for i in range(images):
        coco["images"].append({"id": 10 + i, "file_name": f"{i}.png", "width": 400, "height": 300})
        for _ in range(r.integers(0, 9)):
            w, h = np.exp(r.uniform(2, 5.3, 2))
            box = [float(np.round(v, 2)) for v in (r.uniform(0, 400 - w), r.uniform(0, 300 - h), w, h)]
            c = 3 * int(r.integers(categories - 1)) + 1  # the last has no objects
            coco["annotations"].append({"id": len(coco["annotations"]), "image_id": 10 + i, "category_id": c, "bbox": box, "area": round(box[2] * box[3] * r.uniform(0.5, 1), 2), "iscrowd": int(r.random() < 0.1)})
            for _ in range(r.integers(0, 4)):
                near = [float(np.round(v, 2)) for v in np.array(box) + r.normal(0, 0.08, 4) * np.array([box[2], box[3], box[2], box[3]])]
                results.append({"image_id": 10 + i, "category_id": c if r.random() < 0.9 else 1, "bbox": near, "score": float(np.round(r.uniform(0.2, 1), 4))})
        for _ in range(r.integers(0, 4)):
            results.append({"image_id": 10 + i, "category_id": 3 * int(r.integers(categories)) + 1, "bbox": [float(v) for v in np.round(r.uniform(5, 120, 4), 2)], "score": float(np.round(r.uniform(0, 0.7), 4))})
    return coco, results


if __name__ == "__main__":
    here = Path(__file__).parent
    coco, results = made(3, 12, 4)
    (here / "instances.json").write_text(json.dumps(coco))
    (here / "results.json").write_text(json.dumps(results))
    (here / "figures.json").write_text(json.dumps(figures(coco, results), indent=1))
