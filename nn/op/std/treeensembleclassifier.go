package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TreeEnsembleClassifierConfig has the attributes of TreeEnsembleClassifier. Lists whose names
// begin with Nodes have an entry for each node, those that begin with Class one for each vote.
type TreeEnsembleClassifierConfig struct {
	Base           []float32   `onnx:"base_values"`                      // added to the scores; nil: 0
	BaseTensor     dtype.Value `onnx:"base_values_as_tensor,since=3"`    // Base in float64
	ClassIDs       []int       `onnx:"class_ids"`                        // index of the class that gets the vote
	ClassNodes     []int       `onnx:"class_nodeids"`                    // ID of the leaf
	ClassTrees     []int       `onnx:"class_treeids"`                    // tree of the leaf
	ClassWeights   []float32   `onnx:"class_weights"`                    // weight of the vote
	WeightsTensor  dtype.Value `onnx:"class_weights_as_tensor,since=3"`  // the weights in float64
	IntLabels      []int       `onnx:"classlabels_int64s"`               // the classes, if they are integers
	StringLabels   []string    `onnx:"classlabels_strings"`              // the classes, if they are strings
	NodesFalse     []int       `onnx:"nodes_falsenodeids"`               // ID of the child that is taken if the comparison is false
	NodesFeature   []int       `onnx:"nodes_featureids"`                 // column of X that the node compares
	NodesHitrates  []float32   `onnx:"nodes_hitrates"`                   // of no effect
	HitratesTensor dtype.Value `onnx:"nodes_hitrates_as_tensor,since=3"` // of no effect
	NodesMissing   []int       `onnx:"nodes_missing_value_tracks_true"`  // 1: a NaN takes the true branch; nil: none does
	NodesModes     []string    `onnx:"nodes_modes"`                      // BRANCH_LEQ, BRANCH_LT, BRANCH_GTE, BRANCH_GT, BRANCH_EQ, BRANCH_NEQ or LEAF
	NodesID        []int       `onnx:"nodes_nodeids"`                    // IDs, unique within a tree
	NodesTree      []int       `onnx:"nodes_treeids"`                    // the node's tree
	NodesTrue      []int       `onnx:"nodes_truenodeids"`                // ID of the child that is taken if the comparison is true
	NodesValues    []float32   `onnx:"nodes_values"`                     // the value that the feature is compared with
	ValuesTensor   dtype.Value `onnx:"nodes_values_as_tensor,since=3"`   // NodesValues in float64
	Transform      string      `onnx:"post_transform,default=NONE"`      // of the scores: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT
}

// Operator makes TreeEnsembleClassifierConfig a Config.
func (TreeEnsembleClassifierConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "TreeEnsembleClassifier"}
}

func (cfg TreeEnsembleClassifierConfig) classNames() classNames {
	return classNames{cfg.StringLabels, cfg.IntLabels}
}

func treeEnsembleClassifier() *op.Op {
	return &op.Op{
		Domain: mlDomain, Name: "TreeEnsembleClassifier", Since: []int{1, 3}, Doc: "Lets decision trees vote for classes.",
		In: "X T", Out: "Y any, Z float32", Where: op.Where{"T": mlNumbers()}, Attrs: TreeEnsembleClassifierConfig{},
		Check: func(c *op.Call) error {
			return checkEnsemble(c, "SUM", c.Config.(TreeEnsembleClassifierConfig).Transform)
		},
		Infer: func(c *op.Call) ([]op.Type, error) {
			l := c.Config.(TreeEnsembleClassifierConfig).classNames()
			if l.count() == 0 {
				return nil, c.Errorf("there are no classes")
			}
			return classScores(c, l, max(l.count(), 2))
		},
		Kernel: valueFunction(classifyTrees).kernel, Strings: valueFunction(classifyTrees).strings,
		NoGrad: "piecewise constant", Pinned: "features are chosen by number",
	}
}

func classifyTrees(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(TreeEnsembleClassifierConfig)
	values, err := floatsOr(cfg.ValuesTensor, cfg.NodesValues)
	if err != nil {
		return nil, err
	}
	weights, err := floatsOr(cfg.WeightsTensor, cfg.ClassWeights)
	if err != nil {
		return nil, err
	}
	base, err := floatsOr(cfg.BaseTensor, cfg.Base)
	if err != nil {
		return nil, err
	}
	t := treeNodes{cfg.NodesTree, cfg.NodesID, cfg.NodesFeature, cfg.NodesTrue, cfg.NodesFalse, cfg.NodesMissing, cfg.NodesModes, values}
	f, err := newForest(c, t, cfg.ClassTrees, cfg.ClassNodes, cfg.ClassIDs, weights)
	if err != nil {
		return nil, err
	}
	l := cfg.classNames()
	f.targets, f.combine = max(l.count(), 2), "SUM"
	if err := f.check(c); err != nil {
		return nil, err
	}
	b := classVotes{base: base, post: cfg.Transform, positive: true, classes: f.targets}
	ids := map[int]bool{}
	for i, w := range weights {
		ids[cfg.ClassIDs[i]] = true
		b.positive = b.positive && w >= 0
	}
	b.single = l.count() <= 2 && len(ids) == 1
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		n := c.Out[1].Shape[0].Size
		z, best := kernel.Zeros[float64](p, n*f.targets), kernel.Zeros[int](p, n)
		err := f.each(p, c, in[0], func(r int, scores []float64, has []bool) {
			row := z[r*f.targets : (r+1)*f.targets]
			copy(row, scores)
			best[r] = min(b.decide(row, has), l.count()-1)
		})
		if err != nil {
			return nil, err
		}
		y, err := l.pick(p, best)
		if err != nil {
			return nil, err
		}
		d, err := tensorOf(p, dtype.Float32, z, n, f.targets)
		return []dtype.Value{y, d}, err
	}, nil
}

// classVotes turns votes into a class and scores. Ensembles for two classes often vote for one
// of them only; the score of the other one is then that of ONNX Runtime.
type classVotes struct {
	base     []float64
	post     string
	classes  int
	single   bool // two classes, votes for one
	positive bool // no vote is negative: the score is a probability
}

// decide rewrites the scores and returns the number of the class.
func (b classVotes) decide(row []float64, has []bool) int {
	if b.classes > 2 {
		for i := range row {
			if i < len(b.base) {
				row[i] += b.base[i]
			}
		}
		best := bestOf(row)
		transform(b.post, row)
		return best
	}
	both := has[1]
	switch len(b.base) {
	case 1:
		row[0] += b.base[0]
	case 2:
		if has[1] && b.single {
			row[1] += b.base[1]
			row[0] = -row[1]
		} else {
			row[0] += b.base[0]
			row[1] += b.base[1]
		}
		both = true
	}
	if !b.single {
		best := bestOf(row)
		transform(b.post, row)
		return best
	}
	s := row[0]
	if has[1] {
		s = row[1]
	}
	best := 0
	if b.single && b.positive {
		if s > 0.5 {
			best = 1
		}
	} else if s > 0 {
		best = 1
	}
	switch {
	case both:
		transform(b.post, row)
	case b.post == "PROBIT":
		one := []float64{s}
		transform(b.post, one)
		row[0], row[1] = 1-one[0], one[0]
	case b.single && b.positive && b.post != "LOGISTIC":
		row[0], row[1] = 1-s, s
	case b.post == "LOGISTIC":
		row[0], row[1] = sigmoid(-s), sigmoid(s)
	default:
		row[0], row[1] = -s, s
	}
	return best
}
