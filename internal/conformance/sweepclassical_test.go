package conformance_test

import (
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
)

// classicalSweeps: classical machine learning.
var classicalSweeps = map[string]func(r *draw) trial{
	"Binarizer": func(r *draw) trial {
		return classical("Binarizer", map[string]any{"threshold": 0.5}, r.floats(r.shape(2, 1, 4)...))
	},
	"Normalizer": func(r *draw) trial {
		return classical("Normalizer", map[string]any{"norm": pick(r, "MAX", "L1", "L2")}, r.floats(r.shape(2, 1, 4)...))
	},
	"Scaler":            scaler,
	"LinearRegressor":   linearRegressor,
	"LinearClassifier":  linearClassifier,
	"FeatureVectorizer": featureVectorizer,
	"OneHotEncoder":     oneHotEncoder,
	"ArrayFeatureExtractor": func(r *draw) trial {
		n := r.between(1, 4)
		return classical("ArrayFeatureExtractor", nil, r.floats(r.between(1, 3), n), r.numbers(dtype.Int64, 0, n-1, 1, r.between(1, 3)))
	},
	"Imputer": func(r *draw) trial {
		n := r.between(1, 4)
		return classical("Imputer", map[string]any{"imputed_value_floats": make([]float32, n), "replaced_value_float": 2.0}, r.numbers(dtype.Float32, 0, 3, 2, n))
	},
	"LabelEncoder":           labelEncoder,
	"CategoryMapper":         categoryMapper,
	"TreeEnsembleRegressor":  treeRegressor,
	"TreeEnsembleClassifier": treeClassifier,
	"TreeEnsemble":           treeEnsemble,
}

func classical(name string, attrs map[string]any, in ...dtype.Value) trial {
	return trial{domain: "ai.onnx.ml", op: name, opset: 1, attrs: attrs, in: fed(in...)}
}

// floats32 is what an attribute with n floats takes.
func (r *draw) floats32(n int) []float32 { return r.floats(n).Data().([]float32) }

func scaler(r *draw) trial {
	n := r.between(1, 4)
	return classical("Scaler", map[string]any{"offset": r.floats32(n), "scale": r.floats32(n)}, pick(r, r.floats(3, n), r.numbers(dtype.Int64, -3, 3, 2, n)))
}

func linearRegressor(r *draw) trial {
	n, targets := r.between(1, 4), r.between(2, 3) // a single target is not transformed by ONNX Runtime
	attrs := map[string]any{"coefficients": r.floats32(n * targets), "targets": targets, "post_transform": pick(r, "NONE", "SOFTMAX", "LOGISTIC")}
	if r.flag() {
		attrs["intercepts"] = r.floats32(targets)
	}
	return classical("LinearRegressor", attrs, r.floats(r.between(1, 3), n))
}

func linearClassifier(r *draw) trial {
	n, classes := r.between(1, 4), r.between(2, 4)
	rows := classes
	if classes == 2 && r.flag() {
		rows = 1
	}
	attrs := map[string]any{"coefficients": r.floats32(n * rows), "intercepts": r.floats32(rows), "post_transform": pick(r, "NONE", "SOFTMAX", "LOGISTIC")}
	labels := []int{4, 9, 2, 7}[:classes]
	attrs["classlabels_ints"] = labels
	if r.flag() {
		delete(attrs, "classlabels_ints")
		attrs["classlabels_strings"] = []string{"a", "b", "c", "d"}[:classes]
	}
	c := classical("LinearClassifier", attrs, r.floats(r.between(1, 3), n))
	c.out = 2
	return c
}

func featureVectorizer(r *draw) trial {
	rows, a, b := r.between(1, 3), r.between(1, 3), r.between(1, 3)
	return classical("FeatureVectorizer", map[string]any{"inputdimensions": []int{a, b}}, r.floats(rows, a), r.floats(rows, b))
}

func oneHotEncoder(r *draw) trial {
	attrs := map[string]any{"zeros": 1}
	if r.flag() {
		attrs["cats_strings"] = []string{"a", "", "cde"}
		return classical("OneHotEncoder", attrs, r.words(r.shape(r.between(1, 2), 1, 3)...))
	}
	attrs["cats_int64s"] = []int{3, 1, 2}
	return classical("OneHotEncoder", attrs, r.numbers(dtype.Int64, 0, 4, r.shape(r.between(1, 2), 1, 3)...))
}

