package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/safetensors"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"github.com/graft-ml/graft/train/table"
	"github.com/graft-ml/graft/train/token"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// call is a call of something else than one operator, at a size where it takes long. prepare makes its input, in an empty folder.
type call struct {
	name    string
	without bool // it takes no context: only its whole time is measured
	prepare func(dir string) (func(ctx context.Context) error, error)
}

var calls = []call{
	{name: "save 300,000 nodes", prepare: func(dir string) (func(context.Context) error, error) {
		g, err := chain(300_000)
		return func(ctx context.Context) error {
			return onnxio.Saver{Context: ctx}.Save(filepath.Join(dir, "m.onnx"), g)
		}, err
	}},
	{name: "save 60,000 residual nodes", prepare: func(dir string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			return onnxio.Saver{Context: ctx}.Save(filepath.Join(dir, "m.onnx"), g)
		}, err
	}},
	{name: "save 60,000 residual nodes, external data", prepare: func(dir string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			return onnxio.Saver{Context: ctx, ExternalOver: 1}.Save(filepath.Join(dir, "m.onnx"), g)
		}, err
	}},
	{name: "save 60,000 residual nodes as operator set 26", prepare: func(dir string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			return onnxio.Saver{Context: ctx, Opset: 26, DType: dtype.Float16}.Save(filepath.Join(dir, "m.onnx"), g)
		}, err
	}},
	{name: "load 300,000 nodes", prepare: func(dir string) (func(context.Context) error, error) {
		g, err := chain(300_000)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "m.onnx")
		return func(ctx context.Context) error {
			_, err := onnxio.Loader{Context: ctx}.Load(path)
			return err
		}, onnxio.Save(path, g)
	}},
	{name: "load 60,000 residual nodes", prepare: func(dir string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "m.onnx")
		return func(ctx context.Context) error {
			_, err := onnxio.Loader{Context: ctx, BatchDim: "N"}.Load(path)
			return err
		}, onnxio.Save(path, g)
	}},
	{name: "first run of 60,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			g.Trim()
			_, err := g.Run(ctx, dtype.New(dtype.Float32, 1, 8))
			return err
		}, err
	}},
	{name: "first gradients of 60,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		if err != nil {
			return nil, err
		}
		loss := addLoss(g)
		return func(ctx context.Context) error {
			g.Trim()
			_, err := g.Grad(ctx, nn.Feed{"x": dtype.New(dtype.Float32, 1, 8)}, loss, "x", "w0", "w7")
			return err
		}, nil
	}},
	{name: "first training step of 30,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(30_000)
		if err != nil {
			return nil, err
		}
		t, err := train.New(g, train.Config{Loss: train.MSE{}})
		x, y := dtype.New(dtype.Float32, 4, 8), dtype.New(dtype.Float32, 4, 8)
		return func(ctx context.Context) error {
			g.Trim()
			_, err := t.Step(ctx, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}})
			return err
		}, err
	}},
	{name: "fine-tuning of 20,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		var list []data.Sample
		for i := range 64 {
			x := dtype.New(dtype.Float32, 8)
			dtype.Slice[float32](x)[i%8] = 1
			y := dtype.New(dtype.Int64)
			dtype.Slice[int64](y)[0] = int64(i % 8)
			list = append(list, data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}})
		}
		g, err := residual(20_000)
		return func(ctx context.Context) error {
			_, err := train.FineTuner{Config: train.Config{Epochs: 1, Log: func(train.Event) {}}}.FineTune(ctx, g, data.Of(list...), nil)
			return err
		}, err
	}},
	{name: "trainer of 60,000 residual nodes with an average", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			_, err := train.New(g, train.Config{EMA: 0.9, Context: ctx})
			return err
		}, err
	}},
	{name: "trainer of 60,000 residual nodes with 30,000 groups", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			_, err := train.New(g, train.Config{Groups: each(g), Context: ctx})
			return err
		}, err
	}},
	{name: "trainer of a weight of 1 GB with an average", prepare: func(string) (func(context.Context) error, error) {
		g := nn.New("weight")
		err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Node(op.Plain("MatMul"), e.Input("x", "float32[N,16384]"), e.Param("w", initial.Zeros{}, 16384, 16384)).Out(0))
		})
		return func(ctx context.Context) error {
			_, err := train.New(g, train.Config{EMA: 0.9, Context: ctx})
			return err
		}, err
	}},
	{name: "loss attached to 60,000 residual nodes with 30,000 groups", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			a, err := train.Config{Loss: train.MSE{}, Groups: each(g), Context: ctx}.Attach(g)
			if err != nil {
				return err
			}
			for _, p := range a.Params {
				if _, _, err = a.Plan(p); err != nil {
					break
				}
			}
			return err
		}, err
	}},
	{name: "training step of 8,000 residual nodes as a model", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(8000)
		return func(ctx context.Context) error {
			_, err := step.Exporter{Config: train.Config{Loss: train.MSE{}, Context: ctx}}.Export(g)
			return err
		}, err
	}},
	{name: "summary of 60,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			_, err := g.SummaryUntil(ctx, nn.Feed{})
			return err
		}, err
	}},
	{name: "60,000 residual nodes as operator set 26", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			return g.EditUntil(ctx, func(e *nn.Edit) { e.SetOpset(26 - e.Opset()%2) })
		}, err
	}},
	{name: "60,000 residual nodes in float64", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			_, err := g.PlanUntil(ctx, func(e *nn.Edit) { e.ComputeIn(dtype.Float64) })
			return err
		}, err
	}},
	{name: "Loop of 2,000 turns of 100 nodes", prepare: loops(2000, 100)},
	{name: "Loop of 30 turns of 5,000 nodes", prepare: loops(30, 5000)},
	{name: "If with branches of 30,000 nodes", prepare: func(string) (func(context.Context) error, error) {
		g := nn.New("if")
		err := g.Edit(func(e *nn.Edit) {
			c, x := e.Input("c", "bool"), e.Input("x", "float32[8]")
			branch := func(name string) op.Subgraph {
				return e.Body(name, nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
					return []*nn.Value{line(e, in[0], 30_000)}
				})
			}
			e.Output("y", e.Node(std.IfConfig{Then: branch("then"), Else: branch("else")}, c).Out(0))
		})
		return func(ctx context.Context) error {
			g.Trim()
			_, err := g.Run(ctx, dtype.New(dtype.Bool), dtype.New(dtype.Float32, 8))
			return err
		}, err
	}},
	{name: "Scan of 20,000 rows", prepare: func(string) (func(context.Context) error, error) {
		g := nn.New("scan")
		err := g.Edit(func(e *nn.Edit) {
			s, x := e.Input("s", "float32[64]"), e.Input("x", "float32[N,64]")
			body := e.Body("body", []string{"float32[64]", "float32[64]"}, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				y := e.Node(op.Plain("Add"), in[0], in[1]).Out(0)
				y = line(e, y, 10)
				return []*nn.Value{y, y}
			})
			n := e.NodeN(std.ScanConfig{Body: body, NumScanInputs: 1}, 2, s, x)
			e.Output("y", n.Out(0))
			e.Output("z", n.Out(1))
		})
		return func(ctx context.Context) error {
			g.Trim()
			_, err := g.Run(ctx, dtype.New(dtype.Float32, 64), dtype.New(dtype.Float32, 20_000, 64))
			return err
		}, err
	}},
	{name: "generate source of 60,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error {
			_, err := generate.Generate(ctx, g, generate.Options{})
			return err
		}, err
	}},
	{name: "generate source of weights of 800 MB", prepare: func(string) (func(context.Context) error, error) {
		g := nn.New("weights")
		err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3200]")
			for i := range 20 {
				x = e.Node(op.Plain("MatMul"), x, e.Param(fmt.Sprint("w", i), initial.FanIn{}, 3200, 3200)).Out(0)
			}
			e.Output("y", x)
		})
		return func(ctx context.Context) error {
			_, err := generate.Generate(ctx, g, generate.Options{})
			return err
		}, err
	}},
	{name: "plan of pruning of 60,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := trunk(60_000)
		return func(ctx context.Context) error {
			_, err := prune.Pruner{Target: prune.Target{Channels: 0.3}}.Plan(ctx, g)
			return err
		}, err
	}},
	{name: "table of 1.5 million rows", prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "t.csv")
		return func(ctx context.Context) error {
			_, err := table.Reader{Context: ctx}.Read(path)
			return err
		}, writeTable(path, 1_500_000)
	}},
	{name: "encoding of a table of 1.5 million rows", prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "t.csv")
		if err := writeTable(path, 1_500_000); err != nil {
			return nil, err
		}
		t, err := table.Read(path)
		if err != nil {
			return nil, err
		}
		rows := make([]int, t.Len())
		for i := range rows {
			rows[i] = i
		}
		return func(ctx context.Context) error {
			_, err := table.Fit(ctx, t, rows, table.Options{Scale: table.Quantile})
			return err
		}, nil
	}},
	{name: "which of 20,000 images cannot be decoded", prepare: func(dir string) (func(context.Context) error, error) {
		if err := writeImages(dir, 20_000); err != nil {
			return nil, err
		}
		f, err := data.Folder(dir)
		return func(ctx context.Context) error {
			_, err := f.Corrupt(ctx)
			return err
		}, err
	}},
	{name: "folder of 50,000 images", without: true, prepare: func(dir string) (func(context.Context) error, error) {
		return func(context.Context) error { _, err := data.Folder(dir); return err }, writeImages(dir, 50_000)
	}},
	{name: "Derive of 8,000 nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(8000)
		if err != nil {
			return nil, err
		}
		loss, err := g.Value(addLoss(g))
		return func(ctx context.Context) error {
			_, err := g.DeriveUntil(ctx, nn.DeriveOptions{Loss: loss, Params: slices.Collect(g.Params())[:1]}, func(e *nn.Edit, d *nn.Derivation) { e.Output("loss", d.Loss) })
			return err
		}, err
	}},
	{name: "safetensors, 1 GB, written", without: true, prepare: tensors(100, 2_500_000, false)},
	{name: "safetensors, 1 GB, read", without: true, prepare: tensors(100, 2_500_000, true)},
	{name: "safetensors, 300,000 tensors, written", without: true, prepare: tensors(300_000, 8, false)},
	{name: "safetensors, 300,000 tensors, read", without: true, prepare: tensors(300_000, 8, true)},
	{name: "Simplify of 60,000 residual nodes", prepare: func(string) (func(context.Context) error, error) {
		g, err := residual(60_000)
		return func(ctx context.Context) error { return g.EditUntil(ctx, func(e *nn.Edit) { e.Simplify() }) }, err
	}},
	{name: "tokenizer of 250,000 tokens and merges", prepare: func(string) (func(context.Context) error, error) {
		vocabulary, merges, list := map[string]int{}, []string{}, []string{}
		add := func(text string) {
			vocabulary[text] = len(vocabulary)
			list = append(list, text)
		}
		for c := 'a'; c <= 'z'; c++ {
			add(string(c))
		}
		for i := 0; len(list) < 250_000; i++ { // all texts of one, two and three letters, and some of four
			for _, c := range list[:26] {
				merges = append(merges, list[i]+" "+c)
				add(list[i] + c)
			}
		}
		b, err := json.Marshal(map[string]any{"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": merges}})
		return func(ctx context.Context) error { _, err := token.ParseUntil(ctx, b); return err }, err
	}},
	{name: "WordPiece of 10 MB of text", prepare: encodings(`{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"the":1,"cat":2,"c":3,"##a":4}}}`)},
	{name: "BPE of 10 MB of text", prepare: encodings(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"t":0,"h":1,"th":2,"a":3},"merges":["t h"]}}`)},
	{name: "BPE of a word of 10 MB", prepare: encodings(`{"normalizer":{"type":"NFKC"},"model":{"type":"BPE","vocab":{"t":0,"h":1,"th":2,"a":3},"merges":["t h"]}}`)},
	{name: "Unigram of a word of 10 MB", prepare: encodings(`{"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"Metaspace","split":false},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["t",-1],["th",-2],["the",-2]]}}`)},
	{name: "tokenizer of 2,000 tokens learned from 10 MB of text", prepare: func(string) (func(context.Context) error, error) {
		lines := make([]string, 200_000)
		for i := range lines {
			lines[i] = fmt.Sprintf("the cat %x is not here, but %x is\n", i*7919, i*i)
		}
		return func(ctx context.Context) error {
			_, err := token.LearnUntil(ctx, slices.Values(lines), 2000, true)
			return err
		}, nil
	}},
	{name: "load 40,000 calls of a function", prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "m.onnx")
		return func(ctx context.Context) error {
			_, err := onnxio.Loader{Context: ctx}.Load(path)
			return err
		}, writeCalls(path, 40_000)
	}},
	{name: "40,000 calls of a function replaced by its nodes", prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "m.onnx")
		if err := writeCalls(path, 40_000); err != nil {
			return nil, err
		}
		g, err := onnxio.Load(path)
		return func(ctx context.Context) error {
			return g.EditUntil(ctx, func(e *nn.Edit) {
				e.Decompose(e.Select()...)
			})
		}, err
	}},
	{name: "first run of 40,000 calls of a function", prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "m.onnx")
		if err := writeCalls(path, 40_000); err != nil {
			return nil, err
		}
		g, err := onnxio.Load(path)
		return func(ctx context.Context) error {
			g.Trim()
			_, err := g.Run(ctx, dtype.New(dtype.Float32, 8))
			return err
		}, err
	}},
	{name: "generate source of 60,000 nodes, folded", prepare: func(string) (func(context.Context) error, error) {
		g := nn.New("folded")
		err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,8]")
			for i := range 20_000 {
				w := e.Node(std.TransposeConfig{}, e.Param(fmt.Sprint("w", i), initial.Uniform{Low: -0.01, High: 0.01}, 8, 8)).Out(0)
				x = e.Node(op.Plain("Add"), x, e.Node(op.Plain("MatMul"), x, w).Out(0)).Out(0)
			}
			e.Output("y", x)
		})
		return func(ctx context.Context) error {
			_, err := generate.Generate(ctx, g, generate.Options{})
			return err
		}, err
	}},
	{name: "NPZ of 20,000 arrays", without: true, prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "a.npz")
		return func(context.Context) error { _, err := data.Arrays(path); return err }, writeArrays(path, 20_000, 100)
	}},
	{name: "NPZ of 10 arrays of 100 MB", without: true, prepare: func(dir string) (func(context.Context) error, error) {
		path := filepath.Join(dir, "a.npz")
		return func(context.Context) error { _, err := data.Arrays(path); return err }, writeArrays(path, 10, 25_000_000)
	}},
}

