package nn_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// readNetwork reads testdata/networks/NAME.txt, a graph as text, a statement a line:
//
//	opset 17                                   in the first line; the default: nn.LatestOpset
//	in x float32[N,3,8,8]
//	w = float32[4,3,3,3]                       a parameter with unremarkable values
//	s = int64[2] 0 -1                          one with these
//	y, z = Conv(x, w, _) pads=[1,1,1,1]        a node; _ is not a value
//	my.Odd                                     an operator of domain my
//	body b … end                               a subgraph, for an attribute: body=@b
//	out y [float32[N,4]]
//
// Floating-point types are those of T, so that a network can be differentiated in float64. All values are multiples of
// 1/64: sums of them are exact in any order.
func readNetwork(t testing.TB, name string, float string) *nn.Graph {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "networks", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "float32", float)
	opset := nn.LatestOpset
	fmt.Sscanf(text, "opset %d", &opset)
	g := nn.NewGraph(name, std.Operators(), map[string]int{"": opset, "my": 1})
	r := &networkReader{lines: strings.Split(text, "\n"), parent: g, bodies: map[string]*nn.Body{}}
	a := nn.Assemble(g)
	if err := r.read(a, a.Finish); err != nil {
		t.Fatalf("%s:%d: %v", name, r.at, err)
	}
	if g, err = a.Graph(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return g
}

type networkReader struct {
	lines  []string
	at     int
	parent *nn.Graph
	bodies map[string]*nn.Body
}

func (r *networkReader) read(a *nn.Assembler, finish func() error) error {
	type output struct{ name, typ string }
	var outputs []output
	for r.at < len(r.lines) {
		line := strings.TrimSpace(r.lines[r.at])
		r.at++
		words := strings.Fields(line)
		switch {
		case line == "" || line[0] == '#' || words[0] == "opset":
		case line == "end":
			r.lines[r.at-1] = ""
			goto done
		case words[0] == "in":
			t, err := op.ParseType(words[2])
			if err != nil {
				return err
			}
			a.Input(words[1], t, nil)
		case words[0] == "out":
			outputs = append(outputs, output{words[1], strings.Join(words[2:], "")})
		case words[0] == "body":
			b := nn.AssembleBody(words[1], r.parent)
			if err := r.read(b, b.Finish); err != nil {
				return err
			}
			body, err := b.Body()
			if err != nil {
				return err
			}
			r.bodies[words[1]] = body
		case strings.Contains(line, "("):
			s, err := r.node(line)
			if err != nil {
				return err
			}
			a.Node(s)
		default:
			v, err := parameter(words[0], words[2], words[3:])
			if err != nil {
				return err
			}
			a.Param(words[0], v, nil)
		}
	}
done:
	if err := finish(); err != nil {
		return err
	}
	for _, o := range outputs {
		t, err := op.ParseType(o.typ)
		if o.typ != "" && err != nil {
			return err
		}
		a.Output(o.name, t, nil)
	}
	return nil
}

// parameter makes a tensor of a type as text with the given elements, or unremarkable ones.
func parameter(name, typ string, elements []string) (dtype.Value, error) {
	t, err := op.ParseType(typ)
	if err != nil {
		return nil, err
	}
	if t.DType == dtype.String {
		return dtype.NewStrings(elements, t.Sizes()...)
	}
	n, _ := dtype.Count(t.Sizes())
	v := make([]float64, n)
	for i := range v {
		switch {
		case len(elements) == n:
			if v[i], err = strconv.ParseFloat(elements[i], 64); err != nil {
				return nil, err
			}
		case t.DType.IsFloat():
			v[i] = float64((i*7919+13*len(name)+int(name[0]))%101-50) / 64
		default:
			v[i] = float64(i % 3)
		}
	}
	return dtype.FromFloats(t.DType, v, t.Sizes()...)
}

// node reads "y, z = my.Type(x, _) name=value"; the node is named after its first output, in capitals.
func (r *networkReader) node(line string) (nn.NodeSpec, error) {
	out, rest, _ := strings.Cut(line, " = ")
	call, rest, _ := strings.Cut(rest, "(")
	in, attrs, _ := strings.Cut(rest, ")")
	names := func(s string) (list []string) {
		for _, x := range strings.Split(s, ",") {
			if x = strings.TrimSpace(x); x == "_" {
				x = ""
			} else if x == "" {
				continue
			}
			list = append(list, x)
		}
		return list
	}
	s := nn.NodeSpec{Out: names(out), In: names(in), Type: call, Attrs: map[string]any{}}
	if domain, name, ok := strings.Cut(call, "."); ok {
		s.Domain, s.Type = domain, name
	}
	s.Name = strings.ToUpper(s.Out[0])
	for _, a := range strings.Fields(attrs) {
		key, text, _ := strings.Cut(a, "=")
		switch {
		case text[0] == '@':
			s.Attrs[key] = r.bodies[text[1:]]
		case text[0] == '[':
			list := strings.Split(strings.Trim(text, "[]"), ",")
			var ints []int64
			var floats []float32
			for _, x := range list {
				switch v := scalarAttr(x).(type) {
				case int64:
					ints = append(ints, v)
				case float32:
					floats = append(floats, v)
				}
			}
			if s.Attrs[key] = ints; floats != nil {
				s.Attrs[key] = floats
			}
		default:
			s.Attrs[key] = scalarAttr(text)
			if i := strings.Index(text, "]"); key == "value" && i > 0 {
				v, err := parameter(s.Out[0], text[:i+1], strings.Split(strings.Trim(text[i+1:], ":"), ","))
				if err != nil {
					return s, err
				}
				s.Attrs[key] = v
			}
		}
	}
	return s, nil
}

func scalarAttr(s string) any {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i // 2.0 is a floating-point number
	}
	if f, err := strconv.ParseFloat(s, 32); err == nil {
		return float32(f)
	}
	return s
}
