package op

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// Op describes one ONNX operator. It is a plain struct: functions that do not apply are nil.
//
// The forward computation is one of three: Kernel (on slices, for everything with static shapes, perhaps with Strings
// beside it), Func (on values: sequences, shapes that depend on data) or Lower (an expression of other operators).
type Op struct {
	Domain string // "" is ai.onnx
	Name   string // ONNX's spelling
	Doc    string // one sentence
	Since  []int  // the operator-set versions that changed it, ascending
	// Versions are the versions at which its spelling or meaning changed, ascending, see Version.
	Versions []Version
	In       Slots  // formal inputs, see Slots
	Out      Slots  // formal outputs
	Where    Where  // element types of the type variables in In and Out; missing: all
	Attrs    Config // the zero configuration: a struct with `onnx` tags (see Decode); nil: no attributes

	// Decompose writes a node of the latest version as nodes of other operators, using Spelling.Before and Give. It is used
	// for operator sets that lack the operator, and for operators of Domain "graft" in files that train (Set.Spell). nil:
	// there is no decomposition.
	Decompose func(n *Spelling) error

	// Expose writes a node of the latest version, with the hidden outputs after the formal ones, as nodes of other
	// operators, see Set.Spell. nil: a file cannot hold the operator where training reads its hidden outputs.
	Expose func(n *Spelling) error

	// Check validates a decoded configuration. It may also rewrite c.Config: fill in a default, or turn an earlier spelling
	// into the newest, so that the other functions know only that one. The graph and its files keep what they had.
	Check func(c *Call) error
	// Infer returns the types of the outputs as far as they are known: symbols are kept. It must also work with concrete
	// shapes. It asks for the value of an input that shapes depend on with Call.Ints.
	Infer func(c *Call) ([]Type, error)
	// Dims carries out computations on shapes: what is known of the values of the outputs, given what is known of those of
	// the inputs.
	Dims func(c *Call) []Known

	Kernel func(c *Call) (Kernel, error)
	Func   func(c *Call, in []dtype.Value) ([]dtype.Value, error)
	Lower  func(c *Call, in gorgonia.Nodes) (gorgonia.Nodes, error)
	// Random: Kernel gets one more input after the formal ones, a key: uint64[2], seed and step.
	Random bool
	// Strings is used instead of Kernel if an input or output is a tensor of strings or a container, which have no flat
	// storage. nil beside a Kernel: the operator does not take those.
	Strings func(c *Call, in []dtype.Value) ([]dtype.Value, error)

	// Items is used instead of Func if containers hold nodes of an expression graph: it selects, packs and unpacks. nil: the
	// operator takes containers as whole values, through which no gradient flows.
	Items func(c *Call, in []Item) ([]Item, error)

	// Grad returns the gradient with respect to every input (nil: none), given inputs, outputs and gradients with respect to
	// outputs. in and dout hold nil for what is absent; out has the hidden outputs after the formal ones.
	Grad func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error)
	// NoGrad is the reason, if Grad is nil, why gradients through the operator are zero: the derivative is
	// zero wherever it exists, or no output is a floating-point tensor.
	NoGrad string
	// GradMissing is the reason why there is no Grad although the derivative is not zero. Requesting a
	// gradient through the operator is an error.
	GradMissing string

	// Hidden returns the types of outputs beyond the formal ones, which Grad or State needs: masks, saved statistics.
	Hidden func(c *Call) []Type
	// State lists the outputs that replace an input's value after a training step.
	State func(c *Call) []Update

	// Scheduling declares how the engine may run the call faster or in less memory. The zero value is
	// valid for every operator.
	Scheduling Scheduling

	// Couple returns how the channel indices of inputs, parameters and outputs correspond.
	Couple func(c *Call) []coupling.Coupling
	// Pinned is the reason, if Couple is nil, why the lengths of the operator's axes cannot change.
	Pinned string

	// Traits describe the operator to code that changes, prunes or trains graphs.
	Traits Traits

	// Cost returns the number of multiply-adds and of bytes moved; nil: no multiply-adds, inputs and outputs moved once.
	Cost func(c *Call) (macs, bytes int64)
	// Export returns the ONNX form of an operator that is only used inside lowerings: a configuration, and constants that
	// follow the inputs. nil in an operator of Domain "graft": there is none.
	Export func(c *Call) (Config, []dtype.Value)
}

// Internal is the domain of operators that exist only in lowerings (gradients mostly).
const Internal = "graft"

// Config is plain data: the name of an operator together with its attributes, such as std.ConvConfig{Group: 8}. What the
// operator does is looked up by name in a Set: that of the graph, or that of the Call which a gradient belongs to. An
// operator with attributes has one configuration type (Op.Attrs). Name and Plain can be used for an operator without
// attributes, or with default values for all.
type Config interface{ Operator() Name }

// Name identifies an operator in a Set. As a Config it stands for the operator with default attributes.
type Name struct {
	Domain string // "" is ai.onnx
	Name   string // the operator's type, as nodes of a file spell it
}

// Operator returns n, which makes Name a Config.
func (n Name) Operator() Name { return n }

// String returns the name preceded by its domain: "Relu", "com.microsoft.Gelu".
func (n Name) String() string {
	if n.Domain == "" {
		return n.Name
	}
	return n.Domain + "." + n.Name
}

