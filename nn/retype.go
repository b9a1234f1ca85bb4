package nn

import "github.com/graft-ml/graft/nn/op"

// retype changes the type of an input.
func (e *Edit) retype(v *Value, t op.Type) { e.setType(v, t) }
