"""The domain ai.onnx.ml."""
from golden import *

ML = dict(domain="ai.onnx.ml")
NUMBERS = ["float64", "int64", "int32"]


def ml(op, *ins, version=1, **kw):
    case(op, *ins, opset=version, **ML, **kw)


def run():
    x = some(3, 4)
    s = lambda *v: Tensor(np.array(v, object), "string")
    ml("Binarizer", x, threshold=0.4, types=["float64"])
    ml("Binarizer", x, threshold=1.0, types=["int64", "int32"], only=True, via=None, ref=lambda x, threshold: Tensor((x > threshold).astype(x.dtype)))
    ml("Binarizer", x)
    for t in NUMBERS + ["float32"]:
        w = convert(x, t) if t != "float32" else x
        ml("Scaler", w, offset=[0.5, -1.0, 2.0, 0.25], scale=[2.0, 0.5, 1.5, -1.0])
        ml("Scaler", w, offset=[0.5], scale=[2.0])
        for norm in ["MAX", "L1", "L2"]:
            ml("Normalizer", w, norm=norm, ref=normal)
        ml("LinearRegressor", w, coefficients=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9], intercepts=[0.1, -0.7], targets=2, ref=regress)
        ml("LinearClassifier", w, out=2, coefficients=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9, 0.2, -0.3, 0.6, -0.8], intercepts=[0.1, -0.7, 0.4], classlabels_ints=[7, 3, 5])
        ml("SVMRegressor", w, kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], n_supports=2, coefficients=[0.7, -1.3], support_vectors=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9], rho=[0.2])if t == "float32" else ml("SVMRegressor", w, kernel_type="RBF", kernel_params=[0.01, 0.0, 3.0], n_supports=2, coefficients=[0.7, -1.3], support_vectors=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9], rho=[0.2], via=lambda x: ("SVMRegressor", [Tensor(x.data, "float32")], dict(kernel_type="RBF", kernel_params=[0.01, 0.0, 3.0], n_supports=2, coefficients=[0.7, -1.3], support_vectors=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9], rho=[0.2]), 1))
    transforms(x)
    ml("Imputer", tensor([[1, 0, 3], [0, 5, 0]], "float32"), imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=0.0)
    ml("Imputer", tensor([[1, 4, 3], [2, 5, 4]], "float32"), imputed_value_floats=[7.5], replaced_value_float=4.0)
    ml("Imputer", tensor([[1, 4, 3], [2, 5, 4]], "float64"), imputed_value_floats=[7.5], replaced_value_float=4.0, ref=lambda x, **k: Tensor(np.where(x == 4, 7.5, x), "float64"))
    for t in ["int64", "int32"]:
        ml("Imputer", tensor([[1, 4, 3], [2, 5, 4]], t), imputed_value_int64s=[7], replaced_value_int64=4, ref=lambda x, **k: Tensor(np.where(x == 4, 7, x).astype(x.dtype)))
        ml("Imputer", tensor([[1, 4, 3], [2, 5, 4]], t), imputed_value_int64s=[7, 8, 9], ref=lambda x, **k: Tensor(x))
    ml("FeatureVectorizer", some(2, 3), some(2, 1, seed=2), inputdimensions=[3, 1])
    ml("FeatureVectorizer", tensor([[1, 2]], "int64"), tensor([[3]], "int64"), inputdimensions=[2, 1])
    ml("OneHotEncoder", ints(2, 9, 4), cats_int64s=[4, 2, 7])
    ml("OneHotEncoder", ints(2, 7, 4), cats_int64s=[4, 2, 7], zeros=0)
    ml("OneHotEncoder", tensor([[2.0, 4.0]], "float32"), cats_int64s=[4, 2, 7])
    ml("OneHotEncoder", s("a", "c", "b"), cats_strings=["b", "a"])
    ml("CategoryMapper", s("a", "b", "c"), cats_int64s=[1, 2], cats_strings=["a", "b"], default_int64=-3)
    ml("CategoryMapper", ints(2, 1, 9), cats_int64s=[1, 2], cats_strings=["a", "b"], default_string="?")
    labels(s)
    machines(x)
    trees()
    maps()


def normal(x, norm):
    d = {"MAX": x.max(1), "L1": np.abs(x).sum(1), "L2": np.sqrt((x.astype(float) ** 2).sum(1))}[norm]
    return Tensor((x / d[:, None]).astype(np.float32))


def regress(x, coefficients, intercepts, targets):
    return Tensor((x @ np.array(coefficients).reshape(targets, -1).T + intercepts).astype(np.float32))