// Plain is the Name of an operator in the standard domain: e.Node(op.Plain("Relu"), x).
type Plain string

// Operator makes Plain a Config.
func (p Plain) Operator() Name { return Name{Name: string(p)} }

// Operator returns the name by which a Set finds the operator. It makes *Op a Config with default attributes; the Set may
// hold another operator by that name.
func (o *Op) Operator() Name { return Name{Domain: o.Domain, Name: o.Name} }

// Update declares that output Out is the next value of input In.
type Update struct{ Out, In int }

// Known is what is known of a value before the graph runs.
type Known struct {
	Value  dtype.Value // the whole value
	Dims   []Dim       // of an integer tensor of rank 0 or 1: its elements as dimensions
	Frozen bool        // training does not change it: a running statistic is not updated
	Apart  bool        // no gradient is computed with respect to it or to anything it depends on
	Exact  bool        // negative elements of Dims are numbers rather than unknown dimensions
}

// InputRole is the purpose of an input.
type InputRole uint8

// The roles of inputs.
const (
	Data   InputRole = iota
	Weight           // a floating-point initializer here is trained by default
	State            // running statistics: updated by the operator, never by gradients
	Shape            // shapes depend on its value
	given            // a floating-point value that is treated as computed outside of the network: no gradient flows to it
	fixed            // a floating-point value without a gradient, although the derivative is not zero
)

// FormalParameter is one formal input or output.
type FormalParameter struct {
	Name     string    // its formal name
	Type     string    // type variable or element type
	Role     InputRole // its purpose
	Optional bool      // it may be absent
	Variadic bool      // it is the last one and stands for any number of values

	fixed DType // the element type, if Type is one
}

// Slots lists formal inputs or outputs on one line: "X T, W T weight, B? T weight, rest* T". Each has a name (? optional,
// * variadic), a type variable or an element type, and, for inputs, a role: weight, state, shape, given or fixed.
type Slots string

// slotLists caches parsed lists, which every walk reads at every node.
var slotLists sync.Map

// List parses the line. It panics if the line is malformed, which Validate reports. The result is shared: do not modify
// it.
func (s Slots) List() []FormalParameter {
	if s == "" {
		return nil
	}
	if list, ok := slotLists.Load(s); ok {
		return list.([]FormalParameter)
	}
	list := slices.Clip(s.parse())
	slotLists.Store(s, list)
	return list
}

func (s Slots) parse() []FormalParameter {
	var list []FormalParameter
	for _, item := range strings.Split(string(s), ",") {
		f := strings.Fields(item)
		if len(f) < 2 || len(f) > 3 {
			panic(fmt.Sprintf("op: slot %q: want a name, a type and perhaps a role", item))
		}
		slot := FormalParameter{Name: f[0], Type: f[1]}
		if n, ok := strings.CutSuffix(slot.Name, "?"); ok {
			slot.Name, slot.Optional = n, true
		}
		if n, ok := strings.CutSuffix(slot.Name, "*"); ok {
			slot.Name, slot.Variadic = n, true
		}
		if len(f) == 3 {
			role, ok := map[string]InputRole{"weight": Weight, "state": State, "shape": Shape, "given": given, "fixed": fixed, "data": Data}[f[2]]
			if !ok {
				panic(fmt.Sprintf("op: slot %q: no role %q", item, f[2]))
			}
			slot.Role = role
		}
		if t, err := dtype.Parse(slot.Type); err == nil {
			slot.fixed = t
		}
		list = append(list, slot)
	}
	return list
}

// At returns the formal slot of actual position i: the last slot repeats if it is variadic. It reports false if there is
// none.
func At(list []FormalParameter, i int) (FormalParameter, bool) {
	if i < len(list) {
		return list[i], true
	}
	if n := len(list); n > 0 && list[n-1].Variadic {
		return list[n-1], true
	}
	return FormalParameter{}, false
}

// Where gives the element types that each type variable stands for.
type Where map[string][]DType

// Floats returns the floating-point types that operators compute with.
func Floats() []DType { return []DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} }

// Signed returns the signed integer types of 8 to 64 bits.
func Signed() []DType { return []DType{dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64} }

// Unsigned returns the unsigned integer types of 8 to 64 bits.
func Unsigned() []DType { return []DType{dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64} }

// Integers returns the signed and unsigned integer types of 8 to 64 bits.
func Integers() []DType { return append(Signed(), Unsigned()...) }

// Numeric returns Floats and Integers.
func Numeric() []DType { return append(Floats(), Integers()...) }

// Indices returns the types of indices into an axis.
func Indices() []DType { return []DType{dtype.Int32, dtype.Int64} }

// Version returns the since-version that applies in operator set v, 0 if the operator was added later.
func (o *Op) Version(v int) int {
	since := 0
	for _, s := range o.Since {
		if s <= v {
			since = s
		}
	}
	return since
}

// Latest returns the newest since-version.
func (o *Op) Latest() int {
	if len(o.Since) == 0 {
		return 1
	}
	return o.Since[len(o.Since)-1]
}

// String returns the operator's name with its domain.
func (o *Op) String() string { return o.Operator().String() }
