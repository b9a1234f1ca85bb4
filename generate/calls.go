package generate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// item is a statement of the model: a step, or consecutive calls.
type item struct {
	step  *step
	calls []*call
}

// items returns the statements of the model, in order.
func (r *reader) items(fns []*function) []item {
	at := map[*step]*call{}
	for _, f := range fns {
		for _, c := range f.calls {
			for _, s := range c.steps {
				at[s] = nil
			}
			at[c.steps[len(c.steps)-1]] = c
		}
	}
	var list []item
	for _, s := range r.steps {
		c, inside := at[s]
		switch {
		case !inside:
			list = append(list, item{step: s})
		case c == nil:
		case len(list) > 0 && follows(list[len(list)-1].calls, c):
			last := &list[len(list)-1]
			last.calls = append(last.calls, c)
		default:
			list = append(list, item{calls: []*call{c}})
		}
	}
	return list
}

// follows reports whether a call continues from the results of the previous calls, so that a loop can make all of them.
func follows(before []*call, c *call) bool {
	if len(before) == 0 {
		return false
	}
	last := before[len(before)-1]
	carried := len(last.outs)
	if last.fn != c.fn || len(c.in) < carried || !slices.Equal(c.in[:carried], last.outs) || !slices.Equal(c.in[carried:], last.in[carried:]) {
		return false
	}
	return !slices.ContainsFunc(last.outs, func(v *value) bool { // nothing else reads intermediate values
		users := 0
		for _, s := range slices.Concat(last.steps, c.steps) {
			for _, x := range s.values() {
				if x == v {
					users++
				}
			}
		}
		return v == nil || users != v.users
	})
}

// reads returns the values that an item reads, once for each time that it is written.
func (x item) reads() []*value {
	if x.step != nil {
		return x.step.values()
	}
	return x.calls[0].reads()
}

// reads returns the values that a call reads.
func (c *call) reads() []*value {
	return slices.DeleteFunc(slices.Clone(c.in), func(v *value) bool { return v == nil })
}

// arguments returns the arguments of a call besides values.
func (c *call) arguments(p *printer) (list []string) {
	if c.fn.named {
		list = append(list, strconv.Quote(c.fn.prefix[c.index]))
	}
	for _, x := range c.fn.params {
		list = append(list, p.text(x.vals[c.index]))
	}
	return list
}

// calls writes one call, or a loop over several.
func (b *statements) calls(list []*call) {
	first := list[0]
	if len(list) == 2 {
		for _, v := range slices.Concat(first.outs, first.in[len(first.outs):]) { // the second call reads them, too
			if v != nil {
				b.expect(v, 1)
			}
		}
		b.calls(list[:1])
		b.calls(list[1:])
		return
	}
	f, args := first.fn, []string{"e"}
	if b.gorgonia {
		args[0] = "m"
	}
	for _, v := range first.in {
		if v == nil {
			args = append(args, "nil")
			continue
		}
		args = append(args, b.vars[v])
	}
	if len(list) > 1 {
		b.loop(list, args)
		return
	}
	b.read(first.reads())
	var names []string
	assign, comment := " = ", ""
	for _, v := range first.outs {
		if v == nil || b.left[v] == 0 {
			names = append(names, "_")
			continue
		}
		name := b.reuse(first.reads())
		if strings.HasSuffix(b.assign(v, name), ":= ") {
			assign = " := "
		}
		if names = append(names, name); comment == "" {
			comment = b.comment(v)
		}
	}
	b.f("%s%s%s(%s)%s\n", strings.Join(names, ", "), assign, f.name, strings.Join(append(args, first.arguments(b.printer)...), ", "), comment)
}

