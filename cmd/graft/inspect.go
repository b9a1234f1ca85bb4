package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/spf13/cobra"
)

// report is what inspect tells, and its JSON form.
type report struct {
	Model string `json:"model"`
	onnxio.Header
	Inputs      []port            `json:"inputs"`
	Outputs     []port            `json:"outputs"`
	Meta        map[string]string `json:"meta"`
	Unsupported []string          `json:"unsupported"`
	Summary     *nn.Summary       `json:"summary"`
}

// port is an input or output.
type port struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (p port) String() string { return p.Name + " " + p.Type }

func newInspect() *cobra.Command {
	var asJSON, brief bool
	var from source
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show a model's inputs, outputs, nodes, parameters and cost",
		Long: `inspect prints what a model takes and gives, where it comes from, which of its operators graft
cannot run, and a table of its nodes: shape of the first output, parameters (those that training
would change apart) and multiply-adds. Types read float32[N,3,224,224]: a name is a dimension that
is free, ? one that is unknown.`,
		Example: `  graft inspect squeezenet1.1.onnx
  graft inspect --brief model.onnx
  graft inspect model.onnx --type "data float32[8,3,224,224]"
  graft inspect --json model.onnx`,
		Args: oneModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := from.load(args[0])
			if err != nil {
				return err
			}
			r := report{
				Model: g.Name, Header: onnxio.HeaderOf(g), Inputs: ports(g.Inputs()), Outputs: ports(g.Outputs()),
				Meta: g.Meta, Unsupported: onnxio.Unsupported(g), Summary: g.Summary(),
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return r.print(cmd.OutOrStdout(), brief)
		},
	}
	from.flags(cmd)
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "one JSON object")
	f.BoolVar(&brief, "brief", false, "leave the table of nodes out")
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

func (r report) print(w io.Writer, brief bool) error {
	var b strings.Builder
	line := func(key string, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", key, fmt.Sprintf(format, args...))
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
	if len(r.Unsupported) > 0 {
		line("unsupported", "%s", strings.Join(r.Unsupported, ", "))
	}
	if !brief {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(r.Summary.String(), "\n"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
