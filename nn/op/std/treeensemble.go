package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TreeEnsembleConfig has the attributes of TreeEnsemble. Lists whose names begin with Nodes have
// an entry for each node, those that begin with Leaf one for each leaf.
type TreeEnsembleConfig struct {
	Aggregate     *int        `onnx:"aggregate_function"`              // over the trees: 0 average, 1 sum, 2 minimum, 3 maximum; nil: 1
	LeafTargets   []int       `onnx:"leaf_targetids,required"`         // column that the leaf contributes to
	LeafWeights   dtype.Value `onnx:"leaf_weights,required"`           // value of the leaf
	Members       dtype.Value `onnx:"membership_values"`               // sets of the nodes in mode 6, in order, each terminated by NaN
	Targets       int         `onnx:"n_targets"`                       // columns of the output
	NodesFalse    []int       `onnx:"nodes_falsenodeids,required"`     // index of the node, or leaf, that follows if the comparison is false
	NodesNoLeaf   []int       `onnx:"nodes_falseleafs,required"`       // 1: NodesFalse is a leaf
	NodesFeature  []int       `onnx:"nodes_featureids,required"`       // column of X that the node compares
	NodesHitrates dtype.Value `onnx:"nodes_hitrates"`                  // of no effect
	NodesMissing  []int       `onnx:"nodes_missing_value_tracks_true"` // 1: a NaN takes the true branch; nil: none does
	NodesModes    dtype.Value `onnx:"nodes_modes,required"`            // 0 ≤, 1 <, 2 ≥, 3 >, 4 =, 5 ≠, 6 member of a set
	NodesSplits   dtype.Value `onnx:"nodes_splits,required"`           // the value that the feature is compared with
	NodesTrue     []int       `onnx:"nodes_truenodeids,required"`      // index of the node, or leaf, that follows if the comparison is true
	NodesYesLeaf  []int       `onnx:"nodes_trueleafs,required"`        // 1: NodesTrue is a leaf
	Transform     int         `onnx:"post_transform,default=0"`        // of the scores: 0 none, 1 softmax, 2 logistic, 3 softmax of those that are not 0, 4 probit
	Roots         []int       `onnx:"tree_roots,required"`             // index of the first node of each tree
}

// Operator makes TreeEnsembleConfig a Config.
func (TreeEnsembleConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "TreeEnsemble"} }

func treeEnsemble() *op.Op {
	return &op.Op{
		Domain: mlDomain, Name: "TreeEnsemble", Since: []int{5}, Doc: "Adds up what decision trees say about targets.",
		In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: TreeEnsembleConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(TreeEnsembleConfig)
			aggregate := orInt(cfg.Aggregate, 1)
			if aggregate < 0 || aggregate > 3 || cfg.Transform < 0 || cfg.Transform >= len(transforms) {
				return nil, c.Errorf("aggregate_function %d or post_transform %d is unknown", aggregate, cfg.Transform)
			}
			return targetScores(c, max(cfg.Targets, 1), c.In[0].DType)
		},
		Kernel: valueFunction(ensembleTrees).kernel, NoGrad: "piecewise constant", Pinned: "features are chosen by number",
	}
}

func ensembleTrees(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(TreeEnsembleConfig)
	modes, err := floatsOr(cfg.NodesModes, nil)
	if err != nil {
		return nil, err
	}
	splits, err := floatsOr(cfg.NodesSplits, nil)
	if err != nil {
		return nil, err
	}
	weights, err := floatsOr(cfg.LeafWeights, nil)
	if err != nil {
		return nil, err
	}
	members, err := floatsOr(cfg.Members, nil)
	if err != nil {
		return nil, err
	}
	n := len(cfg.NodesFeature)
	for _, l := range []int{len(modes), len(splits), len(cfg.NodesTrue), len(cfg.NodesFalse), len(cfg.NodesYesLeaf), len(cfg.NodesNoLeaf)} {
		if l != n {
			return nil, c.Errorf("the lists about %d nodes have different lengths", n)
		}
	}
	if len(weights) != len(cfg.LeafTargets) {
		return nil, c.Errorf("there are %d leaf weights for %d leaves", len(weights), len(cfg.LeafTargets))
	}
	f := &forest{targets: max(cfg.Targets, 1), combine: [...]string{"AVERAGE", "SUM", "MIN", "MAX"}[orInt(cfg.Aggregate, 1)]}
	for i, w := range weights {
		f.leaves = append(f.leaves, []vote{{cfg.LeafTargets[i], w}})
	}
	branch := func(to, leaf int) int {
		if leaf != 0 {
			return ^to
		}
		return to
	}
	for i := range n {
		if modes[i] < 0 || modes[i] > float64(member) || cfg.NodesTrue[i] < 0 || cfg.NodesFalse[i] < 0 {
			return nil, c.Errorf("node %d has mode %v and branches %d, %d", i, modes[i], cfg.NodesTrue[i], cfg.NodesFalse[i])
		}
		node := treeNode{how: compare(modes[i]), feature: cfg.NodesFeature[i], value: splits[i], missing: i < len(cfg.NodesMissing) && cfg.NodesMissing[i] != 0,
			yes: branch(cfg.NodesTrue[i], cfg.NodesYesLeaf[i]), no: branch(cfg.NodesFalse[i], cfg.NodesNoLeaf[i])}
		if node.how == member {
			k := 0
			for k < len(members) && !math.IsNaN(members[k]) {
				k++
			}
			node.members = members[:k]
			members = members[min(k+1, len(members)):]
		}
		f.nodes = append(f.nodes, node)
	}
	f.roots = cfg.Roots
	for _, r := range f.roots {
		if r < 0 {
			return nil, c.Errorf("tree root %d is negative", r)
		}
	}
	// A tree that is a single leaf is written as a node both branches of which are that leaf.
	if err := f.check(c); err != nil {
		return nil, err
	}
	return f.regression(c, nil, transforms[cfg.Transform], c.In[0].DType), nil
}