// encodings prepares encoding 10 MB of text.
func encodings(file string) func(string) (func(context.Context) error, error) {
	return func(string) (func(context.Context) error, error) {
		t, err := token.Parse([]byte(file))
		text := strings.Repeat("The cat's a café, and 12 more 世界 things happened!\n", 10_000_000/60)
		return func(ctx context.Context) error {
			_, err := t.EncodeUntil(ctx, text, 0)
			return err
		}, err
	}
}

// writeCalls writes a model that calls a function of two nodes n times, one after the other.
func writeCalls(path string, n int) error {
	port := func(name string) *onnxpb.ValueInfoProto {
		shape := &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: 8}}}}
		return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(1), Shape: shape}}}}
	}
	m := &onnxpb.ModelProto{
		IrVersion: proto.Int64(9), OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(20)}, {Domain: proto.String("own"), Version: proto.Int64(1)}},
		Functions: []*onnxpb.FunctionProto{{
			Name: proto.String("F"), Domain: proto.String("own"), Input: []string{"x"}, Output: []string{"y"}, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(20)}},
			Node: []*onnxpb.NodeProto{{OpType: proto.String("Neg"), Input: []string{"x"}, Output: []string{"t"}}, {OpType: proto.String("Tanh"), Input: []string{"t"}, Output: []string{"y"}}},
		}},
		Graph: &onnxpb.GraphProto{Name: proto.String("calls"), Input: []*onnxpb.ValueInfoProto{port("v0")}, Output: []*onnxpb.ValueInfoProto{port(fmt.Sprint("v", n))}},
	}
	for i := range n {
		m.Graph.Node = append(m.Graph.Node, &onnxpb.NodeProto{OpType: proto.String("F"), Domain: proto.String("own"), Input: []string{fmt.Sprint("v", i)}, Output: []string{fmt.Sprint("v", i+1)}})
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o666)
}

