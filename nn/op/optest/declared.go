package optest

import (
	"fmt"
	"hash/crc32"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

// Declared describes what an operator declares about a call, without running it: the types it infers from sizes and from
// symbols, the values computed from shapes, couplings, rows, cost and the steps of a program; then the same, and which
// numbers in its inputs it refuses as it runs, for calls that differ from the case in one respect, with a checksum of
// their couplings where they differ: the version, an axis, axes of equal length, a rank, an input, an attribute, a
// number that a shape depends on, or how much of such numbers is known. Equal results share a line. A panic is an error.
func Declared(c Case) (string, error) {
	var b strings.Builder
	call, asks, err := c.declared(variant{types: typesOf(c.In), values: c.In})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "%s%v\n", asks, typeStrings(call.Out))
	if o := call.Op; o.Cost != nil {
		macs, bytes := o.Cost(call)
		fmt.Fprintf(&b, "\tcost %d %d\n", macs, bytes)
	}
	couples := couplings(call)
	for _, k := range couples {
		fmt.Fprintf(&b, "\tcouples %s\n", k)
	}
	if call.Op.Scheduling.Rows != nil {
		fmt.Fprintf(&b, "\trows %s\n", plainly(call.Op.Scheduling.Rows(call)))
	}
	for _, k := range dimsOf(call) {
		fmt.Fprintf(&b, "\t%s\n", k)
	}
	steps, err := c.declaredSteps()
	if err != nil {
		return "", err
	}
	b.WriteString(steps)
	b.WriteString(c.declaredProgram())
	answers, order := map[string][]string{}, []string{}
	for _, v := range c.variants() {
		a := ""
		err := guard(func() error {
			call, asks, err := c.declared(v)
			if err == nil {
				a = strings.Join(append(typeStrings(call.Out), dimsOf(call)...), " ")
				if list := couplings(call); !slices.Equal(list, couples) {
					a += fmt.Sprintf(" %d couplings, %08x", len(list), crc32.ChecksumIEEE([]byte(strings.Join(list, "\n"))))
				}
				if v.run {
					a += c.refusal(call, v)
				}
			} else {
				a = "refused: " + err.Error()
			}
			a = asks + a
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("%s: %w", v.name, err)
		}
		if answers[a] == nil {
			order = append(order, a)
		}
		answers[a] = append(answers[a], v.name)
	}
	for _, a := range order {
		fmt.Fprintf(&b, "\t%s\n\t\t%s\n", a, strings.Join(answers[a], " "))
	}
	return b.String(), nil
}

// couplings returns the couplings of a call as text.
func couplings(call *op.Call) (list []string) {
	unranked := func(t op.Type) bool { return t.Unranked }
	if call.Op.Couple == nil || slices.ContainsFunc(call.In, unranked) || slices.ContainsFunc(call.Out, unranked) {
		return nil
	}
	for _, k := range call.Op.Couple(call) {
		text := axis(k.From) + " " + axis(k.To)
		if !reflect.ValueOf(k.Map).IsZero() {
			text += fmt.Sprintf(" %+v", k.Map)
		}
		list = append(list, text)
	}
	return list
}

func axis(a coupling.Axis) string {
	if a.Output {
		return fmt.Sprintf("out%d.%d", a.Slot, a.Axis)
	}
	return fmt.Sprintf("%d.%d", a.Slot, a.Axis)
}

// plainly formats the value that a pointer points to.
func plainly(v any) string {
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && !r.IsNil() {
		return fmt.Sprintf("%+v", r.Elem().Interface())
	}
	return fmt.Sprintf("%+v", v)
}

// dimsOf returns the values of the outputs known from shape arithmetic, as text.
func dimsOf(call *op.Call) []string {
	if call.Op.Dims == nil {
		return nil
	}
	var list []string
	for _, k := range call.Op.Dims(call) {
		list = append(list, fmt.Sprintf("dims %v %v", k.Dims, k.Exact))
	}
	return list
}

func typeStrings(types []op.Type) []string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = t.String()
	}
	return list
}

// variant is a call that differs from the case in one respect.
type variant struct {
	name   string
	config op.Config
	types  []op.Type
	values []dtype.Value
	known  []op.Known // before an operator asks
	run    bool       // the operator may refuse it when it runs

	version int // since-version in force; 0: that of the case
}

// declared resolves a variant; the values of inputs that the operator asks for are known. asks lists
// these inputs and the types that are inferred before.
func (c *Case) declared(v variant) (call *op.Call, asks string, err error) {
	known := map[int]bool{}
	for {
		k := *c
		if v.config != nil {
			k.Config = v.config
		}
		if v.version != 0 {
			k.Version, k.Opset = v.version, v.version
		}
		call, err := k.call(slices.Clone(v.types))
		if err != nil {
			return nil, asks, err
		}
		copy(call.Known, v.known)
		for i := range known {
			call.Known[i] = op.Known{Value: v.values[i]}
		}
		err = call.Resolve()
		i, needs := op.Needs(err)
		if !needs || known[i] || i >= len(v.values) || v.values[i] == nil {
			return call, asks, err
		}
		asks += fmt.Sprintf("%v asks for %d: ", typeStrings(call.Out), i)
		known[i] = true
	}
}

