package generate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
)

// statements is the state of a function body: the variables and their current values.
type statements struct {
	*printer
	vars     map[*value]string // see hold
	declared map[string]bool
	free     map[string]bool // variables that can be reused
	left     map[*value]int  // number of remaining reads of a value, see expect
	held     map[string]int  // by variable: number of values in it that have remaining reads
	tried    map[string]int  // by the beginning of numbered variables: those with numbers up to it are declared
	shapes   bool
	from     map[*value][]*value // of a value that is an argument instead of a variable: the values it is made of
}

func (p *printer) statements() *statements {
	return &statements{printer: p, vars: map[*value]string{}, declared: reserved(), free: map[string]bool{}, left: map[*value]int{}, held: map[string]int{}, tried: map[string]int{}, from: map[*value][]*value{}}
}

// hold names the variable, or the expression, that is a value from now on.
func (b *statements) hold(v *value, name string) {
	if b.left[v] > 0 {
		b.held[b.vars[v]]--
		b.held[name]++
	}
	b.vars[v] = name
}

// expect adds n to the remaining reads of a value.
func (b *statements) expect(v *value, n int) {
	before, now := b.left[v], b.left[v]+n
	b.left[v] = now
	switch {
	case before <= 0 && now > 0:
		b.held[b.vars[v]]++
	case before > 0 && now <= 0:
		b.held[b.vars[v]]--
	}
}

// variables are the names of variables.
var variables = []string{"x", "y", "z", "u", "v", "w", "s", "t", "a", "b", "c", "d", "h", "k", "m", "p", "q", "r"}

// fresh returns a variable whose value is not needed any more.
func (b *statements) fresh() string {
	for _, name := range variables {
		if !b.declared[name] || b.held[name] == 0 && b.free[name] {
			return name
		}
	}
	return b.numbered("x", 1)
}

// numbered returns base with the lowest number, at least from, that makes a variable that is not declared.
func (b *statements) numbered(base string, from int) string {
	return numberedName(b.tried, base, from, func(name string) bool { return !b.declared[name] })
}

// reuse returns the variable of an input that is read for the last time, or another.
func (b *statements) reuse(in []*value) string {
	for _, v := range in {
		for _, v := range append([]*value{v}, b.from[v]...) {
			if name := b.vars[v]; b.free[name] && b.held[name] == 0 {
				return name
			}
		}
	}
	return b.fresh()
}

// assign returns "x =" or "x :=" for a value.
func (b *statements) assign(v *value, name string) string {
	b.hold(v, name)
	if b.declared[name] {
		return name + " = "
	}
	b.declared[name], b.free[name] = true, true
	return name + " := "
}

func (b *statements) read(vs []*value) {
	for _, v := range vs {
		b.expect(v, -1)
	}
}

// chain is a sequence of layers, each applied to the output of the previous one, or a single other step.
type chain []*step

// layered reports whether a step can be part of a sequence of layers.
func (s *step) layered() bool {
	if s.local != "" {
		return true
	}
	return len(s.bodies) == 0 && len(s.in) == 1 && s.in[0].val != nil && len(s.out) == 1 && s.out[0] != nil
}

// chains combines items that can be written as one statement, at the position of their last step.
func (b *statements) chains(items []item) (list []any) {
	ends := map[*value]int{} // by result of a chain: its position
	for _, x := range items {
		if x.step == nil {
			list = append(list, x.calls)
			continue
		}
		s := x.step
		c := chain{s}
		if s.layered() && !b.gorgonia {
			v := s.values()[0]
			if i, ok := ends[v]; ok && b.left[v] == 1 {
				before := list[i].(chain)
				if before[0].when == s.when {
					c = append(before, s)
					list[i] = nil
				}
			}
			ends[s.out[0]] = len(list)
		}
		list = append(list, c)
	}
	return slices.DeleteFunc(list, func(x any) bool { return x == nil })
}

// write writes the statements of a body.
func (b *statements) write(items []item) {
	list := b.chains(items)
	for i := 0; i < len(list) && !b.ended(); i++ {
		switch x := list[i].(type) {
		case []*call:
			b.calls(x)
		case chain:
			if x[0].when == "" {
				if i+1 < len(list) && isChain(list[i+1]) && b.nests(x, list[i+1].(chain)) {
					continue
				}
				b.statement(x, "")
				continue
			}
			n := i + 1
			for n < len(list) && isChain(list[n]) && list[n].(chain)[0].when == x[0].when {
				n++
			}
			b.conditional(list[i:n])
			i = n - 1
		}
	}
}

