package kernel

import (
	"fmt"
	"math"
	"testing"
)

// epilogues are all combinations of what an Epilogue can do.
func epilogues[T Float](channels, elements int) map[string]Epilogue[T] {
	scale, shift, add := random[T](channels, 11), random[T](channels, 12), random[T](elements, 13)
	all := map[string]Epilogue[T]{}
	for _, a := range []Activation{
		{}, {Kind: ActRelu}, {ActClip, -0.25, 0.5}, {ActLeakyRelu, 0.1, 0}, {ActHardSigmoid, 0.2, 0.5},
		{ActElu, 0.7, 0}, {ActSelu, 1.5, 1.1}, {Kind: ActSoftplus},
		{Kind: ActHardSwish}, {Kind: ActSilu}, {Kind: ActSigmoid}, {Kind: ActTanh},
	} {
		all[fmt.Sprint("shift ", a)] = Epilogue[T]{Shift: shift, Act: a}
		all[fmt.Sprint("all ", a)] = Epilogue[T]{Scale: scale, Shift: shift, Add: add, Act: a}
	}
	all["scale"] = Epilogue[T]{Scale: scale}
	all["add"] = Epilogue[T]{Add: add}
	return all
}

// finished is what an Epilogue makes of y[at], by the definition.
func (e *Epilogue[T]) finished(v float64, c, at int) float64 {
	if e.Scale != nil {
		v *= float64(e.Scale[c])
	}
	if e.Shift != nil {
		v += float64(e.Shift[c])
	}
	if e.Add != nil {
		v += float64(e.Add[at])
	}
	switch e.Act.Kind {
	case ActDefault:
		return v
	case ActRelu:
		return max(v, 0)
	case ActClip:
		return min(max(v, e.Act.Alpha), e.Act.Beta)
	case ActSelu:
		return e.Act.Beta * (max(v, 0) + e.Act.Alpha*math.Expm1(min(v, 0)))
	case ActHardSwish:
		return v * min(max(v/6+0.5, 0), 1)
	case ActSilu:
		return v / (1 + math.Exp(-v))
	case ActSigmoid:
		return 1 / (1 + math.Exp(-v))
	case ActTanh:
		return math.Tanh(v)
	}
	return e.Act.value(v)
}

func testEpilogue[T Float](t *testing.T, tol float64) {
	for name, p := range pools(t) {
		for i, s := range convShapes {
			x, w := random[T](s.N*s.C*product1(s.In), 1), random[T](s.OC*s.C/max(1, s.Group)*product1(s.Kernel), 2)
			space := product1(s.Out)
			y := make([]float64, s.N*s.OC*space)
			visit(s, func(xi, wi, yi int) { y[yi] += float64(x[xi]) * float64(w[wi]) })
			for what, e := range epilogues[T](s.OC, len(y)) {
				want := make([]float64, len(y))
				for q, v := range y {
					want[q] = e.finished(v, q/space%s.OC, q)
				}
				got := random[T](len(y), 5)
				ConvForward(p, s, x, w, e, got, nil)
				near(t, fmt.Sprint(name, " ", i, *s, " ", what), wide(got), want, tol)
			}
		}
	}
}

func TestEpilogue(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testEpilogue[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testEpilogue[float64](t, 1e-12) })
}
