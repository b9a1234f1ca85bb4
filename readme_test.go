package graft_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/prune"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/gorgonia"
)

// TestReadme keeps the README's programs those that stand below, and so compile.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	space := regexp.MustCompile(`\s+`)
	plain := space.ReplaceAllString(string(code), " ")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) < 6 {
		t.Errorf("README.md has %d programs", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(plain, strings.TrimSpace(space.ReplaceAllString(string(b[1]), " "))) {
			t.Errorf("a program of README.md is not in readme_test.go:\n%s", b[1])
		}
	}
}

// Example_run loads a model and runs it on an image.
func Example_run() {
	run := func(ctx context.Context) error {
		g, err := onnxio.Load("squeezenet1.1.onnx")
		if err != nil {
			return err // one line: stage, operator, node, input, wanted, got
		}
		x, err := data.ImageNet.Open("cat.jpg") // 1×3×224×224, resized, cropped, normalized
		if err != nil {
			return err
		}
		out, err := g.Run(ctx, x) // in the model's input order; any goroutine may call it
		if err != nil {
			return err
		}
		classes, scores, err := data.Top(out[0], 5)
		if err != nil {
			return err
		}
		fmt.Println(classes, scores)
		return nil
	}
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Example_batch loads a model with a fixed batch size, for batches of any size.
func Example_batch() {
	g, err := onnxio.Loader{Inputs: []string{"data_0 float32[N,3,224,224]"}}.Load("squeezenet1.1.onnx")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Summary())
}

// Example_edit inserts a layer, removes another, replaces the classifier and freezes the layers before it.
func Example_edit() {
	change := func(g *nn.Graph, classes []string) error {
		err := g.Edit(func(e *nn.Edit) {
			e.Insert(e.Value("fire5/concat_1"), layers.BatchNorm{}) // starts as the identity
			e.Remove(e.Find(nn.Ops("Dropout")))                     // which node, by what it is
			e.Freeze(nn.Before(e.Head(nn.Head{Labels: classes})))   // a new classifier, the rest frozen
		})
		return err
	}
	g, err := onnxio.Load("squeezenet1.1.onnx")
	if err != nil {
		log.Fatal(err)
	}
	if err := change(g, []string{"daisy", "rose", "tulip"}); err != nil {
		log.Fatal(err)
	}
}

// Example_prune prunes a model to half of its multiply-adds in three rounds, each with fine-tuning.
func Example_prune() {
	shrink := func(ctx context.Context, g *nn.Graph, t *train.Trainer, fit, val data.Dataset[data.Sample]) error {
		p := prune.Pruner{Target: prune.Target{MACs: 0.5}, By: prune.Taylor(t.Gradients(ctx, fit)), RoundTo: 8}
		for plan, err := range p.Steps(ctx, g, 3) {
			if err != nil {
				return err
			}
			fmt.Println(plan) // layer, axis, before → after, parameters and multiply-adds saved
			if _, err := t.Fit(ctx, fit, val); err != nil {
				return err
			}
		}
		return onnxio.Save("small.onnx", g)
	}
	_ = shrink
}

// Example_train fine-tunes a model on a folder of images, FOLDER/CLASS/*.jpg.
func Example_train() {
	finetune := func(ctx context.Context, g *nn.Graph) error {
		pics, err := data.Folder("flowers")
		if err != nil {
			return err
		}
		fit, val := pics.Split(0.2, data.ImageNet) // augments the first, not the second
		t, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 1e-3}, Epochs: 20, Batch: 32, Dir: "flowers.run", Resume: true})
		if err != nil {
			return err
		}
		for ep, err := range t.Epochs(ctx, fit, val) { // break stops early
			if err != nil {
				return err // ctrl-C too; the checkpoint is whole, the next run resumes
			}
			fmt.Println(ep)
		}
		return onnxio.Save("flowers.onnx", g)
	}
	_ = finetune
}

// A function written with Gorgonia becomes a model.
func Example_trace() {
	mlp := func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		w := gorgonia.NewMatrix(x[0].Graph(), gorgonia.Float32, gorgonia.WithName("w"), gorgonia.WithShape(784, 10), gorgonia.WithInit(gorgonia.GlorotN(1)))
		h, err := gorgonia.Mul(x[0], w)
		if err != nil {
			return nil, err
		}
		h, err = gorgonia.Tanh(h)
		return gorgonia.Nodes{h}, err
	}
	g, err := nn.Trace(mlp, "x float32[N,784]") // a Graph like any other: edit it, train it, save it
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Inputs()[0].Type(), "→", g.Outputs()[0].Type())
	// Output: float32[N,784] → float32[N,10]
}

// A recurrence is a Scan rather than unrolled.
func Example_scan() {
	rnn := func(cell nn.Expr, state, sequence *gorgonia.Node) (gorgonia.Nodes, error) {
		final, all, err := nn.ForEach(cell, gorgonia.Nodes{state}, gorgonia.Nodes{sequence}) // cell: state, slice → next state, what is collected
		return append(final, all...), err
	}
	_ = rnn
}