// loop writes a loop over calls, each of which continues from the results of the previous one.
func (b *statements) loop(list []*call, args []string) {
	first, last := list[0], list[len(list)-1]
	carried := len(first.outs)
	rest := func() (read []*value) {
		for _, v := range first.in[carried:] {
			if v != nil {
				read = append(read, v)
			}
		}
		return read
	}()
	defer b.read(rest) // every iteration of the loop reads them
	var names []string
	for i, v := range first.in[:carried] {
		if v != nil {
			b.read([]*value{v})
		}
		out := last.outs[i]
		if out == nil {
			out = &value{} // a variable that only the loop reads
		}
		b.expect(out, 1)
		name := ""
		if v == nil {
			name = b.fresh()
			b.assign(out, name)
			b.f("var %s *%s\n", name, b.q(symValue))
		} else if name = b.reuse([]*value{v}); name != b.vars[v] {
			b.f("%s%s\n", b.assign(out, name), b.vars[v])
		}
		b.hold(out, name)
		defer func() { b.expect(out, -1) }()
		args[1+i], names = name, append(names, name)
	}
	b.turns(list, args, strings.Join(names, ", "))
}

// turns writes a loop that assigns to the variables in names.
func (b *statements) turns(list []*call, args []string, names string) {
	f, comment := list[0].fn, b.comment(list[len(list)-2].outs[0])
	if from, form, ok := f.counted(list); ok {
		b.imports["fmt"] = true
		i := "i"
		if from > 0 {
			i = fmt.Sprintf("i+%d", from)
		}
		rest := append([]string{fmt.Sprintf("fmt.Sprintf(%q, %s)", form, i)}, list[0].arguments(b.printer)[1:]...)
		b.f("for i := range %d {\n%s = %s(%s, %s)%s\n}\n", len(list), names, f.name, strings.Join(args, ", "), strings.Join(rest, ", "), comment)
		return
	}
	b.table(list, args, names)
}

// table writes a loop over the rows of a table with the arguments that differ between calls.
func (b *statements) table(list []*call, args []string, name string) {
	f := list[0].fn
	var columns []*param
	if f.named {
		args = append(args, "row.name")
	}
	for _, p := range f.params {
		if !p.varies(list) {
			args = append(args, b.text(p.vals[list[0].index]))
			continue
		}
		columns = append(columns, p)
		args = append(args, "row."+p.name)
	}
	if len(columns) == 0 && f.named {
		var names []string
		for _, c := range list {
			names = append(names, strconv.Quote(f.prefix[c.index]))
		}
		args[slices.Index(args, "row.name")] = "name"
		b.f("for _, name := range []string{%s} {\n%s = %s(%s)\n}\n", strings.Join(names, ", "), name, f.name, strings.Join(args, ", "))
		return
	}
	b.f("for _, row := range []struct{\n")
	if f.named {
		b.f("name string\n")
	}
	b.f("%s}{\n", parameters(columns, "\n"))
	for _, c := range list {
		var row []string
		if f.named {
			row = append(row, strconv.Quote(f.prefix[c.index]))
		}
		for _, p := range columns {
			row = append(row, b.text(p.vals[c.index]))
		}
		comment := ""
		if v := c.outs[0]; v != nil {
			comment = b.comment(v)
		}
		b.f("{%s},%s\n", strings.Join(row, ", "), comment)
	}
	b.f("} {\n%s = %s(%s)\n}\n", name, f.name, strings.Join(args, ", "))
}

// varies reports whether a parameter differs between calls.
func (p *param) varies(list []*call) bool {
	for _, c := range list {
		if !same(p.vals[c.index], p.vals[list[0].index]) {
			return true
		}
	}
	return false
}

// parameters returns the declarations of the parameters, with consecutive parameters of one type grouped.
func parameters(list []*param, separator string) string {
	var b strings.Builder
	for i, p := range list {
		b.WriteString(p.name)
		if i+1 < len(list) && list[i+1].typ == p.typ {
			b.WriteString(", ")
			continue
		}
		b.WriteString(" " + p.typ + separator)
	}
	return b.String()
}