def transforms(x):
    for post in ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]:
        ml("LinearClassifier", x, out=2, coefficients=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9, 0.2, -0.3, 0.6, -0.8], intercepts=[0.1, -0.7, 0.4], classlabels_strings=["a", "b", "c"], post_transform=post, multi_class=1)
        ml("LinearClassifier", x, out=2, coefficients=[0.5, -1.0, 2.0, 0.25], intercepts=[0.1], classlabels_ints=[4, 9], post_transform=post)
        ml("LinearRegressor", x, coefficients=[0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9], targets=2, post_transform=post)


def labels(s):
    ml("LabelEncoder", s("a", "b", "c"), version=2, keys_strings=["a", "b"], values_int64s=[5, 6], default_int64=7)
    ml("LabelEncoder", ints(5, 6, 9), version=2, keys_int64s=[5, 6], values_strings=["x", "y"], default_string="none")
    ml("LabelEncoder", tensor([1.5, 2.5, 3.5], "float32"), version=2, keys_floats=[1.5, 2.5], values_floats=[3.25, 4.0], default_float=9.5)
    ml("LabelEncoder", ints(5, 6, 9), version=2, keys_int64s=[5, 6], values_floats=[0.5, 1.5])
    ml("LabelEncoder", s("a", "z"), version=2, keys_strings=["a"], values_strings=["q"])
    ml("LabelEncoder", s("b", "z", "a"), version=1, classes_strings=["a", "b"], default_int64=-4, ref=lambda x, **k: ints(1, -4, 0))
    ml("LabelEncoder", ints(1, 7, 0), version=1, classes_strings=["a", "b"], default_string="?", ref=lambda x, **k: s("b", "?", "a"))
    for t in ["int64", "float32", "float64"]:
        ml("LabelEncoder", tensor([3, 1, 8], t), version=4, keys_tensor=tensor([1, 3], t), values_tensor=tensor([10, 30], t), default_tensor=tensor([-1], t))
    ml("LabelEncoder", s("a", "z"), version=4, keys_tensor=s("a", "b"), values_tensor=tensor([10, 30], "int64"), default_tensor=tensor([-1], "int64"))


def machines(x):
    vectors = [0.5, -1.0, 2.0, 0.25, 1.0, 0.3, -0.4, 0.9, -0.7, 0.2, 0.1, -1.5]
    for kind in ["LINEAR", "POLY", "RBF", "SIGMOID"]:
        ml("SVMRegressor", x, kernel_type=kind, kernel_params=[0.4, 0.7, 2.0], n_supports=3, coefficients=[0.7, -1.3, 0.4], support_vectors=vectors, rho=[0.2])
        ml("SVMClassifier", x, out=2, kernel_type=kind, kernel_params=[0.4, 0.7, 2.0], coefficients=[0.7, -1.3, 0.4], support_vectors=vectors, rho=[0.2], vectors_per_class=[1, 2], classlabels_ints=[3, 8])
    ml("SVMRegressor", x, kernel_type="LINEAR", coefficients=[0.5, -1.0, 2.0, 0.25], rho=[0.3], ref=lambda x, **k: (x @ [0.5, -1.0, 2.0, 0.25])[:, None] + 0.3)
    ml("SVMRegressor", x, kernel_type="LINEAR", coefficients=[0.5, -1.0, 2.0, 0.25], rho=[0.3], post_transform="LOGISTIC", ref=lambda x, **k: 1 / (1 + np.exp(-((x @ [0.5, -1.0, 2.0, 0.25])[:, None] + 0.3))))
    ml("SVMRegressor", x, kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], n_supports=3, coefficients=[0.7, -1.3, 0.4], support_vectors=vectors, rho=[0.2], one_class=1)
    three = dict(kernel_type="RBF", kernel_params=[0.4, 0.0, 3.0], coefficients=[0.7, -1.3, 0.4, 0.2, 0.9, -0.6], support_vectors=vectors, rho=[0.2, -0.1, 0.3], vectors_per_class=[1, 1, 1])
    ml("SVMClassifier", x, out=2, classlabels_strings=["a", "b", "c"], **three)
    ml("SVMClassifier", x, out=2, classlabels_ints=[4, 6, 9], prob_a=[-1.2, -0.8, -0.5], prob_b=[0.1, -0.2, 0.3], **three)
    ml("SVMClassifier", x, out=2, classlabels_ints=[4, 6, 9], post_transform="SOFTMAX", **three)
    for t in NUMBERS:
        ml("SVMClassifier", convert(x, t), out=2, classlabels_ints=[4, 6, 9], **{**three, "kernel_params": [0.02, 0.0, 3.0]})


