package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// compare is the comparison of a feature with the value of a decision tree's node.
type compare uint8

// In the order of TreeEnsemble's numbers.
const (
	atMost compare = iota
	lessThan
	atLeast
	moreThan
	equals
	unequal
	member
)

func compareOf(mode string) (compare, bool) {
	k, ok := map[string]compare{"BRANCH_LEQ": atMost, "BRANCH_LT": lessThan, "BRANCH_GTE": atLeast, "BRANCH_GT": moreThan, "BRANCH_EQ": equals, "BRANCH_NEQ": unequal}[mode]
	return k, ok
}

// treeNode is an inner node. A branch below 0 is the leaf ^branch.
type treeNode struct {
	how     compare
	feature int
	value   float64
	members []float64
	missing bool // NaN takes the true branch
	yes, no int
}

func (n *treeNode) next(x float64) int {
	ok := false
	switch {
	case x != x && n.missing:
		ok = true
	case n.how == atMost:
		ok = x <= n.value
	case n.how == lessThan:
		ok = x < n.value
	case n.how == atLeast:
		ok = x >= n.value
	case n.how == moreThan:
		ok = x > n.value
	case n.how == equals:
		ok = x == n.value
	case n.how == unequal:
		ok = x != n.value
	case n.how == member:
		for _, v := range n.members {
			ok = ok || x == v
		}
	}
	if ok {
		return n.yes
	}
	return n.no
}

// vote is a leaf's contribution to a target or class.
type vote struct {
	target int
	weight float64
}

// forest is a set of decision trees.
type forest struct {
	nodes    []treeNode
	roots    []int // node, or ^leaf
	leaves   [][]vote
	targets  int
	combine  string // SUM, AVERAGE, MIN, MAX
	features int
}

// check makes sure that every walk ends and every number is in range.
func (f *forest) check(c *op.Call) error {
	if f.targets < 1 || f.targets > 1<<20 {
		return c.Errorf("has %d targets, want 1 to %d", f.targets, 1<<20)
	}
	seen := make([]bool, len(f.nodes))
	stack := append([]int(nil), f.roots...)
	for len(stack) > 0 {
		k := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if k < 0 {
			if ^k >= len(f.leaves) {
				return c.Errorf("there is no leaf %d", ^k)
			}
			continue
		}
		if k >= len(f.nodes) {
			return c.Errorf("there is no node %d", k)
		}
		if seen[k] {
			return c.Errorf("node %d is reached twice: not a tree", k)
		}
		seen[k] = true
		n := f.nodes[k]
		if n.feature < 0 || n.feature > maxExtent {
			return c.Errorf("node %d asks for feature %d", k, n.feature)
		}
		f.features = max(f.features, n.feature+1)
		stack = append(stack, n.yes, n.no)
	}
	for _, l := range f.leaves {
		for _, v := range l {
			if v.target < 0 || v.target >= f.targets {
				return c.Errorf("a leaf votes for target %d of %d", v.target, f.targets)
			}
		}
	}
	return nil
}

// score adds the votes for a row of features to out, which must be zeros; has is set for targets with votes.
func (f *forest) score(x, out []float64, has []bool) {
	clear(has)
	for _, k := range f.roots {
		for k >= 0 {
			k = f.nodes[k].next(x[f.nodes[k].feature])
		}
		for _, v := range f.leaves[^k] {
			switch {
			case !has[v.target]:
				out[v.target] = v.weight
			case f.combine == "MIN":
				out[v.target] = math.Min(out[v.target], v.weight)
			case f.combine == "MAX":
				out[v.target] = math.Max(out[v.target], v.weight)
			default:
				out[v.target] += v.weight
			}
			has[v.target] = true
		}
	}
	if f.combine == "AVERAGE" && len(f.roots) > 0 {
		for i := range out {
			out[i] /= float64(len(f.roots))
		}
	}
}

