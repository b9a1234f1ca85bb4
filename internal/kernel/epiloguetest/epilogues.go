package epiloguetest

import (
	"fmt"
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// Epilogues returns all combinations of an Epilogue's operations.
func Epilogues[T kernel.Float](channels, elements int) map[string]elementwise.Epilogue[T] {
	scale, shift, add := kerneltest.Random[T](channels, 11), kerneltest.Random[T](channels, 12), kerneltest.Random[T](elements, 13)
	all := map[string]elementwise.Epilogue[T]{}
	for _, a := range []elementwise.Activation{
		{}, {Kind: elementwise.ActRelu}, {Kind: elementwise.ActClip, Alpha: -0.25, Beta: 0.5}, {Kind: elementwise.ActLeakyRelu, Alpha: 0.1, Beta: 0}, {Kind: elementwise.ActHardSigmoid, Alpha: 0.2, Beta: 0.5},
		{Kind: elementwise.ActElu, Alpha: 0.7, Beta: 0}, {Kind: elementwise.ActSelu, Alpha: 1.5, Beta: 1.1}, {Kind: elementwise.ActSoftplus},
		{Kind: elementwise.ActHardSwish}, {Kind: elementwise.ActSilu}, {Kind: elementwise.ActSigmoid}, {Kind: elementwise.ActTanh},
	} {
		all[fmt.Sprint("shift ", a)] = elementwise.Epilogue[T]{Shift: shift, Act: a}
		all[fmt.Sprint("all ", a)] = elementwise.Epilogue[T]{Scale: scale, Shift: shift, Add: add, Act: a}
	}
	all["scale"] = elementwise.Epilogue[T]{Scale: scale}
	all["add"] = elementwise.Epilogue[T]{Add: add}
	return all
}

// Finished returns element v of channel c at position at with the epilogue e applied, by its definition.
func Finished[T kernel.Float](e *elementwise.Epilogue[T], v float64, c, at int) float64 {
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
	case elementwise.ActDefault:
		return v
	case elementwise.ActRelu:
		return max(v, 0)
	case elementwise.ActClip:
		return min(max(v, e.Act.Alpha), e.Act.Beta)
	case elementwise.ActSelu:
		return e.Act.Beta * (max(v, 0) + e.Act.Alpha*math.Expm1(min(v, 0)))
	case elementwise.ActHardSwish:
		return v * min(max(v/6+0.5, 0), 1)
	case elementwise.ActSilu:
		return v / (1 + math.Exp(-v))
	case elementwise.ActSigmoid:
		return 1 / (1 + math.Exp(-v))
	case elementwise.ActTanh:
		return math.Tanh(v)
	}
	return e.Act.Value(v)
}
