package step_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
)

// writtenCase is a network with what it is trained by.
type writtenCase struct {
	name     string
	net      func(t *testing.T) *nn.Graph
	exporter step.Exporter
}

// writtenCases are small networks, every rule, and every option of an export.
func writtenCases() []writtenCase {
	net := func(in string, list ...nn.Layer) func(t *testing.T) *nn.Graph {
		return func(t *testing.T) *nn.Graph { return model(t, in, list...) }
	}
	linear := net("float32[N,2]", layers.Linear{Out: 3})
	normalized := net("float32[N,2]", layers.Linear{Out: 2}, layers.BatchNorm{})
	dropped := net("float32[N,2]", layers.Linear{Out: 3}, layers.Dropout{P: 0.3})
	momentum := optim.SGD{LR: 0.1, Momentum: 0.9}
	var list []writtenCase
	add := func(name string, net func(t *testing.T) *nn.Graph, c train.Config) {
		if c.Loss == nil {
			c.Loss = train.MSE{}
		}
		list = append(list, writtenCase{name, net, step.Exporter{Config: c}})
	}
	for name, rule := range rules {
		add("rule "+name, net("float32[N,2]", layers.Linear{Out: 3, NoBias: true}), train.Config{Rule: rule})
	}
	slices.SortFunc(list, func(a, b writtenCase) int { return strings.Compare(a.name, b.name) })
	list = append(list, writtenCase{"the defaults", linear, step.Exporter{}})
	add("clipped", linear, train.Config{Rule: momentum, ClipNorm: 0.5})
	add("accumulated", linear, train.Config{Rule: momentum, Accumulate: 2})
	add("accumulated and clipped", normalized, train.Config{Rule: momentum, Accumulate: 3, ClipNorm: 1})
	add("accumulated sums", linear, train.Config{Rule: momentum, Accumulate: 2, Loss: train.CrossEntropy{Sum: true}})
	add("accumulated by weights", linear, train.Config{Rule: optim.Adam{}, Accumulate: 2, Loss: train.CrossEntropy{ClassWeights: []float64{1, 2, 3}}})
	add("accumulated one", linear, train.Config{Rule: momentum, Accumulate: 1})
	add("statistics", normalized, train.Config{Rule: momentum})
	add("chance", dropped, train.Config{Rule: momentum, Accumulate: 2})
	add("averaged", normalized, train.Config{Rule: momentum, EMA: 0.9})
	add("groups", linear, train.Config{Rule: optim.AdamW{WeightDecay: 0.1}, Groups: []train.ParamGroup{{Rank: 1, WeightDecay: optim.Off, Rate: 0.5}}})
	add("two rules", linear, train.Config{Rule: optim.Lion{}, Groups: []train.ParamGroup{{Match: []string{"*bias"}, Rule: optim.NAdam{}}}})
	add("frozen", func(t *testing.T) *nn.Graph {
		g := normalized(t)
		edit(t, g, func(e *nn.Edit) { e.Freeze(nn.Glob("batchnorm1")) })
		return g
	}, train.Config{Rule: momentum})
	add("frozen parameters with statistics that follow", func(t *testing.T) *nn.Graph {
		g := normalized(t)
		edit(t, g, func(e *nn.Edit) { e.Freeze(nn.Glob("linear1")) })
		return g
	}, train.Config{Rule: momentum, Accumulate: 2})
	for _, typ := range []dtype.DType{dtype.Float32, dtype.Float64} {
		for _, shape := range [][]int{nil, {1}} {
			gain := func(t *testing.T) *nn.Graph {
				g := nn.New("net")
				edit(t, g, func(e *nn.Edit) {
					gain := e.ParamOf("gain", typ, initial.Full{Value: 0.5}, shape...)
					e.SetRole(gain, nn.Weight)
					e.Output("y", e.Node(op.Plain("Mul"), e.Input("x", typ.String()+"[N,3]"), gain).Out(0))
				})
				return g
			}
			for _, rule := range []optim.Rule{optim.NAdam{}, optim.Adafactor{}} {
				add(fmt.Sprintf("%T, parameter of %v %v", rule, typ, shape), gain, train.Config{Rule: rule})
			}
		}
	}
	add("a loss of numbers, two inputs, one unused", func(t *testing.T) *nn.Graph {
		g := nn.New("pair")
		edit(t, g, func(e *nn.Edit) {
			a, b := e.Input("a", "float32[N,2]"), e.Input("b", "float32[N,2]")
			e.Input("unused", "float32[N]")
			e.Output("sum", e.Node(op.Plain("Add"), e.Apply(layers.Linear{Out: 2}, a), b).Out(0))
		})
		return g
	}, train.Config{Rule: momentum})
	add("names that a step has", func(t *testing.T) *nn.Graph {
		g := model(t, "float32[N,2]", layers.Linear{Out: 2, Name: "linear"}, layers.ReLU{}, layers.Linear{Out: 3})
		nodes := slices.Collect(g.Nodes())
		edit(t, g, func(e *nn.Edit) {
			e.RenameValue(nodes[0].Out(0), "linear.weight.next")
			e.RenameValue(nodes[1].Out(0), "const")
		})
		return g
	}, train.Config{Rule: momentum})
	add("a later version", func(t *testing.T) *nn.Graph {
		g := linear(t)
		edit(t, g, func(e *nn.Edit) { e.SetOpset(21) })
		return g
	}, train.Config{Rule: momentum})
	add("an earlier version", func(t *testing.T) *nn.Graph {
		g := linear(t)
		edit(t, g, func(e *nn.Edit) { e.SetOpset(13) })
		return g
	}, train.Config{Rule: momentum})
	list = append(list, writtenCase{"a version that is asked for", linear, step.Exporter{Config: train.Config{Rule: momentum}, Opset: 15}})
	list = append(list, writtenCase{"targets that are asked for", linear, step.Exporter{Targets: []string{"float32[N,3]"}}})
	return list
}