// nests reports whether a statement was nested into the next one as an argument, because only that reads its result.
func (b *statements) nests(c, next chain) bool {
	s, to := c[0], next[0]
	if b.gorgonia {
		return false
	}
	if len(c) > 1 || s.alone || len(s.bodies) > 0 || s.layer != nil || s.local != "" || len(s.out) != 1 || next[0].when != "" || b.left[s.out[0]] != 1 || !to.layered() {
		return false
	}
	if to.layer == nil && to.local == "" || to.values()[0] != s.out[0] {
		return false
	}
	text := fmt.Sprintf("e.Node(%s, %s).Out(0)", b.config(s), b.args(s))
	if len(text) > 70 || len(next) == 1 && len(text)+len(b.layer(to)) > 120 {
		return false
	}
	b.read(s.values())
	b.hold(s.out[0], text)
	b.from[s.out[0]] = s.values()
	return true
}

func isChain(x any) bool { _, ok := x.(chain); return ok }

// conditional writes steps that are executed only if a parameter is true. Their result is assigned to the variable of
// the value that replaces it otherwise.
func (b *statements) conditional(list []any) {
	inside := map[*value]*step{}
	for _, x := range list {
		for _, s := range x.(chain) {
			inside[s.out[0]] = s
		}
	}
	last := list[len(list)-1].(chain)
	out := last[len(last)-1].out[0]
	past := out // the value that replaces out
	for inside[past] != nil {
		past = inside[past].in[inside[past].bypass].val
	}
	reads := 0
	for _, x := range list {
		for _, s := range x.(chain) {
			for _, v := range s.values() {
				if v == past {
					reads++
				}
			}
		}
	}
	name := b.vars[past]
	if b.left[past] > reads { // its value is still needed
		name = b.fresh()
		b.f("%s := %s\n", name, b.vars[past])
		b.declared[name], b.free[name] = true, true
	}
	b.f("if %s {\n", last[0].when)
	outside, tried := maps.Clone(b.declared), maps.Clone(b.tried)
	for i, x := range list {
		if i == len(list)-1 {
			b.statement(x.(chain), name)
			continue
		}
		b.statement(x.(chain), "")
	}
	b.f("}\n")
	b.declared, b.tried = outside, tried // leaves the scope of the block
}

// statement writes a chain. into is the variable for its output, "" for any.
func (b *statements) statement(c chain, into string) {
	first, last := c[0], c[len(c)-1]
	if b.gorgonia {
		b.step(first, into)
		return
	}
	if len(c) == 1 && (!first.layered() || first.layer == nil && first.local == "") {
		b.single(first, into)
		return
	}
	in := b.vars[first.values()[0]]
	for _, s := range c {
		b.read(s.values())
	}
	if into == "" {
		into = b.reuse(first.values())
	}
	left := b.assign(last.out[0], into)
	if len(c) == 1 {
		b.f("%se.Apply(%s, %s)%s\n", left, b.layer(first), in, b.comment(last.out[0]))
		return
	}
	b.f("%se.Apply(%s{\n", left, b.q(symSequential))
	line, shape := "", shapeOf(first.values()[0].typ)
	for i, s := range c {
		text := b.layer(s) + ","
		if line += text; i+1 < len(c) && len(line)+len(b.layer(c[i+1])) < 148 && (len(c[i+1].weights) == 0 || len(s.weights) == 1) && (shapeOf(c[i+1].out[0].typ) == shapeOf(s.out[0].typ) || len(line)+len(b.layer(c[i+1])) < 80) {
			line += " "
			continue
		}
		comment := ""
		if now := shapeOf(s.out[0].typ); now != shape && i+1 < len(c) {
			comment, shape = b.comment(s.out[0]), now
		}
		b.f("%s%s\n", line, comment)
		line = ""
	}
	b.f("}, %s)%s\n", in, b.comment(last.out[0]))
}

// f writes a line. The comment of a long line is omitted, because gofmt would align the comments of adjacent lines with it.
func (b *statements) f(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if at := strings.LastIndex(line, " // "); at > 110 && !strings.Contains(line[at:], "\"") {
		line = line[:at] + "\n"
	}
	b.WriteString(line)
}

func (b *statements) comment(v *value) string {
	if s := shapeOf(v.typ); b.shapes && s != "" {
		return " // " + s
	}
	return ""
}

// layer returns a step as a layer.
func (b *statements) layer(s *step) string {
	switch {
	case s.local != "":
		return s.local
	case s.layer != nil:
		return b.comp(s.layer)
	}
	return b.q(symOp) + "{Config: " + b.config(s) + "}"
}