def trees():
    x = tensor([[0.1, 2], [1.5, -1], [3, 0.5], [np.nan, 1]], "float32")
    nodes = dict(nodes_treeids=[0, 0, 0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2], nodes_featureids=[0, 1, 0, 0, 0, 1, 0, 0], nodes_values=[1.0, 0.75, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
                 nodes_truenodeids=[1, 3, 0, 0, 0, 1, 0, 0], nodes_falsenodeids=[2, 4, 0, 0, 0, 2, 0, 0])
    leaf = "LEAF"
    for mode in ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]:
        ml("TreeEnsembleRegressor", x, n_targets=2, nodes_modes=[mode, mode, leaf, leaf, leaf, mode, leaf, leaf], target_treeids=[0, 0, 0, 1, 1], target_nodeids=[2, 3, 4, 1, 2], target_ids=[0, 1, 0, 1, 1], target_weights=[1.5, -2.0, 3.0, 0.25, 0.5], **nodes)
    modes = ["BRANCH_LEQ", "BRANCH_LT", leaf, leaf, leaf, "BRANCH_GT", leaf, leaf]
    targets = dict(n_targets=2, nodes_modes=modes, target_treeids=[0, 0, 0, 1, 1], target_nodeids=[2, 3, 4, 1, 2], target_ids=[0, 1, 0, 1, 1])
    weights = [1.5, -2.0, 3.0, 0.25, 0.5]
    for how in ["SUM", "AVERAGE", "MIN", "MAX"]:
        ml("TreeEnsembleRegressor", x, aggregate_function=how, base_values=[0.5, -1.0], target_weights=weights, **targets, **nodes)
    for post in ["SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]:
        ml("TreeEnsembleRegressor", x, post_transform=post, target_weights=weights, **targets, **nodes)
    ml("TreeEnsembleRegressor", x, nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0, 0, 0], nodes_hitrates=[1.0] * 8, target_weights=weights, **targets, **nodes)
    for t in NUMBERS:
        plain = lambda x: ("TreeEnsembleRegressor", [Tensor(x.data, "float32")], dict(target_weights=weights, **targets, **nodes), 1)
        ml("TreeEnsembleRegressor", tensor([[0, 2], [1, -1], [3, 1]], t), via=plain, target_weights=weights, **targets, **nodes)
    double = lambda *v: tensor(list(v), "float64")
    wide = {k: v for k, v in nodes.items() if k != "nodes_values"}
    ml("TreeEnsembleRegressor", tensor([[0.1, 2], [1.5, -1]], "float64"), version=3, nodes_values_as_tensor=double(*nodes["nodes_values"]), target_weights_as_tensor=double(*weights), base_values_as_tensor=double(0.5, -1), nodes_hitrates_as_tensor=double(*[1.0] * 8), **targets, **wide)
    classes = dict(nodes_modes=modes, class_treeids=[0, 0, 0, 1, 1], class_nodeids=[2, 3, 4, 1, 2], class_ids=[0, 1, 2, 1, 0])
    votes = [0.9, 0.4, 0.7, 0.3, 0.6]
    for post in ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]:
        ml("TreeEnsembleClassifier", x, out=2, classlabels_int64s=[5, 2, 8], post_transform=post, class_weights=votes, **classes, **nodes)
    ml("TreeEnsembleClassifier", x, out=2, classlabels_strings=["a", "b", "c"], base_values=[0.1, 0.2, -0.3], class_weights=votes, **classes, **nodes)
    ml("TreeEnsembleClassifier", x, out=2, classlabels_int64s=[5, 2, 8], nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 0, 0, 0], nodes_hitrates=[1.0] * 8, class_weights=votes, **classes, **nodes)
    two = {**classes, "class_ids": [0, 0, 0, 0, 0]}
    for post in ["NONE", "LOGISTIC"]:
        ml("TreeEnsembleClassifier", x, out=2, classlabels_int64s=[5, 2], post_transform=post, class_weights=votes, **two, **nodes)
        ml("TreeEnsembleClassifier", x, out=2, classlabels_int64s=[5, 2], post_transform=post, class_weights=[-0.9, 0.4, 0.7, -0.3, 0.6], **two, **nodes)
        # ONNX Runtime gives 1 rather than a label here: only the scores are compared.
        ml("TreeEnsembleClassifier", x, out=[False, True], classlabels_int64s=[5, 2], post_transform=post, class_weights=votes, **{**classes, "class_ids": [0, 0, 0, 1, 1]}, **nodes)
    for t in NUMBERS:
        ml("TreeEnsembleClassifier", tensor([[0, 2], [1, -1], [3, 1]], t), out=2, classlabels_int64s=[5, 2, 8], class_weights=votes, **classes, **nodes)
    ml("TreeEnsembleClassifier", tensor([[0.1, 2], [1.5, -1]], "float64"), out=2, version=3, classlabels_int64s=[5, 2, 8], nodes_values_as_tensor=double(*nodes["nodes_values"]), class_weights_as_tensor=double(*votes), base_values_as_tensor=double(0.5, -1, 0.2), nodes_hitrates_as_tensor=double(*[1.0] * 8), **classes, **wide)
    forests(double)


