"""Real tables beside scikit-learn: what `graft train --new tabular --data X.csv -o m.onnx` reaches on them without settings.

    apt-get download python3-statsmodels r-cran-aer r-cran-mlbench r-cran-cardata r-cran-mass r-cran-modeldata r-cran-rpart
    for f in *.deb; do dpkg-deb -x $f DIR/$(echo $f | cut -d_ -f1); done; npm pack vega-datasets; tar xf vega-datasets-*.tgz
    go build -o graft.bin ./cmd/graft
    python3 bench/tables/real.py ./graft.bin --packages DIR --vega package/data [--seeds 2] [--only iris,wine]

A quarter of the rows is for testing. The pipelines impute with indicators, encode one-hot and scale; then come Ridge or
LogisticRegression, an MLP of 100 units, and an SVM, with their defaults. A line is the mean over the seeds of r2 or accuracy, graft's
relative to the best pipeline, and graft's seconds of the processor.
"""
import argparse
import csv
import io
import json
import os
import resource
import subprocess
import tempfile
import warnings

import numpy as np
import rda
from sklearn import datasets as sk
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

warnings.simplefilter("ignore")
PACKAGES = VEGA = ""

def skl(load, classes, names=None):
    def f():
        d = load(); n = getattr(d, "feature_names", [f"x{i}" for i in range(d.data.shape[1])])
        t = {str(n[i]).replace(",", ""): [float(v) for v in d.data[:, i]] for i in range(d.data.shape[1])}
        t["target"] = [str(d.target_names[k]) for k in d.target] if classes else [float(v) for v in d.target]
        return t, "target"
    return f
def linnerud():
    d = sk.load_linnerud()
    t = {n: list(map(float, d.data[:, i])) for i, n in enumerate(d.feature_names)}
    t["Weight"] = list(map(float, d.target[:, 0])); return t, "Weight"
def r(pkg, name, target, drop=()):
    def f():
        if pkg in ("mlbench", "AER"):
            p = PACKAGES + f"/r-cran-{pkg.lower()}/usr/lib/R/site-library/{pkg}/data/{name}.rda"
            t = rda.frame(rda.rda(p)[name])
        elif pkg == "modeldata":
            t = rda.frame(rda.lazy(PACKAGES + "/r-cran-modeldata/usr/lib/R/site-library/modeldata/data/Rdata", name))
        elif pkg == "rpart":
            t = rda.frame(rda.lazy(PACKAGES + "/r-cran-rpart/usr/lib/R/library/rpart/data/Rdata", name))
        else:
            base = PACKAGES + ("/r-cran-mass/usr/lib/R/library/MASS" if pkg == "MASS" else "/r-cran-cardata/usr/lib/R/site-library/carData") + "/data/Rdata"
            t = rda.frame(rda.lazy(base, name))
        return {k: v for k, v in t.items() if k not in drop}, target
    return f
def sm(path, target, drop=()):
    def f():
        rows = list(csv.reader(open(PACKAGES + "/python3-statsmodels/usr/lib/python3/dist-packages/statsmodels/datasets/" + path)))
        t = {h: [] for h in rows[0]}
        for row in rows[1:]:
            for h, v in zip(rows[0], row):
                try: t[h].append(float(v))
                except ValueError: t[h].append(v or None)
        return {k: v for k, v in t.items() if k not in drop and k}, target
    return f
def vega(path, target, drop=()):
    def f():
        if path.endswith(".csv"):
            rows = list(csv.DictReader(open(VEGA + "/" + path)))
        else: rows = json.load(open(VEGA + "/" + path))
        t = {}
        for k in rows[0]:
            col = []
            for q in rows:
                v = q.get(k)
                if isinstance(v, str):
                    try: v = float(v)
                    except ValueError: pass
                if v == "" : v = None
                col.append(v)
            if any(isinstance(v, str) for v in col): col = [None if v is None else str(v) for v in col]
            t[k] = col
        return {k: v for k, v in t.items() if k not in drop}, target
    return f

