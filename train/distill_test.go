package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
)

// The distillation loss against its formula, and 0 for a student that says the same.
func TestDistill(t *testing.T) {
	student, teacher, class := []float64{1, -2, 0.5, 0.25, 0, 3}, []float64{2, -1, 0, 1, 0, 1}, []int{0, 2}
	softmax := func(x []float64, heat float64) []float64 {
		p, s := make([]float64, len(x)), 0.0
		for i := range x {
			p[i] = math.Exp(x[i] / heat)
			s += p[i]
		}
		for i := range p {
			p[i] /= s
		}
		return p
	}
	want := 0.0
	for n := range 2 {
		p, q := softmax(student[3*n:3*n+3], 4), softmax(teacher[3*n:3*n+3], 4)
		for c := range 3 {
			want += 0.3 * 16 * q[c] * math.Log(q[c]/p[c]) / 2
		}
		want -= 0.7 * math.Log(softmax(student[3*n:3*n+3], 1)[class[n]]) / 2
	}
	run := func(l train.Loss, x, y []float64) float64 {
		g := nn.New("loss")
		if err := g.Edit(func(e *nn.Edit) {
			v := []*nn.Value{e.Input("x", "float32[N,3]"), e.Input("class", "int64[N]"), e.Input("teacher", "float32[N,3]")}
			e.Output("loss", l.Build(e, v[:1], v[1:]))
		}); err != nil {
			t.Fatal(err)
		}
		out, err := g.Run(context.Background(), list(t, x, 2, 3)[0], labels(t, class, 2)[0], list(t, y, 2, 3)[0])
		if err != nil {
			t.Fatal(err)
		}
		return float64(dtype.Slice[float32](out[0])[0])
	}
	if got := run(train.Distill{Alpha: 0.3, Temperature: 4}, student, teacher); math.Abs(got-want) > 1e-5 {
		t.Errorf("loss %v, want %v", got, want)
	}
	if got := run(train.Distill{Alpha: 1}, student, student); math.Abs(got) > 1e-6 {
		t.Errorf("loss of an equal %v, want 0", got)
	}
}