// each returns a group for each parameter.
func each(g *nn.Graph) (groups []train.ParamGroup) {
	for p := range g.Params() {
		groups = append(groups, train.ParamGroup{Params: []*nn.Param{p}, Rate: 0.5})
	}
	return groups
}

// measureCall measures a call in a folder of its own.
func measureCall(c call, t trial) error {
	dir, err := os.MkdirTemp("", "cancel")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := c.prepare(dir)
	if err != nil {
		return err
	}
	t.line = c.name
	if !c.without {
		return t.run("call", f)
	}
	begin := spent()
	if err := f(context.Background()); err != nil {
		return err
	}
	fmt.Printf("%-8s           of %6d ms  %s (no context)\n", "call", (spent() - begin).Milliseconds(), c.name)
	return nil
}

// line appends n nodes to x.
func line(e *nn.Edit, x *nn.Value, n int) *nn.Value {
	for i := range n {
		x = e.Node(op.Plain([]string{"Tanh", "Neg"}[i%2]), x).Out(0)
	}
	return x
}

func chain(n int) (*nn.Graph, error) {
	g := nn.New("chain")
	return g, g.Edit(func(e *nn.Edit) { e.Output("y", line(e, e.Input("x", "float32[8]"), n)) })
}

// residual returns a graph of n nodes with n/2 weights: products, each added to its input.
func residual(n int) (*nn.Graph, error) {
	g := nn.New("residual")
	return g, g.Edit(func(e *nn.Edit) { e.Output("y", blocks(e, e.Input("x", "float32[N,8]"), n)) })
}

