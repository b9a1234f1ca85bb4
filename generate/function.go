package generate

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// function is a block of layers that the model repeats; its parameters are the differences.
type function struct {
	family
	name   string
	params []*param
	body   []*step
	calls  []*call
	prefix []string           // by call: prefix of the names; the function's first parameter if named
	named  bool               // its parameters have names in the model
	names  map[*step]string   // of all steps that have names
	own    map[*constant]bool // parameters that begin with the block's prefix, the rest being the same in all instances
	locals []string           // by step of the template
}

// param is a parameter of a function.
type param struct {
	name string
	typ  string
	vals []any // by call
}

// call is one use of a function.
type call struct {
	fn    *function
	index int      // among the calls of the function
	in    []*value // nil: one that it does not read
	outs  []*value // nil: one that nothing reads
	steps []*step
}

// function makes a function of a family. Names are those that are taken.
func (f *family) function(names map[string]bool) *function {
	x := &function{family: *f, names: map[*step]string{}, own: map[*constant]bool{}, locals: make([]string, len(f.template.steps))}
	f.prefixes()
	x.template = f.template
	x.name = functionName(f, names)
	names[x.name] = true
	taken, tried := map[string]bool{}, map[string]int{}
	free := func(name string) bool { return !taken[name] }
	for i, s := range f.template.steps {
		if !s.named() {
			continue
		}
		local := f.template.local(s)
		if f.template.scope == 0 {
			local = numberedName(tried, local, 1, free)
		} else if taken[local] {
			local = numberedName(tried, local+".", 2, free)
		}
		taken[local] = true
		x.locals[i], x.named = local, true
	}
	for k, s := range f.instances {
		prefix := s.segment.prefix
		if prefix == "" {
			prefix = x.name + strconv.Itoa(k+1)
		}
		x.prefix = append(x.prefix, prefix)
		c := &call{fn: x, index: k, outs: s.outs, steps: s.segment.steps}
		for _, v := range f.inputs {
			c.in = append(c.in, s.ext[v])
		}
		x.calls = append(x.calls, c)
		for i, local := range x.locals {
			if local != "" && s.steps[i] != nil {
				x.names[s.steps[i]] = prefix + "." + local
			}
		}
	}
	x.owned()
	return x
}

// owned finds the parameters of operators whose names go on from the names of the instances alike.
func (f *function) owned() {
	for i, t := range f.template.steps {
		for k, a := range t.in {
			if a.con == nil {
				continue
			}
			var list []*constant
			rest := ""
			for n, x := range f.instances {
				if x.steps[i] == nil {
					continue
				}
				c := x.steps[i].in[k].con
				name, _ := c.name.v.(string)
				now, ok := strings.CutPrefix(name, f.prefix[n]+".")
				if !ok || now == "" || rest != "" && now != rest {
					list = nil
					break
				}
				list, rest = append(list, c), now
			}
			for _, c := range list {
				f.own[c] = true
			}
		}
	}
}

// prefixes assigns, to instances that were found by structure, the scope that contains all of their
// layers, if each has a different one and the layers have the same names within it.
func (f *family) prefixes() {
	if f.template.scope > 0 {
		return
	}
	locals, seen := map[int]string{}, map[string]bool{}
	var list []segment
	for _, x := range f.instances {
		var common []string
		first := true
		for _, s := range x.steps {
			if s == nil || !s.named() {
				continue
			}
			if first {
				common, first = s.scope, false
			}
			n := 0
			for n < len(common) && n < len(s.scope)-1 && common[n] == s.scope[n] {
				n++
			}
			common = common[:n]
		}
		prefix := strings.Join(common, ".")
		if !slices.ContainsFunc(x.steps, func(s *step) bool { return s != nil && s.named() && len(s.scope) > 0 }) && &x.segment.steps[0] != &f.template.steps[0] {
			list = append(list, x.segment) // the model has no names for this one
			continue
		}
		if len(common) == 0 || seen[prefix] {
			return
		}
		seen[prefix] = true
		for i, s := range x.steps {
			if s == nil || !s.named() {
				continue
			}
			local := strings.Join(s.scope[len(common):], ".")
			if locals[i] != "" && locals[i] != local {
				return
			}
			locals[i] = local
		}
		list = append(list, segment{prefix: prefix, scope: len(common), steps: x.segment.steps})
	}
	for k, x := range f.instances {
		if &x.segment.steps[0] == &f.template.steps[0] {
			f.template = list[k]
		}
		x.segment = list[k]
	}
}

