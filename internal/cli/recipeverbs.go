package cli

import (
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/mutate"
)

// verb is an action of a recipe step.
type verb struct {
	name         string
	needs, takes []string
	example      string // further fields
	apply        func(s recipeStep, e *nn.Edit)
}

// verbs lists the actions of recipes, in the order of the help.
func verbs() []verb {
	list := func(s string) []string { return strings.Fields(s) }
	return []verb{
		{"input", list("value type"), nil, `"value": "data", "type": "float32[N,3,224,224]"`,
			func(s recipeStep, e *nn.Edit) { e.Input(s.Value, s.Type) }},
		{"insert", list("value layer"), list("towards prefer"), `"value": "conv1_out", "layer": {"op": "batchnorm"}`,
			func(s recipeStep, e *nn.Edit) {
				var users []*nn.Node
				for _, name := range s.Towards {
					users = append(users, s.find(e, name))
				}
				s.realign().Insert(e, e.Value(s.Value), s.Layer.must(), users...)
			}},
		{"remove", list("node"), list("prefer"), `"node": "conv3", "prefer": "after"`,
			func(s recipeStep, e *nn.Edit) { s.realign().Remove(e, s.find(e, s.Node)) }},
		{"replace", list("node layer"), list("prefer"), `"node": "act1", "layer": {"op": "silu"}`,
			func(s recipeStep, e *nn.Edit) { s.realign().Replace(e, s.find(e, s.Node), s.Layer.must()) }},
		{"add-edge", list("value node"), list("prefer concat via"), `"value": "act1_out", "node": "conv4", "via": {"op": "conv", "kernel": [1]}`,
			func(s recipeStep, e *nn.Edit) { s.realign().AddEdge(e, e.Value(s.Value), s.find(e, s.Node)) }},
		{"remove-edge", list("value node"), list("prefer"), `"value": "b_out", "node": "concat2"`,
			func(s recipeStep, e *nn.Edit) { s.realign().RemoveEdge(e, e.Value(s.Value), s.find(e, s.Node)) }},
		{"resize", list("value channels"), list("axis near"), `"value": "conv2_out", "channels": 48, "near": true`,
			func(s recipeStep, e *nn.Edit) {
				e.Resize(e.Value(s.Value), s.Channels, nn.ResizeOptions{Axis: s.Axis, Near: s.Near})
			}},
		{"input-channels", list("channels"), list("value axis"), `"value": "data", "channels": 1`,
			func(s recipeStep, e *nn.Edit) { inputChannels(e, s) }},
		{"widen", list("node factor"), nil, `"node": "conv2", "factor": 1.5`,
			func(s recipeStep, e *nn.Edit) { e.Widen(s.find(e, s.Node), s.Factor) }},
		{"deepen", list("value"), list("layer activation norm near"), `"value": "relu2_out", "layer": {"op": "conv", "kernel": [3]}`,
			func(s recipeStep, e *nn.Edit) {
				d := nn.Deepening{Layer: layers.Fitting{}, Near: s.Near}
				if s.Norm {
					d.Norm = layers.BatchNorm{}
				}
				if s.Layer != nil {
					d.Layer = s.Layer.must()
				}
				if s.Activation != nil {
					d.Activation = s.Activation.must()
				}
				e.Deepen(e.Value(s.Value), d)
			}},
		{"kernel", list("node kernel"), nil, `"node": "conv1", "kernel": [5]`,
			func(s recipeStep, e *nn.Edit) { e.SetKernel(s.find(e, s.Node), s.Kernel...) }},
		{"activation", list("layer"), list("glob"), `"layer": {"op": "leakyrelu", "alpha": 0.1}, "glob": ["layer1*"]`,
			func(s recipeStep, e *nn.Edit) { e.SwapActivations(s.Layer.must(), globs(s.Glob)...) }},
		{"mutate", list("count"), list("seed weights keep"), `"count": 3, "seed": 7, "weights": {"widen": 2, "deepen": 1}`,
			func(s recipeStep, e *nn.Edit) {
				if s.Count > mostMutations {
					e.Failf("a count of %d: want at most %d", s.Count, mostMutations)
				}
				for i := 0; i < s.Count && e.Err() == nil; i++ {
					s.mutator().Mutate(e, i)
				}
			}},
		{"cut", list("cuts"), nil, `"cuts": [{"initializer": "conv1.weight", "axis": 0, "removed": [3, 6]}]`,
			func(s recipeStep, e *nn.Edit) { e.Cut(s.Cuts...) }},
		{"rename", list("value to"), nil, `"value": "output", "to": "scores"`,
			func(s recipeStep, e *nn.Edit) { e.RenameValue(e.Value(s.Value), s.To) }},
		{"output", list("value to"), nil, `"value": "features", "to": "embedding"`,
			func(s recipeStep, e *nn.Edit) { e.Output(s.To, e.Value(s.Value)) }},
		{"remove-output", list("value"), nil, `"value": "aux"`,
			func(s recipeStep, e *nn.Edit) { e.RemoveOutput(s.Value) }},
		{"head", nil, list("labels classes"), `"labels": ["cat", "dog"]`,
			func(s recipeStep, e *nn.Edit) { e.Head(nn.Head{Labels: s.Labels, Classes: s.Classes}) }},
		{"decompose", nil, list("node glob domain"), `"domain": "com.microsoft"`,
			func(s recipeStep, e *nn.Edit) {
				if s.Node != "" {
					e.Decompose(s.find(e, s.Node))
				}
				if len(s.Glob) > 0 {
					e.Decompose(e.Nodes(nn.Glob(s.Glob...))...)
				}
				if s.Domain != "" {
					e.Decompose(e.Nodes(nn.Domain(s.Domain))...)
				}
			}},
		{"annotate", list("glob set"), nil, `"glob": ["head*"], "set": {"prune": "no"}`,
			func(s recipeStep, e *nn.Edit) { annotate(e, s.Set, nn.Glob(s.Glob...)) }},
		{"anchor", list("value"), list("set"), `"value": "features", "set": {"stage": 2}`,
			func(s recipeStep, e *nn.Edit) { anchor(e, s) }},
		{"inference", nil, nil, ``,
			func(_ recipeStep, e *nn.Edit) {
				e.Note("%d nodes converted from training mode to inference mode", e.InferenceMode())
			}},
		{"simplify", nil, nil, ``,
			func(_ recipeStep, e *nn.Edit) { e.Note("%d nodes removed", e.Simplify()) }},
		{"opset", list("version"), nil, `"version": 17`,
			func(s recipeStep, e *nn.Edit) { e.SetOpset(s.Version) }},
		{"compute", list("type"), nil, `"type": "float32"`,
			func(s recipeStep, e *nn.Edit) { computeIn(e, s.Type) }},
		{"freeze", list("glob"), nil, `"glob": ["layer1*"]`,
			func(s recipeStep, e *nn.Edit) {
				e.Freeze(nn.Glob(s.Glob...))
				keepFrozen(e)
			}},
	}
}