// trunk is residual between two more products: the channels in between can be pruned.
func trunk(n int) (*nn.Graph, error) {
	g := nn.New("trunk")
	return g, g.Edit(func(e *nn.Edit) {
		x := e.Node(op.Plain("MatMul"), e.Input("x", "float32[N,4]"), e.Param("first", initial.FanIn{}, 4, 8)).Out(0)
		e.Output("y", e.Node(op.Plain("MatMul"), blocks(e, x, n), e.Param("last", initial.FanIn{}, 8, 4)).Out(0))
	})
}

func blocks(e *nn.Edit, x *nn.Value, n int) *nn.Value {
	for i := range n / 2 {
		w := e.Param(fmt.Sprint("w", i), initial.Uniform{Low: -0.01, High: 0.01}, 8, 8)
		x = e.Node(op.Plain("Add"), x, e.Node(op.Plain("MatMul"), x, w).Out(0)).Out(0)
	}
	return x
}

// loops prepares a Loop of a number of turns over a number of nodes.
func loops(turns, nodes int) func(string) (func(context.Context) error, error) {
	return func(string) (func(context.Context) error, error) {
		g := nn.New("loop")
		err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[8]")
			body := e.Body("body", []string{"int64", "bool", "float32[8]"}, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{in[1], line(e, in[2], nodes)}
			})
			n := e.Input("n", "int64")
			e.Output("y", e.Node(std.LoopConfig{Body: body}, n, nil, x).Out(0))
		})
		n := dtype.New(dtype.Int64)
		dtype.Slice[int64](n)[0] = int64(turns)
		return func(ctx context.Context) error {
			g.Trim()
			_, err := g.Eval(ctx, nn.Feed{"x": dtype.New(dtype.Float32, 8), "n": n})
			return err
		}, err
	}
}

