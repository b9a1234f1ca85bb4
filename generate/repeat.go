package generate

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// segment is a sequence of steps that may be one instance of a block.
type segment struct {
	prefix string // common prefix of the names in it
	scope  int    // number of scopes in prefix
	steps  []*step
	at     int // where they begin among those of the model, if scope is positive
}

var digits = regexp.MustCompile(`\d+`)

// repeats finds the repeated blocks of the model and makes functions for them. Blocks are the numbered scopes of the model,
// such as layer1.0 and layer1.1, or, without such scopes, equal sequences of steps.
func (r *reader) repeats(style string) []*function {
	used := map[*step]bool{}
	names := reserved()
	if style != Gorgonia {
		r.variables = r.locals(names)
	}
	names["m"] = true
	var fns []*function
	for {
		best := r.family(used)
		if best == nil {
			break
		}
		for _, x := range best.instances {
			for _, s := range x.segment.steps {
				used[s] = true
			}
		}
		fns = append(fns, best.function(names))
	}
	blocks, own := map[*step]string{}, map[*constant]bool{}
	for _, f := range fns {
		maps.Copy(own, f.own)
		for step, name := range f.names {
			blocks[step] = name
		}
	}
	r.identify(blocks, own)
	for _, f := range fns {
		f.settle()
	}
	return fns
}

// family finds the template that, with its instances, saves the most statements.
func (r *reader) family(used map[*step]bool) *family {
	var best *family
	for _, list := range r.candidates(used) {
		if x := r.match(list); x != nil && (best == nil || x.saves() > best.saves()) {
			best = x
		}
	}
	return best
}

// candidates are lists of segments that may be instances of one block.
func (r *reader) candidates(used map[*step]bool) (lists [][]segment) {
	by := map[string][]segment{}
	var order []string
	scopes := r.scopes()
	for depth := 1; depth < 9; depth++ {
		for i := 0; i < len(r.steps); {
			scope := scopes[i]
			if len(scope) < depth || !strings.ContainsAny(scope[depth-1][len(scope[depth-1])-1:], "0123456789") || used[r.steps[i]] {
				i++
				continue
			}
			prefix := strings.Join(scope[:depth], ".")
			n := i
			for n < len(r.steps) && !used[r.steps[n]] && len(scopes[n]) >= depth && strings.Join(scopes[n][:depth], ".") == prefix {
				n++
			}
			pattern := digits.ReplaceAllString(prefix, "#")
			if by[pattern] == nil {
				order = append(order, pattern)
			}
			by[pattern] = append(by[pattern], segment{prefix: prefix, scope: depth, steps: r.steps[i:n], at: i})
			i = n
		}
	}
	for _, p := range order {
		list := by[p]
		seen := map[string]bool{}
		twice := false
		for _, s := range list { // a scope that is not contiguous is not a block
			twice = twice || seen[s.prefix]
			seen[s.prefix] = true
		}
		if len(list) > 1 && !twice {
			lists = append(lists, list, cut(list))
			if longer := r.extended(list, used); longer != nil {
				lists = append(lists, longer)
			}
		}
	}
	return append(lists, r.rows(used)...)
}

// cut removes steps of unknown scope from the ends of segments, such as the pool after the last block, unless another
// segment ends in the same way.
func cut(list []segment) []segment {
	tails := make([][]string, len(list))
	for i, s := range list {
		k := len(s.steps)
		for k > 0 && s.steps[k-1].scope == nil {
			k--
		}
		for _, x := range s.steps[k:] {
			tails[i] = append(tails[i], x.form())
		}
	}
	out := slices.Clone(list)
	for i := range list {
		most := 0
		for k := range list {
			n := 0
			for k != i && n < len(tails[i]) && n < len(tails[k]) && tails[i][n] == tails[k][n] {
				n++
			}
			most = max(most, n)
		}
		out[i].steps = out[i].steps[:len(out[i].steps)-len(tails[i])+most]
	}
	return out
}

// mostBetween is the maximum number of steps by which a segment may be extended.
const mostBetween = 4