def forests(double):
    """TreeEnsemble: two trees, the second of one leaf's choice; the first asks for membership."""
    def attrs(t, how=1, post=0):
        f = lambda *v: tensor(list(v), t)
        return dict(n_targets=2, aggregate_function=how, post_transform=post, tree_roots=[0, 2], nodes_featureids=[0, 1, 1], nodes_modes=tensor([0, 3, 6], "uint8"), nodes_splits=f(1.0, 0.75, 0.0), membership_values=f(2.0, -1.0, np.nan),
                    nodes_truenodeids=[1, 0, 3], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[1, 2, 4], nodes_falseleafs=[1, 1, 1], nodes_missing_value_tracks_true=[1, 0, 0], nodes_hitrates=f(1.0, 1.0, 1.0), leaf_targetids=[0, 1, 0, 1, 1], leaf_weights=f(1.5, -2.0, 3.0, 0.25, 0.5))
    x = [[0.1, 2], [1.5, -1], [3, 0.5], [np.nan, 2]]

    def grow(x, n_targets, aggregate_function, post_transform, **_):
        y = np.zeros((len(x), n_targets))
        for i, (a, b) in enumerate(np.asarray(x, float)):
            leaf = (0 if b > 0.75 else 2) if (a <= 1 or np.isnan(a)) else 1
            votes = [[(0, 1.5)], [(1, -2.0)], [(0, 3.0)], [(1, 0.25)], [(1, 0.5)]]
            given = votes[leaf] + votes[3 if b in (2.0, -1.0) else 4]
            for t in range(n_targets):
                w = [v for k, v in given if k == t]
                y[i, t] = {0: lambda: sum(w) / 2, 1: lambda: sum(w), 2: lambda: min(w) if w else 0, 3: lambda: max(w) if w else 0}[aggregate_function]()
        if post_transform == 2:
            y = 1 / (1 + np.exp(-y))
        if post_transform == 1:
            e = np.exp(y - y.max(1, keepdims=True))
            y = e / e.sum(1, keepdims=True)
        return y
    for how in range(4):
        ml("TreeEnsemble", tensor(x, "float32"), version=5, attrs=attrs("float32", how), ref=grow)
    for post in [1, 2]:
        ml("TreeEnsemble", tensor(x, "float32"), version=5, attrs=attrs("float32", 1, post), ref=grow)
    for t in ["float64", "float16", "bfloat16"]:
        ml("TreeEnsemble", tensor(x, t), version=5, attrs=attrs(t), ref=lambda x, t=t, **k: Tensor(grow(x, **k), t))


def maps():
    numbers, names = ints(2, 0, 5), Tensor(np.array(["b", "a", "x"], object), "string")
    values = tensor([1.5, -2.5, 3.0], "float32")
    m = lambda k, v: {"keys": k, "values": v}
    for to, w in [("TO_FLOAT", tensor([[-2.5, 1.5, 3.0]], "float32")), ("TO_INT64", tensor([[-2, 1, 3]], "int64")), ("TO_STRING", None)]:
        if w is not None:
            ml("CastMap", m(numbers, values), cast_to=to, ref=lambda *v, **k: w)
    ml("CastMap", m(numbers, values), map_form="SPARSE", max_map=7, ref=lambda *v, **k: tensor([[-2.5, 0, 1.5, 0, 0, 3, 0]], "float32"))
    ml("CastMap", m(numbers, names), cast_to="TO_STRING", ref=lambda *v, **k: Tensor(np.array([["a", "b", "x"]], object)))
    ml("DictVectorizer", m(numbers, values), int64_vocabulary=[5, 2, 9, 0], ref=lambda *v, **k: tensor([[3, 1.5, 0, -2.5]], "float32"))
    ml("DictVectorizer", m(names, ints(4, 5, 6)), string_vocabulary=["x", "y", "a"], ref=lambda *v, **k: tensor([[6, 0, 5]], "int64"))
    ml("ZipMap", tensor([[0.2, 0.8], [0.7, 0.3]], "float32"), classlabels_int64s=[3, 7], ref=lambda *v, **k: [m(ints(3, 7), tensor([0.2, 0.8], "float32")), m(ints(3, 7), tensor([0.7, 0.3], "float32"))])
    ml("ZipMap", tensor([[0.2, 0.8]], "float32"), classlabels_strings=["p", "q"], ref=lambda *v, **k: [m(Tensor(np.array(["p", "q"], object)), tensor([0.2, 0.8], "float32"))])