TABLES = {
 "iris": skl(sk.load_iris, 1), "wine": skl(sk.load_wine, 1), "breast_cancer": skl(sk.load_breast_cancer, 1),
 "diabetes": skl(sk.load_diabetes, 0), "digits": skl(sk.load_digits, 1), "linnerud": linnerud,
 "BostonHousing": r("mlbench", "BostonHousing", "medv"), "Glass": r("mlbench", "Glass", "Type"), "HouseVotes84": r("mlbench", "HouseVotes84", "Class"),
 "Ionosphere": r("mlbench", "Ionosphere", "Class"), "LetterRecognition": r("mlbench", "LetterRecognition", "lettr"),
 "Ozone": r("mlbench", "Ozone", "V4"), "Pima": r("mlbench", "PimaIndiansDiabetes2", "diabetes"), "Satellite": r("mlbench", "Satellite", "classes"),
 "Servo": r("mlbench", "Servo", "Class"), "Sonar": r("mlbench", "Sonar", "Class"), "Soybean": r("mlbench", "Soybean", "Class"),
 "Vehicle": r("mlbench", "Vehicle", "Class"), "Vowel": r("mlbench", "Vowel", "Class"), "Zoo": r("mlbench", "Zoo", "type"), "DNA": r("mlbench", "DNA", "Class"),
 "CPS1985": r("AER", "CPS1985", "wage"), "CASchools": r("AER", "CASchools", "math", ("district", "school", "read")), "CollegeDistance": r("AER", "CollegeDistance", "score"),
 "CreditCard": r("AER", "CreditCard", "card"), "HMDA": r("AER", "HMDA", "deny"), "HousePrices": r("AER", "HousePrices", "price"), "SwissLabor": r("AER", "SwissLabor", "participation"),
 "GSOEP9402": r("AER", "GSOEP9402", "school"), "Guns": r("AER", "Guns", "violent", ("state",)), "PSID1982": r("AER", "PSID1982", "wage"), "Electricity1970": r("AER", "Electricity1970", "cost"),
 "HealthInsurance": r("AER", "HealthInsurance", "insurance"), "BankWages": r("AER", "BankWages", "job"), "Journals": r("AER", "Journals", "subs", ("title",)), "OECDGas": r("AER", "OECDGas", "gas"), "USAirlines": r("AER", "USAirlines", "cost"),
 "MASchools": r("AER", "MASchools", "score4", ("district", "municipality")),
 "Cars93": r("MASS", "Cars93", "Price", ("Make", "Model", "Min.Price", "Max.Price")), "birthwt": r("MASS", "birthwt", "bwt", ("low",)), "crabs": r("MASS", "crabs", "sp", ("index",)), "cpus": r("MASS", "cpus", "perf", ("name", "estperf")), "survey": r("MASS", "survey", "Sex"), "GAGurine": r("MASS", "GAGurine", "GAG"), "nlschools": r("MASS", "nlschools", "lang", ("class",)), "synth": r("MASS", "synth.tr", "yc"), "gilgais": r("MASS", "gilgais", "c80"),
 "BEPS": r("carData", "BEPS", "vote"), "Chile": r("carData", "Chile", "vote"), "Mroz": r("carData", "Mroz", "lfp"), "Prestige": r("carData", "Prestige", "prestige", ("census",)), "Salaries": r("carData", "Salaries", "salary"), "TitanicSurvival": r("carData", "TitanicSurvival", "survived"), "SLID": r("carData", "SLID", "wages"), "UN": r("carData", "UN", "infantMortality"), "Wells": r("carData", "Wells", "switch"), "Leinhardt": r("carData", "Leinhardt", "infant"), "Ornstein": r("carData", "Ornstein", "interlocks"),
 "attrition": r("modeldata", "attrition", "Attrition"), "credit_data": r("modeldata", "credit_data", "Status"), "concrete": r("modeldata", "concrete", "compressive_strength"), "Sacramento": r("modeldata", "Sacramento", "price"), "scat": r("modeldata", "scat", "Species"), "solder": r("rpart", "solder", "skips"),
 "fair": sm("fair/fair.csv", "affairs"), "anes96": sm("anes96/anes96.csv", "vote"), "star98": sm("star98/star98.csv", "NABOVE", ("NBELOW",)), "heart": sm("heart/heart.csv", "survival"), "engel": sm("engel/engel.csv", "foodexp"), "strikes": sm("strikes/strikes.csv", "duration"), "ccard": sm("ccard/ccard.csv", "AVGEXP"), "modechoice": sm("modechoice/modechoice.csv", "choice", ("individual",)), "statecrime": sm("statecrime/statecrime.csv", "murder", ("state",)),
 "cars": vega("cars.json", "Miles_per_Gallon", ("Name",)), "movies": vega("movies.json", "IMDB Rating", ("Title", "Director")), "penguins": vega("penguins.json", "Species"), "seattle-weather": vega("seattle-weather.csv", "weather"), "seattle-temp": vega("seattle-weather.csv", "temp_max"),
 "weather": vega("weather.csv", "weather"), "birdstrikes": vega("birdstrikes.csv", "Cost Total $"),
}