func edit(t *testing.T, g *nn.Graph, f func(e *nn.Edit)) {
	t.Helper()
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
}

// TestWritten: the nodes of steps, of training_info and of the models that a session runs, as testdata/written.txt has them; what a step updates keeps
// its element type and shape, from the start on. That the steps train as the trainer does is tested beside.
func TestWritten(t *testing.T) {
	var b strings.Builder
	for _, c := range writtenCases() {
		t.Run(c.name, func(t *testing.T) {
			g := c.net(t)
			before := nntest.Spelled(g)
			fmt.Fprintf(&b, "=== %s\n", c.name)
			s, err := c.exporter.Export(g)
			if err != nil {
				t.Fatal(err)
			}
			writeStep(t, &b, s)
			if info, err := c.exporter.TrainingInfo(g); err != nil {
				fmt.Fprintln(&b, "training_info:", err)
			} else {
				writeTraining(t, &b, info)
			}
			if after := nntest.Spelled(g); after != before {
				t.Errorf("the export changed the model: %s\nwas %s", after, before)
			}
			if !strings.HasPrefix(c.name, "rule ") && c.exporter.Targets == nil {
				writeParts(t, &b, g, c.exporter.Config)
			}
		})
	}
	nntest.CompareFile(t, filepath.Join("testdata", "written.txt"), b.String())
}

// writeStep writes an exported step, and compares the types of what it reads with those of what it returns.
func writeStep(t *testing.T, b *strings.Builder, s *step.Model) {
	t.Helper()
	fmt.Fprintf(b, "step %s, start %s, version %v %v, batch %v, seeded %v, %d nodes\n", s.Graph.Name(), s.Start.Name(), s.Graph.Opsets(), s.Start.Opsets(), s.Batch, s.Seeded, s.Nodes())
	fmt.Fprintf(b, "inputs %v\noutputs %v\n", s.Inputs(), s.Outputs())
	first, err := s.Start.Eval(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Variables {
		fmt.Fprintf(b, "%s %s of %q\n", v.Kind, v.Name, v.Of)
		in, next := valueOf(t, s.Graph, v.Name).Type(), valueOf(t, s.Graph, v.Next).Type()
		if typ := op.TypeOf(first[v.Name]); in.String() != next.String() || in.String() != typ.String() {
			t.Errorf("%s is %v, and becomes %v; at the start it is %v", v.Name, in, next, typ)
		}
	}
	b.WriteString(nntest.Indent(nntest.Spelled(s.Graph)))
	b.WriteString("start\n" + nntest.Indent(nntest.Spelled(s.Start)))
}

func valueOf(t *testing.T, g *nn.Graph, name string) *nn.Value {
	t.Helper()
	v, err := g.Value(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// writeTraining writes an entry of training_info.
func writeTraining(t *testing.T, b *strings.Builder, info onnxio.Training) {
	t.Helper()
	fmt.Fprintf(b, "training_info, version %v, update %v\n", info.Algorithm.Opsets(), info.Update)
	for _, u := range info.Update {
		if from, to := valueOf(t, info.Algorithm, u.Initializer).Type(), valueOf(t, info.Algorithm, u.Output).Type(); from.String() != to.String() {
			t.Errorf("training_info: %s is %v, and becomes %v", u.Initializer, from, to)
		}
	}
	text := nntest.Indent(nntest.Spelled(info.Algorithm))
	if sum := crc32.ChecksumIEEE([]byte(text)); !strings.Contains(text, "ai.onnx.preview.training.A") && !strings.Contains(text, "ai.onnx.preview.training.M") {
		text = fmt.Sprintf("\tthe step in other words, %x\n", sum)
	}
	b.WriteString(text)
}

// recorder is a device that writes down the models it is given.
type recorder struct {
	beside
	b *strings.Builder
}

func (r recorder) Begin(job train.Job) (train.Session, error) { return step.Begin(r, job) }

func (r recorder) Load(g *nn.Graph) (step.Program, error) {
	fmt.Fprintf(r.b, "loaded %s %v\n%s", g.Name(), g.Opsets(), nntest.Indent(nntest.Spelled(g)))
	return r.beside.Load(g)
}

// writeParts writes the models that a session loads, the one of validation among them.
func writeParts(t *testing.T, b *strings.Builder, g *nn.Graph, c train.Config) {
	t.Helper()
	alive := 0
	c.Runtime, c.Log = recorder{beside{&alive}, b}, train.Quiet
	sample := sampleOf(t, rand.New(rand.NewPCG(3, 4)), g, 4, c.Loss == train.Loss(train.MSE{}))
	set, err := data.Stacked(sample.X, sample.Y)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := train.New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if _, err := tr.Step(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Evaluate(t.Context(), set); err != nil {
		t.Fatal(err)
	}
}
