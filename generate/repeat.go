package generate

import (
	"encoding/binary"
	"maps"
	"regexp"
	"slices"
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
	r.work = leastWork + len(r.steps)*workPerStep
	r.numberForms()
	var fns []*function
	for !r.ended() {
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
		if !r.ended() {
			f.settle()
		}
	}
	return fns
}

// The search for repeated blocks ends, with those found so far, when it has looked at this many steps: beyond that, the source is longer
// than it could be. Models of a thousand steps need a tenth of it.
const leastWork, workPerStep = 1 << 26, 1 << 11

// spend takes n from the work that is left. It returns false if less is left, or the context ended.
func (r *reader) spend(n int) bool {
	if r.work < n || r.ended() {
		return false
	}
	r.work -= n
	return true
}

func (r *reader) ended() bool { return r.ctx.Err() != nil }

// numberForms numbers the forms of the steps.
func (r *reader) numberForms() {
	numbers := map[string]int{}
	for i, s := range r.steps {
		if i%lookEvery == 0 && r.ended() {
			return
		}
		form := s.form()
		if numbers[form] == 0 {
			numbers[form] = len(numbers) + 1
		}
		s.number = numbers[form]
	}
}

// lookEvery is the number of short turns of a loop between two looks at the context.
const lookEvery = 1000

// formsOf returns the numbers of the forms of steps, and a text that is the same for the same numbers.
func formsOf(steps []*step) (list []int, key string) {
	var text []byte
	for _, s := range steps {
		list, text = append(list, s.number), binary.AppendUvarint(text, uint64(s.number))
	}
	return list, string(text)
}

// family finds the template that, with its instances, saves the most statements.
func (r *reader) family(used map[*step]bool) *family {
	var best *family
	for _, list := range r.candidates(used) {
		if x := r.match(list); x != nil && (best == nil || x.saved > best.saved) {
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
	for depth := 1; depth < 9 && r.spend(len(r.steps)); depth++ {
		for i := 0; i < len(r.steps); {
			scope := scopes[i]
			if len(scope) < depth || !strings.ContainsAny(scope[depth-1][len(scope[depth-1])-1:], "0123456789") || used[r.steps[i]] {
				i++
				continue
			}
			n := i
			for n < len(r.steps) && !used[r.steps[n]] && len(scopes[n]) >= depth && slices.Equal(scopes[n][:depth], scope[:depth]) {
				n++
			}
			prefix := strings.Join(scope[:depth], ".")
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
	tails := make([][]int, len(list))
	sorted := make([]int, len(list))
	for i, s := range list {
		k := len(s.steps)
		for k > 0 && s.steps[k-1].scope == nil {
			k--
		}
		tails[i], _ = formsOf(s.steps[k:])
		sorted[i] = i
	}
	slices.SortFunc(sorted, func(a, b int) int { return slices.Compare(tails[a], tails[b]) })
	out := slices.Clone(list)
	for n, i := range sorted { // the one that begins like most of it stands beside it
		most := 0
		for _, m := range []int{n - 1, n + 1} {
			if m >= 0 && m < len(sorted) {
				most = max(most, alikeUntil(tails[i], tails[sorted[m]]))
			}
		}
		out[i].steps = out[i].steps[:len(out[i].steps)-len(tails[i])+most]
	}
	return out
}

// alikeUntil returns the number of elements that two lists begin with in common.
func alikeUntil(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// mostBetween is the maximum number of steps by which a segment may be extended.
const mostBetween = 4

// extended adds to segments the steps of the enclosing scope between them, which combine the result of
// a block with those of previous blocks; nil if there are none.
func (r *reader) extended(list []segment, used map[*step]bool) []segment {
	out := slices.Clone(list)
	var forms []int // of the steps after the segment before
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
			for n < len(r.steps) && n-end < len(forms) && !used[r.steps[n]] && r.steps[n].number == forms[n-end] {
				n++
			}
		}
		forms, _ = formsOf(r.steps[end:n])
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
	for length := min(60, n/2); length >= 2; length-- {
		at := map[string][]int{}
		var order []string
		for i := 0; i+length <= n; i++ {
			steps := r.steps[i : i+length]
			if slices.ContainsFunc(steps, func(s *step) bool { return used[s] }) {
				continue
			}
			if !r.spend(length) {
				return nil
			}
			if _, ok := r.escapes(segment{steps: steps}); !ok {
				continue
			}
			_, key := formsOf(steps)
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