// counted reports whether calls differ only in a consecutive number in their names.
func (f *function) counted(list []*call) (from int, form string, ok bool) {
	if !f.named || slices.ContainsFunc(f.params, func(p *param) bool { return p.varies(list) }) {
		return 0, "", false
	}
	for i, c := range list {
		name := f.prefix[c.index]
		at := digits.FindAllStringIndex(name, -1)
		if at == nil {
			return 0, "", false
		}
		last := at[len(at)-1]
		n, err := strconv.Atoi(name[last[0]:last[1]])
		now := strings.ReplaceAll(name[:last[0]], "%", "%%") + "%d" + strings.ReplaceAll(name[last[1]:], "%", "%%")
		if err != nil || i > 0 && (n != from+i || now != form) {
			return 0, "", false
		}
		if i == 0 {
			from, form = n, now
		}
	}
	return from, form, true
}

// print writes the function.
func (f *function) print(p *printer) {
	typ, params := "*G.Node", []string{"m *Model"}
	if !p.gorgonia {
		typ, params = "*"+p.q(symValue), []string{"e *" + p.q(symEdit)}
	}
	result := typ
	if n := len(f.outs); n > 1 {
		result = "(" + strings.Repeat(typ+", ", n-1) + typ + ")"
	}
	b := p.statements()
	for _, x := range f.params {
		b.declared[x.name] = true
	}
	var names []string
	for i, v := range f.inputs {
		name := "x"
		if i > 0 {
			name = variable(v.input)
			if v.step != nil && v.step.alone {
				name = b.called(v.step.in[0].con)
			} else if v.input == "" || b.declared[name] {
				name = b.fresh()
			}
		}
		b.hold(v, name)
		b.declared[name], b.free[name] = true, v.step == nil || !v.step.alone
		b.expect(v, 1) // so that the next parameter gets another name
		names = append(names, name)
	}
	params = append(params, strings.Join(names, ", ")+" "+typ)
	if f.named {
		params = append(params, "name string")
	}
	if len(f.params) > 0 {
		params = append(params, strings.TrimSuffix(parameters(f.params, ", "), ", "))
	}
	clear(b.left)
	clear(b.held)
	var items []item
	for _, s := range f.body {
		items = append(items, item{step: s})
		for _, v := range s.values() {
			b.expect(v, 1)
		}
	}
	for _, v := range f.outs {
		b.expect(v, 1)
	}
	p.f("// %s is %s.\nfunc %s(%s) %s {\n", f.name, f.describe(), f.name, strings.Join(params, ", "), result)
	at := p.Len()
	b.write(items)
	if len(f.outs) > 1 {
		var names []string
		for _, v := range f.outs {
			names = append(names, b.vars[v])
		}
		p.f("return %s\n}\n\n", strings.Join(names, ", "))
		return
	}
	text := string(p.Bytes()[at:])
	p.Truncate(at)
	p.f("%s}\n\n", returning(text, b.vars[f.outs[0]]))
}

// returning ends a body by returning a variable, or directly the expression that the last statement assigns to it.
func returning(body, name string) string {
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	last := len(lines) - 1
	for at := last; at >= 0; at-- {
		rest, ok := strings.CutPrefix(lines[at], name+" = ")
		if !ok {
			rest, ok = strings.CutPrefix(lines[at], name+" := ")
		}
		if ok && (at == last || strings.HasSuffix(lines[at], "{") && strings.HasPrefix(lines[last], "}, ")) {
			lines[at] = "return " + rest
			return strings.Join(lines, "\n") + "\n"
		}
		if at == last && !strings.HasPrefix(lines[last], "}, ") {
			break
		}
	}
	return body + "return " + name + "\n"
}

// describe lists the parts of the model that the function represents.
func (f *function) describe() string {
	list := f.prefix
	switch {
	case len(list) == 2:
		return list[0] + " and " + list[1]
	case len(list) <= 4:
		return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
	}
	return fmt.Sprintf("each of the %d blocks from %s to %s", len(list), list[0], list[len(list)-1])
}