func findVerb(name string) (verb, bool) {
	for _, v := range verbs() {
		if v.name == name {
			return v, true
		}
	}
	return verb{}, false
}

// recipeHelp returns an example of each step.
func recipeHelp() string {
	var b strings.Builder
	b.WriteString("  {\"steps\": [\n")
	for i, v := range verbs() {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("    {\"do\": \"" + v.name + "\"")
		if v.example != "" {
			b.WriteString(", " + v.example)
		}
		b.WriteString("}")
	}
	b.WriteString("\n  ]}\n")
	return b.String()
}

// globs returns a selector for each pattern.
func globs(patterns []string) []nn.Selector {
	if len(patterns) == 0 {
		return nil
	}
	return []nn.Selector{nn.Glob(patterns...)}
}

func (s recipeStep) realign() nn.Realign {
	o := nn.Realign{Prefer: preferences[s.Prefer], Concat: s.Concat}
	if s.Via != nil {
		o.Via = s.Via.must()
	}
	return o
}

// mostMutations is the largest count of a mutate step: each change takes some milliseconds and may enlarge the model.
const mostMutations = 1000

func (s recipeStep) mutator() mutate.Mutator {
	return mutate.Mutator{Seed: s.Seed, Weights: s.Weights, Keep: globs(s.Keep)}
}

// find returns the node with a name, or the node that computes the value with that name.
func (s recipeStep) find(e *nn.Edit, name string) *nn.Node {
	named := func(n *nn.Node) bool {
		if n.Name() == name {
			return true
		}
		for _, v := range n.Outputs() {
			if v.Name() == name {
				return true
			}
		}
		return false
	}
	if all := e.Select(); e.Err() == nil && !slices.ContainsFunc(all, named) {
		e.Failf("no node has the name or the output %q%s", name, near(slices.Values(all), name))
		return nil
	}
	return e.Find(named)
}

// computeIn converts the model to compute in the named element type.
func computeIn(e *nn.Edit, name string) {
	t, err := dtype.Parse(name)
	if e.Fail(err); err == nil {
		e.ComputeIn(t)
	}
}
