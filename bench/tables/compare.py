"""Tables beside scikit-learn: what `graft train --new tabular` reaches without settings on made tables.

    go build -o graft.bin ./cmd/graft && python3 bench/tables/compare.py ./graft.bin [--seeds 3] [--only wide,prices]

A quarter of the rows is for testing. The pipeline imputes with indicators, encodes one-hot and scales, then Ridge or
LogisticRegression with the defaults, or an MLP of 100 units. A line is mean ± deviation over the seeds of r² or accuracy, then
graft's seconds of the processor. The last column is graft less the better pipeline.
"""
import argparse
import csv
import os
import resource
import subprocess
import tempfile
import warnings

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

warnings.simplefilter("ignore", ConvergenceWarning)


def prices(r):
    """Five numbers of different sizes, nearly linear."""
    n = 2000
    area, rooms, age = r.uniform(30, 250, n), r.integers(1, 8, n), r.uniform(0, 120, n)
    distance, lot = r.exponential(8, n), r.uniform(0, 5e4, n)
    y = 3000 * area + 15000 * rooms - 900 * age - 4000 * distance + 2 * lot + 8000 * r.standard_normal(n)
    return {"area": area, "rooms": rooms, "age": age, "distance": distance, "lot": lot}, y


def mixed(r):
    """Prices by town and kind as well, a tenth of the values missing."""
    x, y = prices(r)
    n = len(y)
    town, kind = r.choice(["Oslo", "Rome", "Lima", "Bern", "Kyiv"], n), r.choice(["flat", "house", "loft"], n)
    level = {"Oslo": 1.4, "Rome": 1.0, "Lima": 0.6, "Bern": 1.3, "Kyiv": 0.8}
    y = y * np.array([level[t] for t in town]) + 60000 * (kind == "loft") + 20000 * r.standard_normal(n)
    x = {**x, "town": town.astype(object), "kind": kind.astype(object)}
    for c in x:
        x[c] = np.where(r.random(n) < 0.1, None, x[c])
    return x, y


def dear(r):
    """The same, whether a price is above the median."""
    x, y = mixed(r)
    return x, np.where(y > np.median(y), "yes", "no")


def wide(r):
    """A thousand numbers for 1125 rows to train on, the target linear in 20 of them."""
    x = r.standard_normal((1500, 1000))
    y = x[:, :20] @ r.standard_normal(20) + 0.5 * r.standard_normal(1500)
    return {f"x{i:03}": x[:, i] for i in range(1000)}, y


def factors(r):
    """A thousand numbers that twenty hidden ones make, and the target with them."""
    z = r.standard_normal((1500, 20))
    x = z @ r.standard_normal((20, 1000)) + 4 * r.standard_normal((1500, 1000))
    y = z @ r.standard_normal(20) + r.standard_normal(1500)
    return {f"x{i:03}": x[:, i] for i in range(1000)}, y


def wideclasses(r):
    """factors in two classes."""
    x, y = factors(r)
    return x, np.where(y > 0, "yes", "no")


def few(r):
    """300 rows of 1000 numbers in two classes that differ in 50 of them."""
    c = r.integers(0, 2, 400)
    x = r.standard_normal((400, 1000))
    x[:, :50] += 0.4 * (2 * c - 1)[:, None]
    return {f"x{i:03}": x[:, i] for i in range(1000)}, np.where(c == 1, "yes", "no")


def curved(r):
    """Not linear, with a column of 60 categories."""
    n = 3000
    x, k = r.uniform(-2, 2, (n, 4)), r.integers(0, 60, n)
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + r.standard_normal(60)[k] + 0.1 * r.standard_normal(n)
    return {**{f"x{i}": x[:, i] for i in range(4)}, "k": np.array([f"k{i}" for i in k], dtype=object)}, y


def known(load, classes):
    def make(r):
        d = load()
        y = np.array([str(d.target_names[t]) for t in d.target]) if classes else d.target
        return {f"x{i}": d.data[:, i] for i in range(d.data.shape[1])}, y
    return make


TABLES = {
    "prices": prices, "mixed": mixed, "dear": dear, "wide": wide, "factors": factors, "wideclasses": wideclasses, "few": few, "curved": curved,
    "iris": known(load_iris, True), "cancer": known(load_breast_cancer, True), "diabetes": known(load_diabetes, False),
}


def pipeline(x, last):
    texts = [i for i, c in enumerate(x.values()) if any(isinstance(v, str) for v in c)]
    numbers = [i for i in range(len(x)) if i not in texts]
    return make_pipeline(make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value=""), OneHotEncoder(handle_unknown="ignore")), texts)), last)


def peers(x, y, fit, test, seed):
    classes = y.dtype.kind in "UO"
    a = np.column_stack([np.where([v is None for v in c], np.nan, c) if not any(isinstance(v, str) for v in c) else
                         np.array([v or "" for v in c], dtype=object) for c in x.values()]).astype(object)
    linear = LogisticRegression(max_iter=2000) if classes else Ridge()
    mlp = (MLPClassifier if classes else MLPRegressor)((100,), random_state=seed)
    out = []
    for last in (linear, mlp):
        scale = (0, 1) if classes else (y[fit].mean(), y[fit].std())
        target = y if classes else (y - scale[0]) / scale[1]
        got = pipeline(x, last).fit(a[fit], target[fit]).predict(a[test])
        out.append((accuracy_score if classes else r2_score)(target[test], got))
    return out


def write(path, x, y, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f)
        w.writerow([*x] + ["target"] * (y is not None))
        for i in rows:
            w.writerow(["" if c[i] is None else c[i] for c in x.values()] + ([] if y is None else [y[i]]))


def graft(binary, x, y, fit, test, seed):
    classes = y.dtype.kind in "UO"
    with tempfile.TemporaryDirectory() as d:
        write(d + "/fit.csv", x, y, fit)
        write(d + "/test.csv", x, None, test)
        run = lambda *a: subprocess.run([os.path.abspath(binary), *a], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=d, text=True).stdout
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run("train", "--new", "tabular", "--data", "fit.csv", "--target", "target", "--task", "classes" if classes else "regression", "--seed", str(seed), "-o", "m.onnx")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        got = list(csv.DictReader(run("predict", "m.onnx", "test.csv", "--csv").splitlines()))
    spent = after.ru_utime - before.ru_utime
    if classes:
        return accuracy_score(y[test], [r["label"] for r in got]), spent
    return r2_score(y[test], [float([*r.values()][-1]) for r in got]), spent


def main():
    p = argparse.ArgumentParser()
    p.add_argument("graft")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--only", default=",".join(TABLES))
    args = p.parse_args()
    print("| table | linear | MLP | graft | s | graft − best |\n|---|---|---|---|---|---|")
    for name in args.only.split(","):
        rows = []
        for seed in range(args.seeds):
            r = np.random.default_rng(seed)
            x, y = TABLES[name](r)
            order = r.permutation(len(y))
            test, fit = order[:len(y) // 4], order[len(y) // 4:]
            score, spent = graft(args.graft, x, y, fit, test, seed)
            rows.append([*peers(x, y, fit, test, seed), score, spent])
        m, s = np.mean(rows, 0), np.std(rows, 0)
        print(f"| {name} | " + " | ".join(f"{m[i]:.3f} ± {s[i]:.3f}" for i in range(3)) + f" | {m[3]:.1f} | {m[2] - max(m[0], m[1]):+.3f} |", flush=True)


main()