def load(name):
    t, target = TABLES[name]()
    keep = [i for i, v in enumerate(t[target]) if v is not None]
    t = {k: [v[i] for i in keep] for k, v in t.items()}
    y = t.pop(target)
    classes = any(isinstance(v, str) for v in y) or name in ("synth",) or (name in ("anes96", "modechoice"))
    y = np.array([str(int(v)) if isinstance(v, float) else str(v) for v in y] if classes else [float(v) for v in y])
    return t, y, classes

def pre(x, rows):
    texts = [i for i, c in enumerate(x.values()) if any(isinstance(v, str) for v in c)]
    numbers = [i for i in range(len(x)) if i not in texts]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (make_pipeline(SimpleImputer(strategy="constant", fill_value=""), OneHotEncoder(handle_unknown="ignore")), texts))

def matrix(x):
    cols = []
    for c in x.values():
        if any(isinstance(v, str) for v in c): cols.append(np.array([v or "" for v in c], dtype=object))
        else: cols.append(np.array([np.nan if v is None else float(v) for v in c], dtype=object))
    return np.column_stack(cols).astype(object)

def peers(x, y, classes, fit, test, seed):
    a = matrix(x)
    m, s = (0, 1) if classes else (y[fit].mean(), y[fit].std())
    t = y if classes else (y - m) / s
    out = []
    for last in ((LogisticRegression(max_iter=2000), MLPClassifier((100,), random_state=seed), SVC()) if classes else (Ridge(), MLPRegressor((100,), random_state=seed), SVR())):
        got = make_pipeline(pre(x, fit), last).fit(a[fit], t[fit]).predict(a[test])
        out.append((accuracy_score if classes else r2_score)(t[test], got))
    return out

def write(path, x, y, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f); w.writerow([*x] + (["target_"] if y is not None else []))
        for i in rows: w.writerow(["" if c[i] is None else c[i] for c in x.values()] + ([y[i]] if y is not None else []))

def graft(binary, x, y, classes, fit, test, seed):
    with tempfile.TemporaryDirectory() as d:
        write(d + "/fit.csv", x, y, fit); write(d + "/test.csv", x, None, test)
        def run(*a):
            p = subprocess.run([binary, *a], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=d, text=True)
            if p.returncode: raise SystemExit(f"{a}: {p.stderr}")
            return p.stdout
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run("train", "--new", "tabular", "--data", "fit.csv", "-o", "m.onnx", "--seed", str(seed))
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        got = list(csv.DictReader(io.StringIO(run("predict", "m.onnx", "test.csv", "--csv"))))
    task = "classes" if "label" in got[0] else "regression"
    if task != ("classes" if classes else "regression"): raise SystemExit(f"the target is taken for {task}")
    if classes: s = accuracy_score(y[test], [q["label"] for q in got])
    else: s = r2_score(y[test], [float(q["value"]) for q in got])
    return s, spent

def main():
    global PACKAGES, VEGA
    p = argparse.ArgumentParser()
    p.add_argument("graft")
    p.add_argument("--packages", default=".")
    p.add_argument("--vega", default=".")
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--only", default=",".join(TABLES))
    a = p.parse_args()
    PACKAGES, VEGA = a.packages, a.vega
    print("| table | rows | | linear | MLP | SVM | graft | to the best | s |\n|---|---|---|---|---|---|---|---|---|")
    for name in a.only.split(","):
        x, y, classes = load(name)
        rows = []
        for seed in range(a.seeds):
            order = np.random.default_rng(seed).permutation(len(y))[:8000]
            test, fit = order[:len(order) // 4], order[len(order) // 4:]
            score, spent = graft(os.path.abspath(a.graft), x, y, classes, fit, test, seed)
            rows.append([*peers(x, y, classes, fit, test, seed), score, spent])
        m = np.mean(rows, 0)
        print(f"| {name} | {len(y)} | {'accuracy' if classes else 'r2'} | " + " | ".join(f"{v:.3f}" for v in m[:4]) + f" | {100 * (m[3] / max(m[:3]) - 1):+.1f} % | {m[4]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
