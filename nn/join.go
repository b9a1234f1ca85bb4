package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Join returns a graph made of a and b: connect maps names of outputs of a to names of the inputs of b that they feed.
// The inputs of the result are those of a, followed by those of b that are not connected; the outputs are those of a that
// are not connected, followed by those of b. Names of b that a also has get a number. a and b do not change. It is an
// error if their operator-set versions differ. Where both have metadata under one key, those of a are kept; where their
// sets hold different operators of one name, nodes of b use those of a.
func Join(a, b *Graph, connect map[string]string) (*Graph, error) {
	if a == nil || b == nil {
		return nil, joinError(errors.New("a graph is nil"))
	}
	if len(connect) == 0 {
		return nil, joinError(errors.New("nothing is connected"))
	}
	g, err := a.Clone()
	if err != nil {
		return nil, err
	}
	defer b.locked().unlock()
	if err := g.adopt(b); err != nil {
		return nil, err
	}
	c := newCopier(false)
	used, err := g.plug(b, connect, c)
	if err != nil {
		return nil, err
	}
	if g.absorb(b, c); c.err != nil {
		return nil, c.err
	}
	ins := g.inputs
	for _, v := range b.inputs {
		if x := c.values[v]; x.input && !slices.Contains(ins, x) {
			ins = append(ins, x)
		}
	}
	outs := slices.DeleteFunc(slices.Clone(g.outputs), func(v *Value) bool { return used[v] })
	for _, v := range b.outputs {
		if x := c.values[v]; !slices.Contains(outs, x) {
			outs = append(outs, x)
		}
	}
	g.inputs, g.outputs = ins, outs
	if err := g.infer(); err != nil {
		return nil, err
	}
	return g, g.check(nil)
}

func joinError(err error) error { return &Error{Stage: "join", Err: err} }

// adopt copies operator-set versions, metadata and operators of b that g lacks.
func (g *Graph) adopt(b *Graph) error {
	g.ops = g.ops.Union(b.ops)
	for domain, version := range b.opsets {
		if domain == "ai.onnx" {
			domain = ""
		}
		have, ok := g.opsets[domain]
		if ok && have != version {
			name := domain
			if name == "" {
				name = "ai.onnx"
			}
			return joinError(fmt.Errorf("operator set %s has version %d in %q and %d in %q", name, have, g.name, version, b.name))
		}
		g.opsets[domain] = version
	}
	if g.meta == nil {
		g.meta = map[string]string{}
	}
	for k, v := range b.meta {
		if _, ok := g.meta[k]; !ok {
			g.meta[k] = v
		}
	}
	return nil
}

// plug binds the connected inputs of b to the outputs of g in c and returns those outputs.
func (g *Graph) plug(b *Graph, connect map[string]string, c *copier) (map[*Value]bool, error) {
	used := map[*Value]bool{}
	for _, from := range slices.Sorted(maps.Keys(connect)) {
		out, err := g.value(from)
		if err != nil {
			return nil, joinError(err)
		}
		if !slices.Contains(g.outputs, out) {
			return nil, joinError(fmt.Errorf("%q is not an output of %q", from, g.name))
		}
		in, err := b.value(connect[from])
		if err != nil {
			return nil, joinError(err)
		}
		if !in.input {
			return nil, joinError(fmt.Errorf("%q is not an input of %q", in.name, b.name))
		}
		if c.values[in] != nil {
			return nil, joinError(fmt.Errorf("input %q is connected twice", in.name))
		}
		if err := sameShape(out, in); err != nil {
			return nil, joinError(fmt.Errorf("%q does not fit %q: %w", out.name, in.name, err))
		}
		c.values[in] = out
		used[out] = true
	}
	return used, nil
}

// absorb copies everything of b except the connected inputs.
func (g *Graph) absorb(b *Graph, c *copier) {
	for _, name := range slices.Sorted(maps.Keys(b.values)) {
		v := b.values[name]
		if c.values[v] != nil {
			continue
		}
		own := g.values[name]
		x := c.value(g, v)
		if own != nil {
			g.values[name] = own
			x.name = free(name, g.values, b.values)
			g.values[x.name] = x
		}
	}
	for _, n := range b.nodes() {
		name := g.label(n.name)
		x := c.node(g, n)
		g.relabel(x.name, -1)
		x.name = name
		g.relabel(name, 1)
	}
}

// free returns a name that neither map has: base with a number appended.
func free(base string, a, b map[string]*Value) string {
	for i := 1; ; i++ {
		if name := base + "_" + strconv.Itoa(i); a[name] == nil && b[name] == nil {
			return name
		}
	}
}
