package std

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// CastConfig has the attributes of Cast.
type CastConfig struct {
	To        op.DType `onnx:"to,required"`                    // type of the output
	Saturate  *bool    `onnx:"saturate,since=19,nil=true"`     // float8: values out of range become the largest finite one; nil: true
	RoundMode string   `onnx:"round_mode,default=up,since=24"` // float8e8m0 only: up, down or nearest
}

// Operator makes CastConfig a Config.
func (CastConfig) Operator() op.Name { return op.Name{Name: "Cast"} }

// CastLikeConfig has the attributes of CastLike, which have the same meaning as in CastConfig.
type CastLikeConfig struct {
	Saturate  *bool  `onnx:"saturate,since=19,nil=true"`
	RoundMode string `onnx:"round_mode,default=up,since=24"`
}

// Operator makes CastLikeConfig a Config.
func (CastLikeConfig) Operator() op.Name { return op.Name{Name: "CastLike"} }

func cast() *op.Op {
	return &op.Op{
		Name: "Cast", Since: []int{1, 6, 9, 13, 19, 21, 23, 24, 25}, Versions: castVersions(), Doc: "Changes the element type.",
		In: "input T1", Out: "output T2", Attrs: CastConfig{}, Check: checkCast,
		Infer: inferCast, Dims: castDims, Kernel: castKernel, Strings: castStrings, Grad: castGrad,
		Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
		Traits: op.Traits{Zero: op.ZeroFirst, Moves: trait.MovedInOrder},
	}
}

func castLike() *op.Op {
	return &op.Op{
		Name: "CastLike", Since: []int{15, 19, 21, 23, 24, 25}, Versions: castLikeVersions(), Decompose: decomposeCastLike, Doc: "Changes the element type to that of another tensor.",
		In: "input T1, target_type T2", Out: "output T2", Attrs: CastLikeConfig{}, Check: checkCast,
		Infer: inferCast, Dims: castDims, Kernel: castKernel, Strings: castStrings, Grad: castGrad,
		Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
		Traits: op.Traits{Zero: op.ZeroFirst, Moves: trait.MovedInOrder},
	}
}

// castOf returns the target type and the manner of conversion of either operator.
func castOf(c *op.Call) (to op.DType, how dtype.Cast, mode string) {
	var saturate *bool
	switch cfg := c.Config.(type) {
	case CastConfig:
		to, saturate, mode = cfg.To, cfg.Saturate, cfg.RoundMode
	case CastLikeConfig:
		to, saturate, mode = c.In[1].DType, cfg.Saturate, cfg.RoundMode
	}
	how.NoSaturate = saturate != nil && !*saturate
	switch mode {
	case "down":
		how.Round = dtype.Down
	case "nearest":
		how.Round = dtype.Nearest
	}
	return to, how, mode
}

func checkCast(c *op.Call) error {
	to, _, mode := castOf(c)
	if !to.Valid() {
		return c.Errorf("there is no element type %d", int32(to))
	}
	if from := c.In[0].DType; to.IsComplex() != from.IsComplex() {
		return c.Errorf("cannot convert %v to %v", from, to)
	}
	switch mode {
	case "", "up", "down", "nearest":
		return nil
	}
	return c.Errorf("round_mode is %q, want up, down or nearest", mode)
}

func inferCast(c *op.Call) ([]op.Type, error) {
	to, _, _ := castOf(c)
	return []op.Type{c.In[0].Of(to)}, nil
}

// castDims keeps dimensions in casts to integer types, in which they are exact.
func castDims(c *op.Call) []op.Known {
	to, _, _ := castOf(c)
	if to != dtype.Int64 && to != dtype.Int32 || !c.In[0].DType.IsInteger() {
		return nil
	}
	d, err := c.Dims(0)
	if err != nil {
		return nil
	}
	return []op.Known{{Dims: d, Exact: c.Exact(0, d)}}
}

func castKernel(c *op.Call) (op.Kernel, error) {
	_, how, _ := castOf(c)
	return func(x *op.Exec, out, in []*tensor.Dense) error { return convert(pool(x), how, out[0], in[0]) }, nil
}

func castGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	from := c.In[0].DType
	if !from.IsFloat() || !c.Out[0].DType.IsFloat() {
		return nil, nil
	}
	if from == c.Out[0].DType {
		return gorgonia.Nodes{dout[0]}, nil
	}
	d, err := c.Apply1(CastConfig{To: from}, dout[0])
	return gorgonia.Nodes{d}, err
}