// each scores every row of input 0.
func (f *forest) each(p *kernel.Pool, c *op.Call, in dtype.Value, do func(row int, scores []float64, has []bool)) error {
	rows, cols, err := rowsOf(c)
	if err != nil {
		return err
	}
	if cols.Size < f.features {
		return c.Mismatch(0, "at least as many columns as the trees look at", c.In[0])
	}
	x, err := numbersOf(p, c, 0, in)
	if err != nil {
		return err
	}
	scores, has := make([]float64, f.targets), make([]bool, f.targets)
	for r := range rows.Size {
		p.Check()
		clear(scores)
		f.score(x[r*cols.Size:(r+1)*cols.Size], scores, has)
		do(r, scores, has)
	}
	return nil
}

// treeNodes are the attributes by which the older ensembles describe their nodes, one entry each.
type treeNodes struct {
	treeIDs, nodeIDs, features, yes, no, missing []int
	modes                                        []string
	values                                       []float64
}

// floatsOr returns the elements of a tensor attribute or, if it is absent, of a list.
func floatsOr(v dtype.Value, list []float32) ([]float64, error) {
	if d, ok := v.(*tensor.Dense); ok && d != nil {
		return dtype.Float64s(d)
	}
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = float64(x)
	}
	return out, nil
}

// newForest builds the trees; votes are given for pairs of tree and node.
func newForest(c *op.Call, t treeNodes, voteTrees, voteNodes, voteTargets []int, weights []float64) (*forest, error) {
	n := len(t.nodeIDs)
	for _, l := range []int{len(t.treeIDs), len(t.features), len(t.yes), len(t.no), len(t.modes), len(t.values)} {
		if l != n {
			return nil, c.Errorf("the lists about %d nodes have different lengths", n)
		}
	}
	if len(voteNodes) != len(voteTrees) || len(voteTargets) != len(voteTrees) || len(weights) != len(voteTrees) {
		return nil, c.Errorf("the lists about %d votes have different lengths", len(voteTrees))
	}
	type id struct{ tree, node int }
	at, f := make(map[id]int, n), &forest{}
	for i := range n {
		if t.modes[i] == "LEAF" {
			at[id{t.treeIDs[i], t.nodeIDs[i]}] = ^len(f.leaves)
			f.leaves = append(f.leaves, nil)
		} else {
			at[id{t.treeIDs[i], t.nodeIDs[i]}] = len(f.nodes)
			f.nodes = append(f.nodes, treeNode{})
		}
	}
	if len(at) != n {
		return nil, c.Errorf("two nodes of a tree have the same ID")
	}
	child, trees := map[int]bool{}, map[int]bool{}
	for i := range n {
		k := at[id{t.treeIDs[i], t.nodeIDs[i]}]
		if k < 0 {
			continue
		}
		how, ok := compareOf(t.modes[i])
		if !ok {
			return nil, c.Errorf("node mode %q is unknown", t.modes[i])
		}
		yes, ok1 := at[id{t.treeIDs[i], t.yes[i]}]
		no, ok2 := at[id{t.treeIDs[i], t.no[i]}]
		if !ok1 || !ok2 {
			return nil, c.Errorf("node %d of tree %d has a branch that does not exist", t.nodeIDs[i], t.treeIDs[i])
		}
		f.nodes[k] = treeNode{how: how, feature: t.features[i], value: t.values[i], yes: yes, no: no, missing: i < len(t.missing) && t.missing[i] != 0}
		child[yes], child[no] = true, true
	}
	for i := range n {
		if trees[t.treeIDs[i]] = true; !child[at[id{t.treeIDs[i], t.nodeIDs[i]}]] {
			f.roots = append(f.roots, at[id{t.treeIDs[i], t.nodeIDs[i]}])
		}
	}
	if len(f.roots) != len(trees) {
		return nil, c.Errorf("%d trees have %d nodes that no branch leads to, want a root each", len(trees), len(f.roots))
	}
	for i := range voteTrees {
		k, ok := at[id{voteTrees[i], voteNodes[i]}]
		if !ok {
			return nil, c.Errorf("a vote belongs to node %d of tree %d, which does not exist", voteNodes[i], voteTrees[i])
		}
		if k < 0 { // votes of inner nodes never count
			f.leaves[^k] = append(f.leaves[^k], vote{voteTargets[i], weights[i]})
		}
	}
	return f, nil
}
