package generate

import (
	"fmt"
	"slices"
	"strings"
)

// often is the number of uses from which an operator with constants becomes a variable.
const often = 3

// locals finds operators of one value and constants, such as a clamp to 0 … 6, that occur several times in the model. The
// source has a variable for each, a layer.
func (r *reader) locals(names map[string]bool) []*step {
	by := map[string][]*step{}
	var order []string
	for i, s := range r.steps {
		if i%lookEvery == 0 && r.ended() {
			return nil
		}
		if len(s.bodies) > 0 || s.layer != nil || s.named() || len(s.values()) != 1 || len(s.in) < 2 || len(s.out) != 1 {
			continue
		}
		key := s.form()
		s.each(func(l *lit) { key += fmt.Sprintf("|%v", l.v) })
		for _, a := range s.in {
			if a.con != nil {
				key += fmt.Sprint(a.con.data.Shape())
			}
		}
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], s)
	}
	var list []*step
	tried := map[string]int{}
	for _, key := range order {
		if len(by[key]) < often {
			continue
		}
		name := variable(by[key][0].kind)
		if names[name] {
			name = numberedName(tried, name, 2, func(name string) bool { return !names[name] })
		}
		names[name] = true
		for _, s := range by[key] {
			s.local = name
		}
		list = append(list, by[key][0])
	}
	return list
}

// printLocal writes the variable of an operator with constants.
func (p *printer) printLocal(s *step) {
	b := p.statements()
	b.hold(s.values()[0], "in[0]")
	name := s.local
	var with []string
	for _, a := range s.in {
		if a.con != nil {
			with = append(with, fmt.Sprintf("%v %v", a.con.name.v, a.con.list.v))
		}
	}
	p.f("// %s is %s with "+strings.Join(with, ", ")+".\nvar %s = %s(func(e *%s, in ...*%s) []*%s {\n", name, s.op, name, p.q(symFunc), p.q(symEdit), p.q(symValue), p.q(symValue))
	p.f("return e.Node(%s, %s).Outputs()\n})\n\n", b.config(s), b.args(s))
}

// hoist moves steps without weights that depend only on the model's inputs, such as masks and positions, out of the blocks
// that compute them first, to the front of the block.
func (r *reader) hoist() {
	free := map[*step]bool{}
	for i, s := range r.steps {
		if i%lookEvery == 0 && r.ended() {
			return
		}
		ok := !s.named() && len(s.values()) > 0
		for _, v := range s.values() {
			ok = ok && (v.step == nil || free[v.step])
		}
		free[s] = ok
	}
	users := map[*value][]*step{}
	for i, s := range r.steps {
		if i%lookEvery == 0 && r.ended() {
			return
		}
		for _, v := range s.values() {
			users[v] = append(users[v], s)
		}
	}
	block := func(s *step) string {
		for i, w := range slices.Backward(s.scope) {
			if digits.MatchString(w) {
				return fmt.Sprint(s.scope[:i+1])
			}
		}
		return ""
	}
	shared := map[*step]bool{} // read by several blocks
	for _, s := range slices.Backward(r.steps) {
		if !free[s] || block(s) == "" {
			continue
		}
		for _, v := range s.out {
			for _, u := range users[v] {
				shared[s] = shared[s] || shared[u] || !free[u] && block(u) != block(s)
			}
		}
	}
	var list []*step
	for i := 0; i < len(r.steps); {
		n, in := i, block(r.steps[i])
		for n < len(r.steps) && block(r.steps[n]) == in {
			n++
		}
		for _, s := range r.steps[i:n] {
			if shared[s] {
				s.scope = []string{}
				list = append(list, s)
			}
		}
		for _, s := range r.steps[i:n] {
			if !shared[s] {
				list = append(list, s)
			}
		}
		i = n
	}
	r.steps = list
}
