package nn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/graft-ml/graft/nn/op"
)

// Annotations are notes about a node, by key. Values are string, int64, float32, or a slice of one of these; other
// integers, floats and booleans are converted. Annotations do not affect what is computed. They follow the node through
// edits, saving and loading, and mark nodes to be found later, see [Annotated].
type Annotations map[string]any

// Annotations returns a copy of the node's annotations.
func (n *Node) Annotations() Annotations {
	if n == nil {
		return nil
	}
	defer n.locked().unlock()
	return maps.Clone(n.annotations)
}

// Annotated selects nodes that have an annotation with the given key and, if values are given, one of these values.
// Numbers equal their text: 1 and "1".
func Annotated(key string, values ...any) Selector {
	return func(n *Node) bool {
		defer n.locked().unlock()
		v, ok := n.annotations[key]
		if !ok || len(values) == 0 {
			return ok
		}
		return slices.ContainsFunc(values, func(x any) bool { return plainText(x) == plainText(v) })
	}
}

// plainText returns the text by which a value is compared.
func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return AnnotationText(v)
}

// AnnotationText returns the text form of an annotation's value, as node metadata, which hold only strings, store it.
// Strings are stored as they are, numbers and lists as JSON. A string that looks like one of those is quoted.
func AnnotationText(v any) string {
	if s, ok := v.(string); ok {
		if _, isText := ParseAnnotation(s).(string); isText && (s == "" || s[0] != '"') {
			return s
		}
	}
	if f, ok := v.(float32); ok {
		s := strconv.FormatFloat(float64(f), 'g', -1, 32)
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			s += ".0"
		}
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// ParseAnnotation returns the inverse of AnnotationText.
func ParseAnnotation(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i
	}
	if s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') {
		if f, err := strconv.ParseFloat(s, 32); err == nil {
			return float32(f)
		}
	}
	if s == "" || s[0] != '[' && s[0] != '"' {
		return s
	}
	var text string
	var ints []int64
	var floats []float32
	var list []string
	switch {
	case json.Unmarshal([]byte(s), &text) == nil:
		return text
	case json.Unmarshal([]byte(s), &ints) == nil:
		return ints
	case json.Unmarshal([]byte(s), &floats) == nil:
		return floats
	case json.Unmarshal([]byte(s), &list) == nil:
		return list
	}
	return s
}

// checked returns the annotation as one of the types that files store.
func checked(key string, v any) (any, error) {
	if key == "" {
		return nil, fmt.Errorf("an annotation has no key")
	}
	switch v := v.(type) {
	case string, int64, float32, []string, []int64, []float32:
		return v, nil
	case int:
		return int64(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		return float32(v), nil
	case []int:
		list := make([]int64, len(v))
		for i, x := range v {
			list[i] = int64(x)
		}
		return list, nil
	case []float64:
		list := make([]float32, len(v))
		for i, x := range v {
			list[i] = float32(x)
		}
		return list, nil
	}
	return nil, fmt.Errorf("annotation %s: want a string, a number or a slice of these, got %T", key, v)
}

// Annotate adds annotations to the selected nodes and returns these. The value of a key that a node already has is
// replaced.
func (e *Edit) Annotate(a Annotations, sel ...Selector) []*Node {
	nodes := e.Nodes(sel...)
	for _, n := range nodes {
		e.annotate(n, a)
	}
	return nodes
}

func (e *Edit) annotate(n *Node, a Annotations) {
	now := maps.Clone(n.annotations)
	if now == nil {
		now = Annotations{}
	}
	for _, key := range slices.Sorted(maps.Keys(a)) {
		v, err := checked(key, a[key])
		if err == nil && n.op != nil && n.op.AttrNames()[key] {
			err = fmt.Errorf("annotation %s: %s has an attribute of that name", key, n.describe())
		}
		if err != nil {
			e.fail(err)
			return
		}
		now[key] = v
	}
	e.setAnnotations(n, now)
}

// RemoveAnnotations removes annotations with one of the given keys from the selected nodes and returns these nodes; "*"
// stands for every key.
func (e *Edit) RemoveAnnotations(keys []string, sel ...Selector) []*Node {
	nodes := e.Nodes(sel...)
	for _, n := range nodes {
		now := maps.Clone(n.annotations)
		maps.DeleteFunc(now, func(key string, _ any) bool { return slices.Contains(keys, key) || slices.Contains(keys, "*") })
		if len(now) != len(n.annotations) {
			e.setAnnotations(n, now)
		}
	}
	return nodes
}

// Anchor adds an Identity with the given annotations after a value, named Anchor, Anchor_1 and so on, and makes all users
// of the value read it. It returns the new node. A graph output keeps its name.
func (e *Edit) Anchor(at *Value, a Annotations) *Node {
	n := e.identity(at, "Anchor")
	if n != nil {
		e.annotate(n, a)
	}
	return n
}

// ScopedAnchor adds an Identity before the first input of the first selected node and another after the first output of
// the last one, in the graph's order. They are named Anchor_N_start and Anchor_N_end, where N counts scopes from 0, and
// both have the given annotations. What the model computes does not change.
func (e *Edit) ScopedAnchor(a Annotations, sel ...Selector) (start, end *Node) {
	nodes := e.Nodes(sel...)
	if e.err != nil {
		return nil, nil
	}
	scope := 0
	for e.g.labelled(fmt.Sprintf("Anchor_%d_start", scope)) {
		scope++
	}
	first, last := nodes[0], nodes[len(nodes)-1]
	in, out := first.input(0), last.output(0)
	if in == nil || out == nil {
		e.Failf("%s has no input and output to put anchors at", first.describe())
		return nil, nil
	}
	start = e.identity(in, fmt.Sprintf("Anchor_%d_start", scope), first)
	end = e.identity(out, fmt.Sprintf("Anchor_%d_end", scope))
	for _, n := range []*Node{start, end} {
		if n != nil {
			e.annotate(n, a)
		}
	}
	return start, end
}

// AsOutput makes the value an output of the graph under another name, through an Identity. It returns the new output.
func (e *Edit) AsOutput(name string, v *Value) *Value {
	if !e.mine(v) {
		return nil
	}
	n := e.NodeN(op.Plain("Identity"), 1, v)
	if e.err != nil {
		return nil
	}
	if n.output(0).name != name {
		e.RenameValue(n.output(0), name)
	}
	e.Output(name, n.output(0))
	return n.output(0)
}

// identity inserts an Identity after a value, with the given name or, if that is taken, with a number appended.
func (e *Edit) identity(at *Value, name string, users ...*Node) *Node {
	if !e.mine(at) {
		return nil
	}
	label := e.g.label(name)
	var out []*Value
	e.Insert(at, LayerFunc(func(e *Edit, in ...*Value) []*Value {
		out = e.Op(label, op.Plain("Identity"), 1, in[:1]...)
		return out
	}), users...)
	if e.err != nil {
		return nil
	}
	return out[0].producer
}