// labelEncoder maps words or numbers to words or numbers, in the forms of operator sets 1 and 2.
func labelEncoder(r *draw) trial {
	shape := r.maybeEmpty(r.between(1, 3), 1, 4)
	words, numbers := []string{"a", "b", "", "cde"}, []int{3, -1, 0, 7}
	if r.rarely(3) {
		attrs := map[string]any{"classes_strings": words, "default_string": "none", "default_int64": 9}
		return classical("LabelEncoder", attrs, pick(r, r.words(shape...), r.numbers(dtype.Int64, -1, 5, shape...)))
	}
	attrs := map[string]any{}
	list := func(what, kind string) {
		switch kind {
		case "strings":
			attrs[what+kind] = words
		case "int64s":
			attrs[what+kind] = numbers
		case "floats":
			attrs[what+kind] = []float32{2, -1, 0.5, 0}
		}
	}
	from, to := pick(r, "strings", "int64s", "floats"), pick(r, "strings", "int64s", "floats")
	list("keys_", from)
	list("values_", to)
	if r.flag() {
		switch to {
		case "strings":
			attrs["default_string"] = "none"
		case "int64s":
			attrs["default_int64"] = 9
		case "floats":
			attrs["default_float"] = 9.5
		}
	}
	x := r.words(shape...)
	switch from {
	case "int64s":
		x = r.numbers(dtype.Int64, -2, 8, shape...)
	case "floats":
		x = r.numbers(dtype.Float32, -2, 3, shape...)
	}
	c := classical("LabelEncoder", attrs, x)
	c.opset = 2
	return c
}

func categoryMapper(r *draw) trial {
	shape := r.maybeEmpty(r.between(1, 3), 1, 4)
	attrs := map[string]any{"cats_strings": []string{"a", "", "cde"}, "cats_int64s": []int{3, 1, 2}, "default_string": "none", "default_int64": 9}
	return classical("CategoryMapper", attrs, pick(r, r.words(shape...), r.numbers(dtype.Int64, 0, 4, shape...)))
}

// forest is random trees over features, in the attributes of the tree ensembles before operator set 5.
type forest struct {
	attrs  map[string]any
	leaves [][2]int // tree and node
}

func newForest(r *draw, features int) *forest {
	f := &forest{attrs: map[string]any{}}
	var trees, ids, feature, yes, no, missing []int
	var modes []string
	var values []float32
	all := []string{pick(r, "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")}
	if r.rarely(3) {
		all = []string{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}
	}
	tracks := r.flag()
	for tree := range r.between(1, 5) {
		free := r.Perm(64) // nodes need not be in order, but ONNX Runtime refuses some orders
		if !r.rarely(8) {
			slices.Sort(free)
		}
		var grow func(depth int) int
		grow = func(depth int) int {
			at, id := len(ids), free[0]
			free = free[1:]
			trees, ids, feature = append(trees, tree), append(ids, id), append(feature, 0)
			yes, no, missing = append(yes, 0), append(no, 0), append(missing, 0)
			modes, values = append(modes, "LEAF"), append(values, 0)
			if depth == 0 || r.rarely(4) {
				f.leaves = append(f.leaves, [2]int{tree, id})
				return id
			}
			modes[at], feature[at], values[at] = pick(r, all...), r.IntN(features), float32(r.between(-6, 6))/2
			if tracks {
				missing[at] = r.IntN(2)
			}
			t, f := grow(depth-1), grow(depth-1)
			yes[at], no[at] = t, f
			return id
		}
		grow(r.between(0, 4))
	}
	f.attrs["nodes_treeids"], f.attrs["nodes_nodeids"], f.attrs["nodes_featureids"], f.attrs["nodes_modes"] = trees, ids, feature, modes
	f.attrs["nodes_values"], f.attrs["nodes_truenodeids"], f.attrs["nodes_falsenodeids"] = values, yes, no
	if tracks {
		f.attrs["nodes_missing_value_tracks_true"] = missing
	}
	return f
}

// weigh gives each leaf weights for some of n targets, or for all.
func (f *forest) weigh(r *draw, prefix string, n int, all bool) {
	var trees, nodes, ids []int
	for _, leaf := range f.leaves {
		count := n
		if !all {
			count = r.between(1, n)
		}
		for _, k := range r.Perm(n)[:count] {
			trees, nodes, ids = append(trees, leaf[0]), append(nodes, leaf[1]), append(ids, k)
		}
	}
	f.attrs[prefix+"_treeids"], f.attrs[prefix+"_nodeids"], f.attrs[prefix+"_ids"] = trees, nodes, ids
	f.attrs[prefix+"_weights"] = r.floats32(len(ids))
}

