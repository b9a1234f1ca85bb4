package kernel

import (
	"fmt"
	"math"
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

// finished is what the epilogue e makes of an element v of channel c at place at, by the definition.
func finished[T Float](e *Epilogue[T], v float64, c, at int) float64 {
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
