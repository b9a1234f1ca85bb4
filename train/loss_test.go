package train_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// array is a tensor in losses.json.
type array struct {
	DType string
	Shape []int
	Data  []float64
}

func (a array) tensor(t testing.TB) *tensor.Dense {
	t.Helper()
	if a.DType == "int64" {
		list := make([]int, len(a.Data))
		for i, x := range a.Data {
			list[i] = int(x)
		}
		d, err := dtype.FromInts(dtype.Int64, list, a.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d, err := dtype.FromFloats(dtype.Float64, a.Data, a.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func typeOf(a array) string {
	return op.Shaped(map[string]op.DType{"int64": dtype.Int64, "float64": dtype.Float64}[a.DType], a.Shape...).String()
}

// TestLosses compares losses and their gradients with PyTorch's, in the operators of an old and of a new operator set.
func TestLosses(t *testing.T) {
	b, err := os.ReadFile("testdata/losses.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Loss            string
		Options         json.RawMessage
		Out, Want, Grad array
		Value           float64
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	for _, opset := range []int{8, 11, 12, 13, 21} {
		for i, c := range cases {
			t.Run(fmt.Sprintf("%d/%d %s %s", opset, i, c.Loss, c.Options), func(t *testing.T) {
				loss := lossNamed(t, c.Loss, c.Options)
				g := nn.NewGraph("loss", std.Operators(), map[string]int{"": opset})
				err := g.Edit(func(e *nn.Edit) {
					x, y := e.Input("x", typeOf(c.Out)), e.Input("y", typeOf(c.Want))
					e.Output("loss", loss.Build(e, []*nn.Value{x}, []*nn.Value{y}))
				})
				if err != nil {
					t.Fatal(err)
				}
				r, err := g.Grad(context.Background(), nn.Feed{"x": c.Out.tensor(t), "y": c.Want.tensor(t)}, "loss", "x")
				if err != nil {
					t.Fatal(err)
				}
				if x, _ := dtype.Float64s(r["loss"].(*tensor.Dense)); math.Abs(x[0]-c.Value) > 1e-9*math.Max(1, math.Abs(c.Value)) {
					t.Errorf("loss %.12g, want %.12g", x[0], c.Value)
				}
				if d := distance(t, r["x"].(*tensor.Dense), c.Grad.Data); d > 1e-9 {
					t.Errorf("the gradient is off by %.3g: %v, want %v", d, r["x"], c.Grad.Data)
				}
			})
		}
	}
}

func lossNamed(t testing.TB, name string, options json.RawMessage) train.Loss {
	t.Helper()
	read := func(l any) {
		if err := json.Unmarshal(options, l); err != nil {
			t.Fatal(err)
		}
	}
	switch name {
	case "CrossEntropy":
		var l train.CrossEntropy
		read(&l)
		return l
	case "NLL":
		var l train.NLL
		read(&l)
		return l
	case "MSE":
		var l train.MSE
		read(&l)
		return l
	case "L1":
		var l train.L1
		read(&l)
		return l
	case "Huber":
		var l train.Huber
		read(&l)
		return l
	case "BCEWithLogits":
		var l train.BCEWithLogits
		read(&l)
		return l
	case "KL":
		var l train.KL
		read(&l)
		return l
	}
	t.Fatalf("no loss %s", name)
	return nil
}

// The golden file is what its script makes.
func TestLossesAreReproducible(t *testing.T) {
	want, err := os.ReadFile("testdata/losses.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := oracle.Torch(t, "testdata/losses.py"); string(got) != string(want) {
		t.Error("testdata/losses.py makes another losses.json")
	}
}

// A loss on logits looks through what ends the model, and says so.
func TestLookThrough(t *testing.T) {
	axis := 1
	for _, c := range []struct {
		name string
		loss train.Loss
		end  func(e *nn.Edit, x *nn.Value) *nn.Value
		note string
	}{
		{"softmax", train.CrossEntropy{}, func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Node(std.SoftmaxConfig{Axis: &axis}, x).Out(0)
		}, `output "y" ends in Softmax`},
		{"log-softmax", train.CrossEntropy{}, func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Node(std.LogSoftmaxConfig{Axis: &axis}, x).Out(0)
		}, `output "y" ends in LogSoftmax`},
		{"classes last", train.CrossEntropy{Axis: -1}, func(e *nn.Edit, x *nn.Value) *nn.Value {
			x = e.Node(op.Plain("Unsqueeze"), x, e.Ints("axes", 1)).Out(0)
			return e.Node(op.Plain("Softmax"), x).Out(0)
		}, `output "y" ends in Softmax`},
		{"softmax below a reshape", train.CrossEntropy{}, func(e *nn.Edit, x *nn.Value) *nn.Value {
			x = e.Node(op.Plain("Unsqueeze"), x, e.Ints("axes", 2, 3)).Out(0)
			x = e.Node(std.SoftmaxConfig{Axis: &axis}, x).Out(0)
			return e.Node(std.FlattenConfig{}, x).Out(0)
		}, `output "y" ends in Softmax`},
		{"pooled", train.CrossEntropy{}, func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Node(op.Plain("Unsqueeze"), x, e.Ints("axes", 2, 3)).Out(0)
		}, ""},
	} {
		x, y := dtype.New(dtype.Float32, 4, 3), dtype.New(dtype.Int64, 4)
		for i := range 12 {
			dtype.Slice[float32](x)[i] = float32(i*i%7) - 3
		}
		copy(dtype.Slice[int64](y), []int64{0, 2, 1, 1})
		if c.name == "classes last" {
			if err := y.Reshape(4, 1); err != nil {
				t.Fatal(err)
			}
		}
		step := func(end func(e *nn.Edit, x *nn.Value) *nn.Value) (float64, string) {
			g := nn.New("m")
			if err := g.Edit(func(e *nn.Edit) {
				h := e.Node(std.GemmConfig{}, e.Input("x", "float32[N,3]"), e.Param("w", initial.Eye{}, 3, 3)).Out(0)
				e.Output("y", end(e, h))
			}); err != nil {
				t.Fatal(err)
			}
			var note string
			tr, err := train.New(g, train.Config{Loss: c.loss, Log: func(e train.Event) { note += e.Text }})
			if err != nil {
				t.Fatal(err)
			}
			info, err := tr.Step(context.Background(), data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return info.Loss, note
		}
		want, _ := step(func(e *nn.Edit, x *nn.Value) *nn.Value {
			if c.name == "classes last" {
				return e.Node(op.Plain("Unsqueeze"), x, e.Ints("axes", 1)).Out(0)
			}
			return x
		})
		got, note := step(c.end)
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: loss %v, want %v", c.name, got, want)
		}
		if !strings.Contains(note, c.note) {
			t.Errorf("%s: note %q, want %q", c.name, note, c.note)
		}
	}
}

// A Gorgonia function of stock operators is a loss.
func TestExprLoss(t *testing.T) {
	loss := train.ExprLoss{F: func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		d, err := gorgonia.Sub(x[0], x[1])
		if err != nil {
			return nil, err
		}
		if d, err = gorgonia.Square(d); err != nil {
			return nil, err
		}
		m, err := gorgonia.Mean(d)
		return gorgonia.Nodes{m}, err
	}}
	g := small(t)
	b := batch(t, blobs(8, 1))
	y := dtype.New(dtype.Float32, 8, 3)
	b.Y = []*tensor.Dense{y}
	run := func(l train.Loss) []float64 {
		tr, err := train.New(nntest.Clone(t, g), train.Config{Loss: l})
		if err != nil {
			t.Fatal(err)
		}
		var list []float64
		for range 3 {
			info, err := tr.Step(context.Background(), b)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, info.Loss)
		}
		return list
	}
	got, want := run(loss), run(train.MSE{})
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-5 {
			t.Errorf("step %d: %v, want %v", i, got[i], want[i])
		}
	}
}
