package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TreeEnsembleRegressorConfig has the attributes of TreeEnsembleRegressor. Lists whose names
// begin with Nodes have an entry for each node, those that begin with Target one for each vote.
type TreeEnsembleRegressorConfig struct {
	Aggregate      string      `onnx:"aggregate_function,default=SUM"` // SUM, AVERAGE, MIN, MAX
	Base           []float32   `onnx:"base_values"`
	BaseTensor     dtype.Value `onnx:"base_values_as_tensor,since=3"`
	Targets        int         `onnx:"n_targets"`
	NodesFalse     []int       `onnx:"nodes_falsenodeids"`
	NodesFeature   []int       `onnx:"nodes_featureids"`
	NodesHitrates  []float32   `onnx:"nodes_hitrates"` // of no effect
	HitratesTensor dtype.Value `onnx:"nodes_hitrates_as_tensor,since=3"`
	NodesMissing   []int       `onnx:"nodes_missing_value_tracks_true"`
	NodesModes     []string    `onnx:"nodes_modes"`
	NodesID        []int       `onnx:"nodes_nodeids"`
	NodesTree      []int       `onnx:"nodes_treeids"`
	NodesTrue      []int       `onnx:"nodes_truenodeids"`
	NodesValues    []float32   `onnx:"nodes_values"`
	ValuesTensor   dtype.Value `onnx:"nodes_values_as_tensor,since=3"`
	Transform      string      `onnx:"post_transform,default=NONE"` // NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT
	TargetIDs      []int       `onnx:"target_ids"`
	TargetNodes    []int       `onnx:"target_nodeids"`
	TargetTrees    []int       `onnx:"target_treeids"`
	TargetWeights  []float32   `onnx:"target_weights"`
	WeightsTensor  dtype.Value `onnx:"target_weights_as_tensor,since=3"`
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
		Kernel: valued(regressTrees).kernel, NoGrad: "steps", Pinned: "features are chosen by number",
	}
}

func checkEnsemble(c *op.Call, aggregate, transform string) error {
	switch aggregate {
	case "SUM", "AVERAGE", "MIN", "MAX":
		return checkTransform(c, transform)
	}
	return c.Errorf("aggregate_function %q is unknown", aggregate)
}

// targetScores is the type of scores [N, columns].
func targetScores(c *op.Call, columns int, t op.DType) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{{DType: t, Unranked: true}}, nil
	}
	rows, _, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	if columns > maxExtent {
		return nil, c.Errorf("has %d targets", columns)
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
		y := make([]float64, n*f.targets)
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
		d, err := tensorOf(t, y, n, f.targets)
		return []dtype.Value{d}, err
	}
}