// refusal returns the error of a variant with other values, "" if there is none or the result would be large.
func (c *Case) refusal(call *op.Call, v variant) string {
	for _, t := range call.Out {
		if t.Kind == op.Tensor && (!t.Static() || t.Elements() > 1<<16) {
			return ""
		}
	}
	k := *c
	k.In = v.values
	b, err := k.build(k.In)
	if err == nil {
		_, err = b.forward(nil)
	}
	if err != nil {
		return " refused as it runs: " + err.Error()
	}
	return ""
}

// variants lists the calls that differ from the case in one respect.
func (c *Case) variants() []variant {
	var list []variant
	types := typesOf(c.In)
	symbols, _ := symbolic(c.op(), slices.Clone(types), false, true)
	list = append(list, variant{name: "symbols", types: symbols, values: c.In})
	unknown := slices.Clone(types)
	for i, t := range types {
		if len(t.Shape) > 0 {
			unknown[i].Shape = slices.Repeat([]op.Dim{op.Unknown()}, len(t.Shape))
		}
	}
	list = append(list, variant{name: "unknown", types: unknown, values: c.In})
	for _, v := range c.op().Since {
		if v != c.Version && c.Version != 0 {
			list = append(list, variant{name: fmt.Sprintf("v%d", v), types: types, values: c.In, version: v})
		}
	}
	for i, t := range types {
		if !t.Present() {
			continue
		}
		add := func(name string, u op.Type) {
			changed := slices.Clone(types)
			changed[i] = u
			list = append(list, variant{name: fmt.Sprintf("%d%s", i, name), types: changed, values: c.In})
		}
		add("?", op.Type{})
		if t.Kind != op.Tensor {
			continue
		}
		add("*", op.Type{DType: t.DType, Unranked: true})
		for _, o := range []dtype.DType{dtype.Int8, dtype.String} {
			add(":"+o.String(), t.Of(o))
		}
		add("^", t.With(append(slices.Clone(t.Shape), op.D(1))...))
		if n := len(t.Shape); n == 0 {
			add("^2", t.With(op.D(2)))
		} else {
			add("_", t.With(t.Shape[:n-1]...))
		}
		for a, d := range t.Shape {
			for _, size := range []int{0, 1, d.Size + 1} {
				if size != d.Size {
					shape := slices.Clone(t.Shape)
					shape[a] = op.D(size)
					add(fmt.Sprintf(".%d=%d", a, size), t.With(shape...))
				}
			}
			shape := slices.Clone(t.Shape)
			shape[a] = op.Unknown()
			add(fmt.Sprintf(".%d=?", a), t.With(shape...))
		}
	}
	return slices.Concat(list, c.together(types), c.numbers(types), c.partly(types), c.attributes(types))
}

// numbers changes the first elements of integer inputs, one at a time.
func (c *Case) numbers(types []op.Type) []variant {
	var list []variant
	for i, v := range c.In {
		d, ok := v.(*tensor.Dense)
		if !ok || !dtype.DTypeOf(d).IsInteger() {
			continue
		}
		n, err := dtype.Int64s(d)
		if err != nil {
			continue
		}
		for at := range min(len(n), 8) {
			for _, x := range []int64{-1, 0, 1, n[at] + 1, 1 << 31, 1<<31 + 1, 1 << 40} {
				m := slices.Clone(n)
				m[at] = x
				w, err := dtype.ConvertTo(dtype.DTypeOf(d), Tensor(m, d.Shape()...))
				if err != nil {
					continue
				}
				values := slices.Clone(c.In)
				values[i] = w
				list = append(list, variant{name: fmt.Sprintf("%d[%d]=%d", i, at, x), types: types, values: values, run: x < 1<<31})
			}
		}
	}
	return list
}

// attributes changes one attribute at a time, or leaves it out.
func (c *Case) attributes(types []op.Type) []variant {
	o, version := c.op(), c.Version
	if o.Domain == op.Internal {
		return nil
	}
	attrs := map[string]any{}
	for _, a := range op.Encode(version, c.Config) {
		attrs[a.Name] = a.Value
	}
	var list []variant
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		for _, w := range others(attrs[name]) {
			changed := maps.Clone(attrs)
			changed[name] = w
			if cfg, err := o.Decode(version, changed); err == nil {
				list = append(list, variant{name: fmt.Sprintf("%s=%v", name, w), config: cfg, types: types, values: c.In})
			}
		}
	}
	return list
}

// others are values that an attribute might have instead.
func others(v any) []any {
	switch v := v.(type) {
	case int64:
		return []any{int64(-1), int64(0), int64(1), v + 1, int64(1) << 31, int64(1)<<31 + 1, int64(1) << 40}
	case float32:
		return []any{float32(-1.5), float32(0)}
	case string:
		return []any{"bogus", ""}
	case []int64:
		list := []any{append(slices.Clone(v), 1)}
		for i := range v {
			for _, x := range []int64{-1, 0, 1, v[i] + 1, 1 << 31, 1<<31 + 1, 1 << 40} {
				w := slices.Clone(v)
				w[i] = x
				list = append(list, w)
			}
			if i == 3 {
				break
			}
		}
		if len(v) > 0 {
			list = append(list, v[:len(v)-1])
		}
		return list
	case []float32:
		if len(v) > 0 {
			return []any{v[:len(v)-1], append(slices.Clone(v), 1)}
		}
	case []string:
		if len(v) > 0 {
			return []any{v[:len(v)-1], append(slices.Clone(v), "bogus")}
		}
	}
	return nil
}
