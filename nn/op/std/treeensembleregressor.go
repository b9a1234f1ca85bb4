package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TreeEnsembleRegressorConfig has the attributes of TreeEnsembleRegressor. Lists whose names
// begin with Nodes have an entry for each node, those that begin with Target one for each vote.
type TreeEnsembleRegressorConfig struct {
	Aggregate      string      `onnx:"aggregate_function,default=SUM"`   // over the trees: SUM, AVERAGE, MIN or MAX
	Base           []float32   `onnx:"base_values"`                      // added to the scores; nil: 0
	BaseTensor     dtype.Value `onnx:"base_values_as_tensor,since=3"`    // Base in float64
	Targets        int         `onnx:"n_targets"`                        // columns of the output
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
	TargetIDs      []int       `onnx:"target_ids"`                       // column that the leaf contributes to
	TargetNodes    []int       `onnx:"target_nodeids"`                   // ID of the leaf
	TargetTrees    []int       `onnx:"target_treeids"`                   // tree of the leaf
	TargetWeights  []float32   `onnx:"target_weights"`                   // value of the leaf
	WeightsTensor  dtype.Value `onnx:"target_weights_as_tensor,since=3"` // the weights in float64
}

// Operator makes TreeEnsembleRegressorConfig a Config.
func (TreeEnsembleRegressorConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "TreeEnsembleRegressor"}
}

func treeEnsembleRegressor() *op.Op {
	return &op.Op{
		Domain: mlDomain, Name: "TreeEnsembleRegressor", Since: []int{1, 3}, Doc: "Adds up what decision trees say about targets.",
		In: "X T", Out: "Y float32", Where: op.Where{"T": mlNumbers()}, Attrs: TreeEnsembleRegressorConfig{},
		Check: func(c *op.Call) error {
			cfg := c.Config.(TreeEnsembleRegressorConfig)
			return checkEnsemble(c, cfg.Aggregate, cfg.Transform)
		},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return targetScores(c, max(c.Config.(TreeEnsembleRegressorConfig).Targets, 1), dtype.Float32)
		},
		Kernel: valueFunction(regressTrees).kernel, NoGrad: "piecewise constant", Pinned: "features are chosen by number",
	}
}

func checkEnsemble(c *op.Call, aggregate, transform string) error {
	switch aggregate {
	case "SUM", "AVERAGE", "MIN", "MAX":
		return checkTransform(c, transform)
	}
	return c.Errorf("aggregate_function %q is unknown", aggregate)
}

// targetScores returns the type of scores [N, columns].
func targetScores(c *op.Call, columns int, t op.DType) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{{DType: t, Unranked: true}}, nil
	}
	rows, _, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	if columns > maxExtent {
		return nil, c.Errorf("has %d targets, want at most %d", columns, int64(maxExtent))
	}
	return []op.Type{op.T(t, rows, op.D(columns))}, nil
}

func regressTrees(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(TreeEnsembleRegressorConfig)
	values, err := floatsOr(cfg.ValuesTensor, cfg.NodesValues)
	if err != nil {
		return nil, err
	}
	weights, err := floatsOr(cfg.WeightsTensor, cfg.TargetWeights)
	if err != nil {
		return nil, err
	}
	base, err := floatsOr(cfg.BaseTensor, cfg.Base)
	if err != nil {
		return nil, err
	}
	t := treeNodes{cfg.NodesTree, cfg.NodesID, cfg.NodesFeature, cfg.NodesTrue, cfg.NodesFalse, cfg.NodesMissing, cfg.NodesModes, values}
	f, err := newForest(c, t, cfg.TargetTrees, cfg.TargetNodes, cfg.TargetIDs, weights)
	if err != nil {
		return nil, err
	}
	f.targets, f.combine = max(cfg.Targets, 1), cfg.Aggregate
	if err := f.check(c); err != nil {
		return nil, err
	}
	return f.regression(c, base, cfg.Transform, dtype.Float32), nil
}

// regression scores rows, adds base values and transforms.
func (f *forest) regression(c *op.Call, base []float64, post string, t op.DType) func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error) {
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		n := c.Out[0].Shape[0].Size
		y := kernel.Zeros[float64](p, n*f.targets)
		err := f.each(p, c, in[0], func(r int, scores []float64, _ []bool) {
			row := y[r*f.targets : (r+1)*f.targets]
			copy(row, scores)
			for i := range row {
				if len(base) == f.targets {
					row[i] += base[i]
				} else if len(base) == 1 {
					row[i] += base[0]
				}
			}
			transform(post, row)
		})
		if err != nil {
			return nil, err
		}
		d, err := tensorOf(p, t, y, n, f.targets)
		return []dtype.Value{d}, err
	}
}