func tensors(n, size int, read bool) func(string) (func(context.Context) error, error) {
	return func(string) (func(context.Context) error, error) {
		all := map[string]*tensor.Dense{}
		for i := range n {
			all[fmt.Sprint("layer ", i, " weight")] = dtype.New(dtype.Float32, size)
		}
		var b bytes.Buffer
		if !read {
			return func(context.Context) error { return safetensors.Write(io.Discard, all) }, nil
		}
		err := safetensors.Write(&b, all)
		return func(context.Context) error {
			_, err := safetensors.Read(bytes.NewReader(b.Bytes()))
			return err
		}, err
	}
}

func writeTable(path string, rows int) error {
	var b bytes.Buffer
	b.WriteString("a,b,color,when,y\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d.%d,%d,%s,20%02d-%02d-%02d,%s\n", i%977, i%10, i%1013, []string{"red", "green", "blue"}[i%3], i%20, 1+i%12, 1+i%28, []string{"yes", "no"}[i%7/4])
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

func writeImages(dir string, n int) error {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 32, 32))); err != nil {
		return err
	}
	for i := range n {
		class := filepath.Join(dir, fmt.Sprint("class", i%10))
		if i < 10 {
			if err := os.Mkdir(class, 0o777); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprint(i, ".png")), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

func writeArrays(path string, n, size int) error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		w, err := z.Create(fmt.Sprint("array", i, ".npy"))
		if err != nil {
			return err
		}
		if err := npy.Write(w, dtype.New(dtype.Float32, size)); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
