package std

import "github.com/graft-ml/graft/nn/op"

// BitShiftConfig has the attribute of BitShift.
type BitShiftConfig struct {
	Direction string `onnx:"direction,required"` // LEFT or RIGHT
}

// Operator makes BitShiftConfig a Config.
func (BitShiftConfig) Operator() op.Name { return op.Name{Name: "BitShift"} }

func bitShift() *op.Op {
	left := binary{u: func(a, b uint64) uint64 { return a << b }}
	right := binary{u: func(a, b uint64) uint64 { return a >> b }}
	o := binary{name: "BitShift", doc: "Shifts the bits of X by Y places.", since: []int{11}, types: op.Unsigned(), attrs: BitShiftConfig{}, noGrad: "integers"}.op()
	o.In = "X T, Y T"
	o.Check = func(c *op.Call) error {
		if d := c.Config.(BitShiftConfig).Direction; d != "LEFT" && d != "RIGHT" {
			return c.Errorf("direction is %q, want LEFT or RIGHT", d)
		}
		return nil
	}
	o.Kernel = func(c *op.Call) (op.Kernel, error) {
		if c.Config.(BitShiftConfig).Direction == "LEFT" {
			return left.kernel(c)
		}
		return right.kernel(c)
	}
	return o
}
