// Command zzscratch is temporary.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/internal/zzscratch/zzonnxio"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
)

func main() {
	root := "/tmp/node/node"
	pass, fail := 0, 0
	verbose := os.Getenv("V") != ""
	byOp := map[string]int{}
	for _, pat := range os.Args[1:] {
		dirs, _ := filepath.Glob(filepath.Join(root, pat))
		for _, d := range dirs {
			err := run(d)
			if err == errSkip {
				continue
			}
			if err != nil {
				fail++
				fmt.Println("FAIL", filepath.Base(d), err)
			} else {
				pass++
				if verbose {
					fmt.Println("ok", filepath.Base(d))
				}
			}
		}
	}
	_ = byOp
	fmt.Println("pass", pass, "fail", fail)
}

var errSkip = fmt.Errorf("skip")

func run(dir string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("PANIC %v", r)
			if os.Getenv("P") != "" {
				panic(r)
			}
		}
	}()
	b, err := os.ReadFile(dir + "/model.onnx")
	if err != nil {
		return err
	}
	var m onnxpb.ModelProto
	if err := proto.Unmarshal(b, &m); err != nil {
		return err
	}
	opset := 0
	for _, s := range m.OpsetImport {
		if s.GetDomain() == "" || s.GetDomain() == "ai.onnx" {
			opset = int(s.GetVersion())
		}
	}
	g := m.Graph
	var ins, outs []dtype.Value
	for i, vi := range g.Input {
		v, err := load(fmt.Sprintf("%s/test_data_set_0/input_%d.pb", dir, i), vi)
		if err != nil {
			return err
		}
		ins = append(ins, v)
	}
	for i, vi := range g.Output {
		v, err := load(fmt.Sprintf("%s/test_data_set_0/output_%d.pb", dir, i), vi)
		if err != nil {
			return err
		}
		outs = append(outs, v)
	}
	env := map[string]dtype.Value{}
	for i, vi := range g.Input {
		env[vi.GetName()] = ins[i]
	}
	if err := eval(g, env, opset); err != nil {
		return err
	}
	for i, vi := range g.Output {
		if err := optest.Compare(env[vi.GetName()], outs[i], 1e-4); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

func eval(g *onnxpb.GraphProto, env map[string]dtype.Value, opset int) error {
	for _, t := range g.Initializer {
		v, err := tensorOf(t)
		if err != nil {
			return err
		}
		env[t.GetName()] = v
	}
	for _, n := range g.Node {
		o := op.Standard().Find(n.GetDomain(), n.GetOpType())
		if o == nil {
			if os.Getenv("SKIPUNK") != "" {
				return errSkip
			}
			return fmt.Errorf("no operator %s", n.GetOpType())
		}
		ver := o.Version(opset)
		attrs := map[string]any{}
		for _, a := range n.Attribute {
			v, err := attr(a, env, opset)
			if err != nil {
				return err
			}
			attrs[a.GetName()] = v
		}
		if bodies(attrs) {
			return fmt.Errorf("bodies not supported here")
		}
		cfg, err := o.Decode(ver, attrs)
		if err != nil {
			return err
		}
		var in []dtype.Value
		var types []op.Type
		var known []op.Known
		for _, name := range n.Input {
			var v dtype.Value
			if name != "" {
				v = env[name]
				if v == nil {
					return fmt.Errorf("no value %s", name)
				}
			}
			in = append(in, v)
			if v != nil {
				types = append(types, op.TypeOf(v))
			} else {
				types = append(types, op.Type{})
			}
			known = append(known, op.Known{Value: v})
		}
		c := op.NewCall(cfg, types...)
		c.Version, c.Opset = ver, opset
		c.Known = known
		c.Outputs = len(n.Output)
		c.Want = make([]bool, len(n.Output))
		for i, name := range n.Output {
			c.Want[i] = name != ""
		}
		if err := c.Resolve(); err != nil {
			return err
		}
		out, err := op.Eval(c, in)
		if err != nil {
			return err
		}
		for i, name := range n.Output {
			if name != "" {
				env[name] = out[i]
				if out[i] != nil {
					got := op.TypeOf(out[i])
					if c.Out[i].Static() && got.String() != c.Out[i].Concrete() {
						return fmt.Errorf("%s: type %v, inferred %v", n.GetOpType(), got, c.Out[i])
					}
				}
			}
		}
	}
	return nil
}

func bodies(attrs map[string]any) bool { return false }

func attr(a *onnxpb.AttributeProto, env map[string]dtype.Value, opset int) (any, error) {
	switch a.GetType().String() {
	case "INT":
		return a.GetI(), nil
	case "FLOAT":
		return a.GetF(), nil
	case "STRING":
		return string(a.GetS()), nil
	case "INTS":
		return a.Ints, nil
	case "FLOATS":
		return a.Floats, nil
	case "STRINGS":
		var s []string
		for _, x := range a.Strings {
			s = append(s, string(x))
		}
		return s, nil
	case "TENSOR":
		return tensorOf(a.T)
	case "GRAPH":
		return newBody(a.G, env, opset), nil
	}
	return nil, fmt.Errorf("attribute type %v", a.GetType())
}

func tensorOf(t *onnxpb.TensorProto) (dtype.Value, error) {
	b, err := proto.Marshal(t)
	if err != nil {
		return nil, err
	}
	n, err := onnxio.ReadTensor(bytes.NewReader(b))
	return n.Value, err
}

func load(name string, vi *onnxpb.ValueInfoProto) (dtype.Value, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := vi.GetType()
	kind, elem := onnxio.KindTensor, int32(0)
	s := t.String()
	switch {
	case strings.HasPrefix(strings.TrimSpace(s), "optional_type"):
		kind = onnxio.KindOptional
	case strings.HasPrefix(strings.TrimSpace(s), "sequence_type"):
		kind = onnxio.KindSequence
	}
	n, err := onnxio.ReadValue(f, kind, dtype.DType(elem))
	return n.Value, err
}