// named reports whether a step has parameters, and so a name.
func (s *step) named() bool {
	return len(s.weights) > 0 || slices.ContainsFunc(s.in, func(a arg) bool {
		return a.con != nil && (a.con.kind == conParam || a.con.kind == conBlank)
	})
}

// functionName returns a word of the scopes of a block, or block.
func functionName(f *family, taken map[string]bool) string {
	name := "block"
	for _, w := range slices.Backward(strings.Split(f.template.prefix, ".")) {
		w = strings.TrimRightFunc(w, func(c rune) bool { return unicode.IsDigit(c) || c == '_' })
		if w != "" {
			name = variable(strings.TrimSuffix(w, "s"))
			break
		}
	}
	if len(name) < 3 {
		name = "block"
	}
	base := name
	for i := 2; taken[name] || predeclared[name]; i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}

// settle makes the body, once all names are given: literals that differ become parameters.
func (f *function) settle() {
	for i, t := range f.template.steps {
		s := t.clone()
		s.bypass = max(f.bypass[i], 0)
		f.body = append(f.body, s)
	}
	f.conditions()
	for i, s := range f.body {
		rows := make([][]*lit, len(f.instances)) // by instance: its literals
		for k, x := range f.instances {
			if x.steps[i] != nil {
				x.steps[i].each(func(l *lit) { rows[k] = append(rows[k], l) })
			}
		}
		at := 0
		s.each(func(l *lit) {
			vals := make([]any, len(rows))
			for k, row := range rows {
				if row != nil {
					vals[k] = row[at].v
				}
			}
			at++
			f.literal(l, vals)
		})
	}
	f.nameParams()
}

// literal makes a parameter of a literal that is not the same in all instances; vals are nil where the step is missing.
func (f *function) literal(l *lit, vals []any) {
	differ, missing := false, false
	for _, v := range vals {
		differ = differ || v != nil && !same(v, l.v)
		missing = missing || v == nil
	}
	if _, ok := l.v.(string); ok && l.hint == "name" && f.prefixed(l, vals) {
		return
	}
	if !differ && !(missing && f.known(l, vals)) {
		return
	}
	if columns := elementwise(vals); columns != nil {
		var list []string
		for i, column := range columns {
			text := strconv.Itoa(l.v.([]int)[i])
			if slices.ContainsFunc(column, func(v any) bool { return v != nil && v != column[0] }) || len(columns) == 1 {
				text = placeholder(f.param(elementHint(l.hint, len(columns)), column))
			}
			list = append(list, text)
		}
		l.ref = "[]int{" + strings.Join(list, ", ") + "}"
		return
	}
	l.ref = placeholder(f.param(l.hint, vals))
}

// placeholder returns a text that is replaced once the parameter has a name.
func placeholder(p int) string { return "\x00" + strconv.Itoa(p) + "\x00" }

// elementwise returns the elements of lists of one length, by position and instance; nil if the values are no such lists.
func elementwise(vals []any) [][]any {
	n := -1
	for _, v := range vals {
		list, ok := v.([]int)
		if v != nil && (!ok || n >= 0 && len(list) != n) {
			return nil
		}
		if ok {
			n = len(list)
		}
	}
	if n < 1 {
		return nil
	}
	columns := make([][]any, n)
	for i := range columns {
		columns[i] = make([]any, len(vals))
		for k, v := range vals {
			if v != nil {
				columns[i][k] = v.([]int)[i]
			}
		}
	}
	return columns
}

// elementHint names a parameter that is one element of a list of n.
func elementHint(hint string, n int) string {
	switch {
	case n == 1:
		return hint
	case hint == "shape" || hint == "dims":
		return "size"
	}
	return strings.TrimSuffix(hint, "s")
}