// args returns the inputs of a step.
func (b *statements) args(s *step) string { return b.argList(s, s.in[:s.inputs()]) }

func (b *statements) argList(s *step, args []arg) string {
	var list []string
	for _, a := range args {
		switch {
		case a.val != nil:
			list = append(list, b.vars[a.val])
		case a.con != nil:
			list = append(list, b.constant(s, a.con))
		default:
			list = append(list, "nil")
		}
	}
	return strings.Join(list, ", ")
}

// single writes a step that is not a row of layers.
func (b *statements) single(s *step, into string) {
	args, config := b.args(s), ""
	if s.alone {
		name := b.called(s.in[0].con)
		b.f("%s%s%s\n", b.assign(s.out[0], name), args, b.comment(s.out[0]))
		b.free[name] = slices.Contains(variables, name)
		return
	}
	if s.layer == nil {
		config = b.config(s)
	}
	b.read(s.values())
	if s.layer != nil && len(s.out) == 1 {
		if into == "" {
			into = b.reuse(s.values())
		}
		left := b.assign(s.out[0], into)
		b.f("%se.Apply(%s, %s)%s\n", left, b.comp(s.layer), args, b.comment(s.out[0]))
		return
	}
	if len(s.out) == 1 {
		if into == "" {
			into = b.reuse(s.values())
		}
		left := b.assign(s.out[0], into)
		b.f("%se.Node(%s, %s).Out(0)%s\n", left, config, args, b.comment(s.out[0]))
		return
	}
	b.several(s, args, config)
}

// called returns a variable for a parameter: the last part of its name, unless that is taken. It keeps the parameter.
func (b *statements) called(c *constant) string {
	name, _ := c.name.v.(string)
	if name = variable(lastPart(name)); b.declared[name] || len(name) > 12 {
		return b.fresh()
	}
	return name
}

// several writes a step with several outputs.
func (b *statements) several(s *step, args, config string) {
	all := "out"
	if b.declared[all] {
		all = b.numbered(all, 2)
	}
	b.declared[all] = true
	if s.layer != nil {
		b.f("%s := e.ApplyAll(%s, %s)\n", all, b.comp(s.layer), args)
		b.helpers["at"] = true
	} else {
		b.f("%s := e.NodeN(%s, %d, %s)\n", all, config, len(s.out), args)
	}
	var left, right []string
	comment, assign := "", " = "
	for i, v := range s.out {
		if v == nil || b.left[v] == 0 {
			continue
		}
		name := b.fresh()
		if strings.HasSuffix(b.assign(v, name), ":= ") {
			assign = " := "
		}
		left = append(left, name)
		if s.layer != nil {
			right = append(right, fmt.Sprintf("at(%s, %d)", all, i))
		} else {
			right = append(right, fmt.Sprintf("%s.Out(%d)", all, i))
		}
		if comment == "" {
			comment = b.comment(v)
		}
	}
	b.f("%s%s%s%s\n", strings.Join(left, ", "), assign, strings.Join(right, ", "), comment)
}

// constant returns a constant input of an operator.
func (b *statements) constant(s *step, c *constant) string {
	name := b.lit(c.name)
	dt := dtype.Of(c.data.Dtype())
	dims := func() string {
		if list, ok := strings.CutPrefix(c.list.ref, "[]int{"); ok {
			return strings.TrimSuffix(list, "}")
		}
		if c.list.ref != "" {
			return c.list.ref + "..."
		}
		return b.elements(c.list.v)
	}
	switch c.kind {
	case conInts:
		return fmt.Sprintf("e.Ints(%s, %s)", name, dims())
	case conScalar:
		return fmt.Sprintf("e.Scalar(%s, %s, %s)", name, b.vars[s.like(c)], b.lit(c.list))
	case conSmall:
		b.helpers["constant"] = true
		shape := ""
		for _, n := range c.data.Shape() {
			shape += ", " + strconv.Itoa(n)
		}
		return fmt.Sprintf("constant(e, %s, %s%s)", name, b.lit(c.list), shape)
	case conParam:
		init := b.q(symbolOf(reflect.TypeOf(c.fill))) + "{}"
		if dt == dtype.Float32 {
			return fmt.Sprintf("e.Param(%s, %s, %s)", name, init, dims())
		}
		return fmt.Sprintf("e.ParamOf(%s, %s, %s, %s)", name, b.text(dt), init, dims())
	}
	b.helpers["blank"] = true
	if c.data.Dims() == 0 {
		return fmt.Sprintf("blank(e, %s, %s)", name, b.text(dt))
	}
	return fmt.Sprintf("blank(e, %s, %s, %s)", name, b.text(dt), dims())
}
