package table_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
)

// wideTable has more columns than rows; the target is linear in eight of them.
func wideTable(t *testing.T, classes bool) *table.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for k := range 160 {
		fmt.Fprintf(&b, "x%d,", k)
	}
	b.WriteString("y\n")
	for range 150 {
		factor, sum := r.NormFloat64(), 0.0
		for k := range 160 {
			x := r.NormFloat64()
			if k < 60 {
				x += factor
			}
			fmt.Fprintf(&b, "%.3f,", x)
		}
		if sum = 30*factor + 3*r.NormFloat64() + 500; classes {
			fmt.Fprintln(&b, map[bool]string{true: "yes", false: "no"}[sum > 500])
		} else {
			fmt.Fprintf(&b, "%.3f\n", sum)
		}
	}
	return readText(t, b.String())
}

// readText reads a table from the text of a CSV file.
func readText(t *testing.T, text string) *table.Table {
	t.Helper()
	x, err := table.Reader{}.Read(write(t, "t.csv", text))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// trunkOf returns a new network for a table, prepared by the given rows, its trunk, and a function that returns samples of
// the trunk's input.
func trunkOf(t *testing.T, x *table.Table, rows []int, n table.Network, unit train.Scaling) (*nn.Graph, *table.Trunk, func(rows []int) data.Dataset[data.Sample]) {
	t.Helper()
	ctx := context.Background()
	prep, err := table.Fit(ctx, x, rows, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := n.New(prep, x.Classes, unit)
	if err != nil {
		t.Fatal(err)
	}
	trunk, err := table.Cut(g, prep.Schema)
	if err != nil {
		t.Fatal(err)
	}
	return g, trunk, func(rows []int) data.Dataset[data.Sample] {
		t.Helper()
		s, err := trunk.Samples(ctx, x, rows)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// A network that was hardly trained is blended with a linear model, which does the work: the model answers well, and has the
// shape that it had.
func TestBlend(t *testing.T) {
	ctx := context.Background()
	for _, classes := range []bool{false, true} {
		x := wideTable(t, classes)
		rows, held := x.Divide(0.4, 1)
		b := table.Blend{Classes: len(x.Classes), Refit: true, Seed: 1}
		if !classes {
			b.Unit = table.TargetScaling(x, rows)
			b.Loss = b.Unit.Loss(train.MSE{})
		}
		run := func() (table.Blended, string, *nn.Graph) {
			g, trunk, samples := trunkOf(t, x, rows, table.Network{Seed: 1}, b.Unit)
			got, err := b.Apply(ctx, trunk, samples(rows), samples(held))
			if err != nil {
				t.Fatal(err)
			}
			if err := trunk.Return(); err != nil {
				t.Fatal(err)
			}
			w, err := g.Value("wide.weight")
			if err != nil {
				t.Fatal(err)
			}
			return got, string(dtype.Bytes(w.Param().Data())), g
		}
		got, weight, g := run()
		if got.Linear < 0.75 || got.Decay <= 0 || !strings.Contains(got.String(), "blended with a linear model (weight decay ") {
			t.Errorf("classes %v: %+v", classes, got)
		}
		if figure := got.Val["r2"] + got.Val["accuracy"]; figure < 0.9 {
			t.Errorf("classes %v: the validation says %v", classes, got.Val)
		}
		if _, again, _ := run(); again != weight {
			t.Errorf("classes %v: a second blend differs", classes)
		}
		if err := onnxio.Save(filepath.Join(t.TempDir(), "m.onnx"), g); err != nil {
			t.Error(err)
		}
	}
}

// TestBlendKeepsNetwork checks that a network that is the better model remains unchanged.
func TestBlendKeepsNetwork(t *testing.T) {
	ctx := context.Background()
	x := wideTable(t, false)
	rows, held := x.Divide(0.4, 1)
	b := table.Blend{Unit: table.TargetScaling(x, rows)}
	b.Loss = b.Unit.Loss(train.MSE{})
	_, trunk, samples := trunkOf(t, x, rows, table.Network{}, b.Unit)
	fit := samples(held)
	first, err := b.Apply(ctx, trunk, fit, fit)
	if err != nil {
		t.Fatal(err)
	}
	// A model fitted to these rows is better on them than a linear model fitted to others.
	again, err := b.Apply(ctx, trunk, samples(rows[:12]), fit)
	if err != nil || again.Linear != 0 || again.Decay != 0 || again.Val["loss"] != first.Val["loss"] || !strings.HasPrefix(again.String(), "a linear model beside the network does not help: validation") {
		t.Errorf("first %+v, again %+v, %v", first, again, err)
	}
	trunk.Rest = nn.New("empty")
	if _, err := b.Apply(ctx, trunk, fit, fit); err == nil || err.Error() != "table: the network has no float32 parameter wide.weight: want one that Network.New made" {
		t.Errorf("a graph of another kind: %v", err)
	}
}
