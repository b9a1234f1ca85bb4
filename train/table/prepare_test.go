package table_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// mixed returns a table with all kinds of columns, values missing in each, and a number that float32 is too coarse for.
func mixed(t testing.TB, rows int) *table.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("area;city;street;sold;seen;stamp;same;price\n")
	some := func(s string) string {
		if r.Float64() < 0.1 {
			return ""
		}
		return s
	}
	for i := range rows {
		area, city := 50+100*r.Float64(), []string{"Rome", "Oslo", "Paris"}[r.IntN(3)]
		fmt.Fprintf(&b, "%s;%s;street %d;2020-%02d-%02d;%s;%d;7;%.1f\n", some(strings.Replace(fmt.Sprintf("%.2f", area), ".", ",", 1)), some(city), r.IntN(rows/8),
			1+r.IntN(12), 1+r.IntN(28), some(fmt.Sprintf("2021-01-%02d %02d:30:00", 1+r.IntN(28), r.IntN(24))), 1_600_000_000+i, 1000*area+float64(len(city)))
	}
	got, err := table.Reader{Kinds: map[string]table.ColumnKind{"street": table.Category}}.Read(write(t, "mixed.csv", b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func prepared(t testing.TB, data *table.Table, rows []int, o table.Options) (*table.Encoder, *nn.Graph) {
	t.Helper()
	p, err := table.Fit(context.Background(), data, rows, o)
	if err != nil {
		t.Fatal(err)
	}
	g := nn.New("features")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		e.Output("out", p.Build(e))
	}); err != nil {
		t.Fatal(err)
	}
	return p, g
}

// TestFit checks that features of the training rows have mean 0 and standard deviation 1, and that
// statistics come from these rows only.
func TestFit(t *testing.T) {
	data := mixed(t, 400)
	rows, _ := data.Divide(0.25, 1)
	p, g := prepared(t, data, rows, table.Options{})
	if want := "column same is left out: its values in the training rows are all equal, or all missing"; !slices.Contains(p.Describe(), want) {
		t.Errorf("%q lacks %q", p.Describe(), want)
	}
	feed, err := p.Feed(data, rows)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(context.Background(), feed, "out")
	if err != nil {
		t.Fatal(err)
	}
	x := out["out"].(*tensor.Dense)
	v, err := dtype.Float64s(x)
	if err != nil {
		t.Fatal(err)
	}
	for c, name := range p.Names {
		n, mean, square := 0.0, 0.0, 0.0
		for r := range rows {
			if f := v[r*x.Shape()[1]+c]; f != 0 { // missing values are 0
				n, mean, square = n+1, mean+f, square+f*f
			}
		}
		if mean /= n; math.Abs(mean) > 1e-4 || math.Abs(square/n-1) > 1e-3 {
			t.Errorf("%s has mean %g and variance %g", name, mean, square/n)
		}
	}
	// Of other rows other figures are taken.
	_, other := prepared(t, data, rows[:50], table.Options{})
	if out, err = other.Eval(context.Background(), feed, "out"); err != nil {
		t.Fatal(err)
	}
	if w, err := dtype.Float64s(out["out"].(*tensor.Dense)); err != nil || w[0] == v[0] {
		t.Errorf("the first feature is %g with figures of 300 rows and of 50, %v", v[0], err)
	}
}

// The exported file takes the raw columns by name, text included, and computes in ONNX Runtime what it computes here; missing
// and unknown values, too.
func TestPreparationInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	data := mixed(t, 400)
	fit, held := data.Divide(0.3, 3)
	for _, o := range []table.Options{{}, {Scale: table.Quantile, OneHot: 2}} {
		p, err := table.Fit(context.Background(), data, fit, o)
		if err != nil {
			t.Fatal(err)
		}
		g, err := table.Network{Seed: 1}.New(p, nil, table.TargetScaling(data, fit))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := onnxio.Save(path, g); err != nil {
			t.Fatal(err)
		}
		loaded, err := onnxio.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		s, ok, err := table.ReadMeta(loaded.Meta())
		if err != nil || !ok {
			t.Fatalf("the file has no schema: %v", err)
		}
		feed, err := s.Feed(data, held)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, ort, path, loaded, feed)
	}
}

func compare(t *testing.T, ort *oracle.Runtime, path string, g *nn.Graph, feed nn.Feed) {
	t.Helper()
	out, err := g.Eval(context.Background(), feed, "price")
	if err != nil {
		t.Fatal(err)
	}
	want, err := dtype.Float64s(out["price"].(*tensor.Dense))
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]oracle.Tensor{}
	for name, v := range feed {
		inputs[name] = exchange(t, v)
	}
	model, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ort.Run(model, inputs)
	if err != nil {
		t.Fatal(err)
	}
	x, err := got["price"].Float64s()
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.IsNaN(x[i]) || math.Abs(x[i]-want[i]) > 1e-4*math.Abs(want[i]) {
			t.Fatalf("row %d: %g here, %g in ONNX Runtime", i, want[i], x[i])
		}
	}
}

func exchange(t *testing.T, v dtype.Value) oracle.Tensor {
	t.Helper()
	if s, ok := v.(*dtype.Strings); ok {
		return oracle.Tensor{DType: "string", Shape: s.Dims, Strings: s.Elems}
	}
	d := v.(*tensor.Dense)
	var x oracle.Tensor
	var err error
	if d.Dtype() == tensor.Float64 {
		x, err = oracle.Pack(d.Float64s(), d.Shape()...)
	} else {
		x, err = oracle.Pack(d.Float32s(), d.Shape()...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}