// prefixed writes a name as the block's prefix and a rest, if it has that form in all instances.
func (f *function) prefixed(l *lit, vals []any) bool {
	ref := ""
	for k, v := range vals {
		if v == nil {
			continue
		}
		rest, ok := strings.CutPrefix(v.(string), f.prefix[k])
		now := "name + " + strconv.Quote(rest)
		if !ok || rest == "" || ref != "" && ref != now {
			return false
		}
		ref = now
	}
	l.ref = ref
	return ref != ""
}

// known reports whether a literal of an optional step equals a parameter of its kind in all instances
// that have the step.
func (f *function) known(l *lit, vals []any) bool {
	for _, p := range f.params {
		if p.name != l.hint {
			continue
		}
		fits := true
		for k, v := range vals {
			if list, ok := v.([]int); ok && len(list) == 1 {
				v = list[0]
			}
			fits = fits && (v == nil || same(v, p.vals[k]))
		}
		if fits {
			return true
		}
	}
	return false
}

// param returns the number of the parameter with these values; values that do not matter are those of another.
func (f *function) param(hint string, vals []any) int {
	for i, p := range f.params {
		fits := true
		for k, v := range vals {
			fits = fits && (v == nil || p.vals[k] == nil || same(v, p.vals[k]))
			fits = fits && (v == nil || p.typ == reflect.TypeOf(v).String())
		}
		if fits {
			for k, v := range vals {
				if v != nil {
					p.vals[k] = v
				}
			}
			return i
		}
	}
	p := &param{name: hint, vals: slices.Clone(vals)}
	for _, v := range vals {
		if v != nil {
			p.typ = reflect.TypeOf(v).String()
		}
	}
	f.params = append(f.params, p)
	return len(f.params) - 1
}

// nameParams gives the parameters distinct names and replaces literals by them.
func (f *function) nameParams() {
	taken := reserved()
	for _, name := range variables {
		taken[name] = true
	}
	count, tried := map[string]int{}, map[string]int{}
	for _, p := range f.params {
		count[p.name]++
	}
	seen := map[string]int{}
	for _, p := range f.params {
		seen[p.name]++
		name := variable(p.name)
		if p.name == "out" && seen[p.name] < count[p.name] { // the last one is the result of the block
			name = "hidden"
		}
		if taken[name] || predeclared[name] {
			name = numberedName(tried, name, 2, func(name string) bool { return !taken[name] && !predeclared[name] })
		}
		taken[name] = true
		p.name = name
		for k, v := range p.vals {
			if v == nil {
				p.vals[k] = reflect.Zero(f.typeOf(p)).Interface()
			}
		}
	}
	put := func(s string) string {
		parts := strings.Split(s, "\x00")
		for i := 1; i < len(parts); i += 2 {
			n, _ := strconv.Atoi(parts[i])
			parts[i] = f.params[n].name
		}
		return strings.Join(parts, "")
	}
	for _, s := range f.body {
		s.each(func(l *lit) { l.ref = put(l.ref) })
		s.when = put(s.when)
	}
	slices.SortStableFunc(f.params, func(a, b *param) int { // conditions last
		switch {
		case a.typ == b.typ || a.typ != "bool" && b.typ != "bool":
			return 0
		case a.typ == "bool":
			return 1
		}
		return -1
	})
}

func (f *function) typeOf(p *param) reflect.Type {
	for _, v := range p.vals {
		if v != nil {
			return reflect.TypeOf(v)
		}
	}
	return reflect.TypeFor[bool]()
}

// conditions makes a parameter for each set of steps that some instances lack.
func (f *function) conditions() {
	for i, s := range f.body {
		vals, all := make([]any, len(f.instances)), true
		for k, x := range f.instances {
			vals[k] = x.steps[i] != nil
			all = all && x.steps[i] != nil
		}
		if !all {
			s.when = placeholder(f.param(f.conditionName(i), vals))
		}
	}
}

// conditionName returns a name for the parameter that selects optional steps.
func (f *function) conditionName(i int) string {
	word, _, _ := strings.Cut(f.locals[i], ".")
	switch s := f.body[i]; {
	case s.layer == nil && len(s.values()) > 1:
		return "residual"
	case s.layer != nil && len(s.weights) == 0:
		return hintOf(s.layer.typ.Name())
	case i == 0:
		return "expand"
	case word != "" && !strings.ContainsAny(word, "0123456789") && len(word) > 4:
		return word
	}
	return "more"
}