// extended adds to segments the steps of the enclosing scope between them, which combine the result of
// a block with those of previous blocks; nil if there are none.
func (r *reader) extended(list []segment, used map[*step]bool) []segment {
	out := slices.Clone(list)
	var forms []string // of the steps after the segment before
	for i := range out {
		x := &out[i]
		end := x.at + len(x.steps)
		n := end
		for n < len(r.steps) && n < end+mostBetween && !used[r.steps[n]] && r.around(x, r.steps[n]) {
			n++
		}
		switch next := i + 1; {
		case next < len(out) && n != out[next].at:
			forms = nil
			continue
		case next == len(out): // steps after the last segment belong to it as far as they have the same structure
			n = end
			for n < len(r.steps) && n-end < len(forms) && !used[r.steps[n]] && r.steps[n].form() == forms[n-end] {
				n++
			}
		}
		forms = nil
		for _, s := range r.steps[end:n] {
			forms = append(forms, s.form())
		}
		x.steps = r.steps[x.at:n]
	}
	if slices.EqualFunc(out, list, func(a, b segment) bool { return len(a.steps) == len(b.steps) }) {
		return nil
	}
	return out
}

// around reports whether a step without parameters is in a scope that encloses that of a segment.
func (r *reader) around(x *segment, s *step) bool {
	return !s.named() && s.scope != nil && len(s.scope) < x.scope && strings.HasPrefix(x.prefix+".", strings.Join(append(slices.Clone(s.scope), ""), "."))
}

// scopes returns the scopes of all steps; a step of unknown scope is in the scope of the previous one.
func (r *reader) scopes() [][]string {
	list := make([][]string, len(r.steps))
	for i, s := range r.steps {
		if list[i] = s.scope; len(s.scope) == 0 && s.scope == nil && i > 0 {
			list[i] = list[i-1]
		}
	}
	return list
}

// rows returns segments of equal length and form, regardless of their names.
func (r *reader) rows(used map[*step]bool) (lists [][]segment) {
	n := len(r.steps)
	if n > 2000 {
		return nil
	}
	forms := make([]int, n)
	ids := map[string]int{}
	for i, s := range r.steps {
		f := s.form()
		if ids[f] == 0 {
			ids[f] = len(ids) + 1
		}
		forms[i] = ids[f]
	}
	for length := min(60, n/2); length >= 2; length-- {
		at := map[string][]int{}
		var order []string
		for i := 0; i+length <= n; i++ {
			if slices.ContainsFunc(r.steps[i:i+length], func(s *step) bool { return used[s] }) {
				continue
			}
			if _, ok := r.escapes(segment{steps: r.steps[i : i+length]}); !ok {
				continue
			}
			key := ""
			for _, f := range forms[i : i+length] {
				key += strconv.Itoa(f) + " "
			}
			if list := at[key]; len(list) > 0 && list[len(list)-1]+length > i {
				continue
			}
			if at[key] == nil {
				order = append(order, key)
			}
			at[key] = append(at[key], i)
		}
		for _, key := range order {
			if len(at[key]) < 2 {
				continue
			}
			var list []segment
			for _, i := range at[key] {
				list = append(list, segment{steps: r.steps[i : i+length]})
			}
			lists = append(lists, list)
		}
	}
	return lists
}

// mostOutputs is the maximum number of results of a block's function.
const mostOutputs = 3

// escapes returns the values of a segment that steps outside read; ok is false if there are none or too many: more than one,
// or more than mostOutputs for a segment of a scope.
func (r *reader) escapes(x segment) (outs []*value, ok bool) {
	inside := map[*value]int{}
	most := 1
	if x.scope > 0 && r.style != Gorgonia {
		most = mostOutputs
	}
	for _, s := range x.steps {
		for _, v := range s.values() {
			inside[v]++
		}
	}
	for _, s := range x.steps {
		for _, v := range s.out {
			if v == nil || v.users == inside[v] {
				continue
			}
			if outs = append(outs, v); len(outs) > most {
				return nil, false
			}
		}
	}
	return outs, len(outs) > 0
}