// castStrings converts from strings, to strings, or copies them.
func castStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	to, how, _ := castOf(c)
	if s, ok := in[0].(*dtype.Strings); ok {
		if to == dtype.String {
			return copyValue(c, in)
		}
		d, err := parseNumbers(c, s, to, how)
		if err != nil {
			return nil, err
		}
		return []dtype.Value{d}, nil
	}
	d, ok := in[0].(*tensor.Dense)
	if !ok {
		return nil, c.Mismatch(0, "a tensor", op.TypeOf(in[0]))
	}
	if to != dtype.String {
		out := engine.Uncleared(to, d.Shape()...)
		return []dtype.Value{out}, how.Convert(out, d)
	}
	// The numbers in a common type, and each text's header and at least 16 bytes of content.
	release, err := reserve(c, 40*d.Shape().TotalSize())
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := formatNumbers(d)
	if err != nil {
		return nil, c.Errorf("%w", err)
	}
	s, err := dtype.NewStrings(text, d.Shape()...)
	return []dtype.Value{s}, err
}

// parseNumbers reads strings as numbers: plain or scientific notation, INF, NaN in any case.
func parseNumbers(c *op.Call, s *dtype.Strings, to op.DType, how dtype.Cast) (*tensor.Dense, error) {
	release, err := (*engine.Exec)(nil).Reserve(int64(8+to.Size()) * int64(len(s.Elems)))
	if err != nil {
		return nil, err
	}
	defer release()
	out := engine.Uncleared(to, s.Dims...)
	if to.IsInteger() {
		n := make([]int64, len(s.Elems))
		for i, e := range s.Elems {
			v, err := strconv.ParseInt(strings.TrimSpace(e), 10, 64)
			if err != nil {
				f, ferr := strconv.ParseFloat(strings.TrimSpace(e), 64)
				if ferr != nil {
					return nil, c.Errorf("element %d is %q, which is not a number", i, e)
				}
				v = int64(f)
			}
			n[i] = v
		}
		d, err := dtype.FromSlice(n, s.Dims...)
		if err != nil {
			return nil, err
		}
		return out, how.Convert(out, d)
	}
	v := make([]float64, len(s.Elems))
	for i, e := range s.Elems {
		f, err := strconv.ParseFloat(strings.TrimSpace(e), 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, c.Errorf("element %d is %q, which is not a number", i, e)
		}
		v[i] = f
	}
	d, err := dtype.FromSlice(v, s.Dims...)
	if err != nil {
		return nil, err
	}
	return out, how.Convert(out, d)
}

// formatNumbers formats floats with the fewest digits that identify them in their type.
func formatNumbers(d *tensor.Dense) ([]string, error) {
	t := dtype.Of(d.Dtype())
	if t == dtype.Uint64 {
		list := make([]string, d.Shape().TotalSize())
		for i, v := range dtype.Slice[uint64](d) {
			list[i] = strconv.FormatUint(v, 10)
		}
		return list, nil
	}
	if !t.IsFloat() {
		v, err := dtype.Int64s(d)
		list := make([]string, len(v))
		for i, n := range v {
			if list[i] = strconv.FormatInt(n, 10); t == dtype.Bool {
				list[i] = map[bool]string{true: "True", false: "False"}[n != 0]
			}
		}
		return list, err
	}
	v, err := dtype.Float64s(d)
	list := make([]string, len(v))
	for i, f := range v {
		list[i] = formatFloat(f, t)
	}
	return list, err
}

func formatFloat(f float64, t op.DType) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "INF"
	case math.IsInf(f, -1):
		return "-INF"
	}
	bits := 32
	if t == dtype.Float64 {
		bits = 64
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'e'
	}
	s := strconv.FormatFloat(f, format, -1, bits)
	if format == 'f' && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// castVersions: before version 19 results of 8 bits are not floats, and so do not saturate.
func castVersions() []op.Version {
	return []op.Version{{At: 19, Down: op.OnConfig(func(n *op.Spelling, c *CastConfig) error {
		c.Saturate = saturated(c.Saturate, c.To)
		return nil
	})}}
}

func castLikeVersions() []op.Version {
	return []op.Version{{At: 19, Down: op.OnConfig(func(n *op.Spelling, c *CastLikeConfig) error {
		c.Saturate = saturated(c.Saturate, n.DType(1))
		return nil
	})}}
}

// saturated drops an attribute that means nothing to other types than floats of 8 bits.
func saturated(s *bool, t op.DType) *bool {
	if !t.IsFloat() || t.Bits() != 8 {
		return nil
	}
	return s
}

// decomposeCastLike makes it a Cast to a type that is known.
func decomposeCastLike(n *op.Spelling) error {
	if !n.Has(1) || n.In[1].Type.DType == dtype.Undefined {
		return errors.New("the type of its second input is not known")
	}
	c := n.Config.(CastLikeConfig)
	n.Give(0, n.Before("", CastConfig{To: n.In[1].Type.DType, Saturate: c.Saturate, RoundMode: c.RoundMode}, n.In[0]))
	return nil
}