// treeRegressor has several targets: ONNX Runtime does not transform a single one.
func treeRegressor(r *draw) trial {
	n, targets := r.between(1, 4), r.between(1, 4)
	x := r.floats(r.between(1, 40), n)
	r.special = false // in attributes
	f := newForest(r, n)
	f.attrs["post_transform"] = "NONE"
	if targets > 1 {
		f.attrs["post_transform"] = pick(r, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
	}
	base := r.flag()
	f.weigh(r, "target", targets, base || f.attrs["post_transform"] == "SOFTMAX_ZERO") // ONNX Runtime adds nothing to a target without a score
	f.attrs["n_targets"] = targets
	f.attrs["aggregate_function"] = pick(r, "SUM", "AVERAGE", "MIN", "MAX")
	if base {
		f.attrs["base_values"] = r.floats32(targets)
	}
	return classical("TreeEnsembleRegressor", f.attrs, x)
}

// treeClassifier has votes for one of two classes, or for all of several: ONNX Runtime takes the sign of the second score for the
// class if there are votes for both, and no class without a vote.
func treeClassifier(r *draw) trial {
	n, classes := r.between(1, 4), r.between(2, 4)
	x := r.floats(r.between(1, 40), n)
	r.special = false // in attributes
	f := newForest(r, n)
	columns := classes
	if classes == 2 {
		columns = 1
	}
	f.weigh(r, "class", columns, true)
	f.attrs["post_transform"] = pick(r, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
	if r.flag() {
		f.attrs["base_values"] = r.floats32(columns)
	}
	if r.flag() {
		f.attrs["classlabels_int64s"] = []int{4, 9, 2, 7}[:classes]
	} else {
		f.attrs["classlabels_strings"] = []string{"a", "b", "c", "d"}[:classes]
	}
	c := classical("TreeEnsembleClassifier", f.attrs, x)
	c.out = 2
	return c
}

// treeEnsemble is the form since operator set 5: leaves are apart from nodes, and each has one target. ONNX Runtime takes the transforms
// for others than ONNX does, and features and members of sets for integers.
func treeEnsemble(r *draw) trial {
	n, targets := r.between(1, 4), r.between(1, 4)
	x := r.floats(r.between(1, 40), n)
	member := r.rarely(3)
	if member {
		x = r.numbers(dtype.Float32, -3, 3, r.between(1, 40), n)
	}
	var roots, feature, yes, no, yesLeaf, noLeaf, missing, leafTargets []int
	var splits, members, weights []float32
	var modes []uint8
	tracks := r.flag()
	leaf := func() int {
		leafTargets, weights = append(leafTargets, r.IntN(targets)), append(weights, r.Float32()*6-3)
		return len(weights) - 1
	}
	var grow func(depth int) int
	grow = func(depth int) int {
		at := len(feature)
		feature, yes, no = append(feature, r.IntN(n)), append(yes, 0), append(no, 0)
		yesLeaf, noLeaf, missing = append(yesLeaf, 0), append(noLeaf, 0), append(missing, 0)
		modes, splits = append(modes, uint8(r.IntN(6))), append(splits, float32(r.between(-6, 6))/2)
		if tracks {
			missing[at] = r.IntN(2)
		}
		if member && r.flag() {
			modes[at] = 6
			for range r.between(1, 4) {
				members = append(members, float32(r.between(-3, 3)))
			}
			members = append(members, float32(math.NaN()))
		}
		child := func() (to, isLeaf int) {
			if depth == 0 || r.rarely(4) {
				return leaf(), 1
			}
			return grow(depth - 1), 0
		}
		t, tLeaf := child()
		f, fLeaf := child()
		yes[at], yesLeaf[at], no[at], noLeaf[at] = t, tLeaf, f, fLeaf
		return at
	}
	for range r.between(1, 5) {
		roots = append(roots, grow(r.between(0, 4)))
	}
	attrs := map[string]any{
		"aggregate_function": r.between(0, 3), "n_targets": targets, "tree_roots": roots,
		"nodes_featureids": feature, "nodes_modes": list(modes...), "nodes_splits": list(splits...),
		"nodes_truenodeids": yes, "nodes_falsenodeids": no, "nodes_trueleafs": yesLeaf, "nodes_falseleafs": noLeaf,
		"leaf_targetids": leafTargets, "leaf_weights": list(weights...),
	}
	if tracks {
		attrs["nodes_missing_value_tracks_true"] = missing
	}
	if len(members) > 0 {
		attrs["membership_values"] = list(members...)
	}
	c := classical("TreeEnsemble", attrs, x)
	c.opset = 5
	return c
}
