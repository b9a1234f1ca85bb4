package train

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestFactsAtLimits checks the facts that ranks compare when they are split, and settings with nil pointers.
func TestFactsAtLimits(t *testing.T) {
	sent := bytes.Repeat([]byte{1}, 64)
	sent[63] = 2
	if a, b := block(sent, 0), block(sent, 1); len(a) != 32 || len(b) != 32 || b[31] != 2 || len(block(sent, 2)) != 0 || len(block(sent[:40], 1)) != 8 {
		t.Error(a, b)
	}
	var b bytes.Buffer
	describe(&b, reflect.ValueOf(struct {
		P *nn.Param
		D *tensor.Dense
	}{}), 0)
	describe(&b, reflect.ValueOf(struct{ D *tensor.Dense }{numbered(t, 1, 2)}), 0)
	if !bytes.Contains(b.Bytes(), []byte("(2);")) {
		t.Errorf("%q", b.Bytes())
	}
}

// TestExchangeAndSums checks that values of any size are swapped, and that any number of squares is summed.
func TestExchangeAndSums(t *testing.T) {
	for _, n := range []int{1, 4095, 4096, 4097, 8193} {
		a, b := dtype.New(dtype.Uint8, n), dtype.New(dtype.Uint8, n)
		for i := range n {
			dtype.Slice[uint8](a)[i], dtype.Slice[uint8](b)[i] = uint8(i), uint8(i*3+1)
		}
		exchange(a, b)
		for i := range n {
			if dtype.Slice[uint8](a)[i] != uint8(i*3+1) || dtype.Slice[uint8](b)[i] != uint8(i) {
				t.Fatalf("%d bytes: byte %d", n, i)
			}
		}
	}
	for n := range 11 {
		x, want := make([]float32, n), 0.0
		for i := range x {
			x[i] = float32(i + 1)
			want += float64((i + 1) * (i + 1))
		}
		if got := sumSquares(x); got != want {
			t.Errorf("%d numbers: %v, want %v", n, got, want)
		}
	}
}

// A rank's parts of a batch that parts and ranks do not divide.
func TestSplitForRanks(t *testing.T) {
	for _, c := range []struct {
		rank, ranks, batch, micro, samples int
		want                               []int
	}{
		{0, 2, 7, 2, 3, []int{1, 2}}, {1, 2, 7, 2, 4, []int{2, 2}}, {0, 1, 5, 2, 5, []int{1, 2, 2}}, {2, 3, 10, 2, 4, []int{2, 2}}, {1, 2, 8, 2, 1, []int{1, 0}}, {0, 2, 8, 0, 4, []int{4}},
	} {
		x := make([]float32, c.samples)
		for i := range x {
			x[i] = float32(i)
		}
		tr := &Trainer{c: Config{Batch: c.batch, MicroBatch: c.micro}, g: nn.New("g")}
		if c.ranks > 1 {
			tr.ranks = &ranks{rank: c.rank, size: c.ranks}
		}
		d, err := dtype.FromSlice(x, len(x), 1)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := tr.split(data.Sample{X: []*tensor.Dense{d}})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		var sizes []int
		next := float32(0)
		for _, p := range parts {
			n := 0
			if p.X != nil {
				n = p.X[0].Shape()[0]
				for _, v := range dtype.Slice[float32](p.X[0]) {
					if v != next {
						t.Errorf("%+v: sample %v, want %v", c, v, next)
					}
					next++
				}
			}
			sizes = append(sizes, n)
		}
		if !slices.Equal(sizes, c.want) {
			t.Errorf("%+v: parts of %v", c, sizes)
		}
	}
	tr := &Trainer{c: Config{Batch: 4, MicroBatch: 1}, g: nn.New("g"), ranks: &ranks{size: 2}}
	d, err := dtype.FromSlice(make([]float32, 3), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.split(data.Sample{X: []*tensor.Dense{d}}); err == nil {
		t.Error("three samples of a part of two")
	}
}

// TestOverlap checks that adjacent parameters in one block of memory do not overlap, and that those
// that share an element do.
func TestOverlap(t *testing.T) {
	block := make([]float32, 8)
	g := nn.New("g")
	var a, b *nn.Param
	if err := g.Edit(func(e *nn.Edit) {
		a, b = e.Param("a", initial.Ones{}, 4).Param(), e.Param("b", initial.Ones{}, 4).Param()
	}); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[int]bool{4: false, 3: true} {
		x, err := dtype.FromSlice(block[:4:4], 4)
		if err != nil {
			t.Fatal(err)
		}
		y, err := dtype.FromSlice(block[from:from+4:from+4], 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Edit(func(e *nn.Edit) { e.SetData(e.Value("a"), x); e.SetData(e.Value("b"), y) }); err != nil {
			t.Fatal(err)
		}
		tr := &Trainer{params: map[*nn.Param]*state{a: {}, b: {}}}
		if got := tr.overlap(); got != want {
			t.Errorf("from %d: %v", from, got)
		}
	}
}
