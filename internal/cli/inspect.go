package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// report is the result of inspect, and its JSON form.
type report struct {
	Model string `json:"model"`
	onnxio.Header
	Inputs      []port            `json:"inputs"`
	Outputs     []port            `json:"outputs"`
	Meta        map[string]string `json:"meta"`
	Unsupported []string          `json:"unsupported"`
	Training    map[string]int    `json:"training_mode,omitempty"` // nodes that were exported in training mode, by operator
	Summary     *nn.Summary       `json:"summary"`
	Growth      map[string]string `json:"growth"`     // multiply-adds by symbol, the others at size 1
	Details     []nodeDetails     `json:"details"`    // of each node of the summary
	Parameters  []weightFigures   `json:"parameters"` // with --weights
}

// port is an input or output.
type port struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (p port) String() string { return p.Name + " " + p.Type }

// nodeDetails are the inputs and attributes of a node.
type nodeDetails struct {
	Node       string         `json:"node"`
	Inputs     []string       `json:"inputs"` // "" for one that is left out
	Attributes map[string]any `json:"attributes"`
}

func newInspect() *cobra.Command {
	var asJSON, brief, all, weights bool
	var svg string
	var from source
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show a model's inputs, outputs, nodes, parameters and cost",
		Long: `inspect prints a model's inputs and outputs, its producer, operators that graft cannot run, and a table of its nodes: the
shape of the first output, parameters (trainable ones separately) and multiply-adds. In types such as float32[N,3,224,224] a name
is a symbolic dimension and ? an unknown one. Symbolic dimensions count as 1; how the multiply-adds grow with each is printed.
Memory is given for the stored tensors and for the values of a run: the peak, and the sum, which training keeps.

Constants and shape arithmetic are omitted from the table; --all includes them. --weights lists the parameters: whether each is
trainable, its range, mean, deviation and zeros. --json prints all of this, and the inputs and attributes of each node.

--svg FILE draws the graph instead: operators with the shapes of their weights, values with their shapes, bodies of loops and
branches inside their nodes. Repeated sequences of nodes are drawn once, as a block with a count; --all draws every node.`,
		Example: `  graft inspect squeezenet1.1.onnx
  graft inspect --brief model.onnx
  graft inspect --weights model.onnx
  graft inspect model.onnx --type "data float32[8,3,224,224]"
  graft inspect --json model.onnx
  graft inspect --svg model.svg model.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := from.load(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("svg") {
				return drawGraph(cmd, svg, g, all)
			}
			r := report{
				Model: g.Name(), Header: onnxio.HeaderOf(g), Inputs: ports(g.Inputs()), Outputs: ports(g.Outputs()),
				Meta: g.Meta(), Unsupported: onnxio.Unsupported(g), Training: trainingNodes(g), Summary: g.Summary(), Growth: growth(g),
			}
			if weights {
				if r.Parameters, err = weightTable(g); err != nil {
					return err
				}
			}
			if asJSON {
				r.Details = details(g)
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return r.print(cmd.OutOrStdout(), brief, all)
		},
	}
	from.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print one JSON object")
	f.BoolVar(&brief, "brief", false, "omit the table of nodes")
	f.BoolVar(&all, "all", false, "include constants and shape arithmetic")
	f.BoolVar(&weights, "weights", false, "list the parameters with range, mean, deviation and zeros")
	f.StringVar(&svg, "svg", "", "draw the graph into this file; - is standard output")
	f.StringArrayVar(&from.types, "input", nil, "the same as --type")
	_ = f.MarkHidden("input")
	return cmd
}

func ports(values []*nn.Value) []port {
	list := make([]port, len(values))
	for i, v := range values {
		list[i] = port{v.Name(), v.Type().String()}
	}
	return list
}

// details returns the nodes' inputs and attributes.
func details(g *nn.Graph) []nodeDetails {
	var list []nodeDetails
	for n := range g.Nodes() {
		d := nodeDetails{Node: n.Label(), Inputs: []string{}, Attributes: map[string]any{}}
		for _, v := range n.Inputs() {
			name := ""
			if v != nil {
				name = v.Name()
			}
			d.Inputs = append(d.Inputs, name)
		}
		if c := n.Config(); c != nil {
			for _, a := range op.Encode(g.Opsets()[n.Domain()], c) {
				d.Attributes[a.Name] = attribute(a.Value)
			}
		}
		list = append(list, d)
	}
	return list
}

// attribute returns the value of an attribute in a form that JSON can represent.
func attribute(v any) any {
	switch x := v.(type) {
	case float32:
		return finite(float64(x))
	case []float32:
		list := make([]any, len(x))
		for i, f := range x {
			list[i] = finite(float64(f))
		}
		return list
	case int64, string, []int64, []string:
		return x
	case dtype.Value:
		return op.TypeOf(x).String() + " " + preview(x, 8)
	}
	return fmt.Sprintf("%T", v)
}

// growth returns how the multiply-adds grow with each symbol of the inputs: "29 128 448·N".
func growth(g *nn.Graph) map[string]string {
	all := map[string]string{}
	for _, v := range g.Inputs() {
		for _, d := range v.Type().Shape {
			if d.Sym == "" || d.Known() || all[d.Sym] != "" || len(d.Symbols()) != 1 {
				continue
			}
			at := func(n int) int64 { return g.SummaryAt(map[string]int{d.Sym: n}).Total.MACs }
			if s := polynomial(d.Sym, at(16), at(32), at(48), 16); s != "" && at(80) == evaluated(at(16), at(32), at(48), 16, 80) {
				all[d.Sym] = s
			}
		}
	}
	return all
}

// polynomial returns the polynomial in symbol, of degree at most 2, through the values x, y, z at 1, 2 and 3 times step; "" if its
// coefficients are not integers.
func polynomial(symbol string, x, y, z, step int64) string {
	square := z - 2*y + x
	if square%(2*step*step) != 0 {
		return ""
	}
	a := square / (2 * step * step)
	rest := y - x - 3*a*step*step
	if rest%step != 0 {
		return ""
	}
	b := rest / step
	var terms []string
	for _, t := range []struct {
		factor int64
		of     string
	}{{x - a*step*step - b*step, ""}, {b, "·" + symbol}, {a, "·" + symbol + "²"}} {
		if t.factor != 0 {
			terms = append(terms, grouped(t.factor)+t.of)
		}
	}
	return strings.Join(terms, " + ")
}

// evaluated returns the value of that polynomial at n.
func evaluated(x, y, z, step, n int64) int64 {
	k := n/step - 1 // steps beyond the first value
	return x + k*(y-x) + k*(k-1)/2*(z-2*y+x)
}

// grouped writes a number with a space after every three digits.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// size formats an amount of memory with its unit.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f kB", float64(n)/1e3)
}

func (r report) print(w io.Writer, brief, all bool) error {
	b := bufio.NewWriter(w)
	line := func(key string, format string, args ...any) {
		fmt.Fprintf(b, "%-12s %s\n", key, fmt.Sprintf(format, args...))
	}
	line("model", "%s", r.Model)
	if by := strings.TrimSpace(r.Producer + " " + r.ProducerVersion); by != "" {
		line("made by", "%s", by)
	}
	for _, domain := range slices.Sorted(maps.Keys(r.Opsets)) {
		name := domain
		if name == "" {
			name = "ai.onnx"
		}
		line("opset", "%s %d", name, r.Opsets[domain])
	}
	for _, p := range r.Inputs {
		line("input", "%s %s", p.Name, p.Type)
	}
	for _, p := range r.Outputs {
		line("output", "%s %s", p.Name, p.Type)
	}
	for _, f := range r.Functions {
		line("function", "%s", f)
	}
	for _, k := range slices.Sorted(maps.Keys(r.Meta)) {
		line("meta", "%s = %.80s", k, r.Meta[k])
	}
	t := r.Summary.Total
	line("size", "%d nodes, %d parameters (%d trainable), %d multiply-adds", t.Nodes, t.Params, t.Trainable, t.MACs)
	others := ""
	if len(r.Growth) > 1 {
		others = ", with the other symbols at 1"
	}
	for symbol, s := range sorted(r.Growth) {
		line("by "+symbol, "%s multiply-adds%s", s, others)
	}
	if t.Uncounted > 0 {
		line("not counted", "the multiply-adds of %s whose sizes are unknown with symbols at 1 (--type sets sizes), or in branches or loops", plural(t.Uncounted, "node"))
	}
	line("memory", "%s stored; values of a run %s at a time, %s in all", size(t.Stored), size(t.Peak), size(t.Bytes))
	if what := runInTraining(r.Training); what != "" {
		line("training", "%s as in training, in inference, too; graft edit --inference fixes it", what)
	}
	if len(r.Unsupported) > 0 {
		line("unsupported", "%s", strings.Join(r.Unsupported, ", "))
	}
	if !brief {
		fmt.Fprintf(b, "\n%s\n", strings.TrimRight(r.shown(all).String(), "\n"))
		if left := len(r.Summary.Rows) - len(r.shown(all).Rows); left > 0 {
			fmt.Fprintf(b, "%d nodes of constants and shapes are not shown; --all shows them\n", left)
		}
	}
	if r.Parameters != nil {
		fmt.Fprintf(b, "\n%s", weightText(r.Parameters))
	}
	return b.Flush()
}

// shown returns the summary without the nodes whose results are constant, except those with parameters.
func (r report) shown(all bool) *nn.Summary {
	s := *r.Summary
	if !all {
		s.Rows = slices.DeleteFunc(slices.Clone(s.Rows), func(x nn.Row) bool { return x.Folded && x.Params == 0 })
	}
	return &s
}
