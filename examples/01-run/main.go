// Command 01-run loads a model and runs it on an image.
//
//	go run ./examples/01-run MODEL.onnx IMAGE
//
// Without arguments it runs a small digit classifier on a rendered 7.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/examples/letters"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
)

func main() {
	model, imageFile := "cmd/graft/demo/digits.onnx", ""
	if len(os.Args) == 3 {
		model, imageFile = os.Args[1], os.Args[2]
	}
	if err := run(context.Background(), model, imageFile); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, model, imageFile string) error {
	g, err := onnxio.Load(model)
	if err != nil {
		return err // one line: stage, operator, node, input, wanted, got
	}
	if imageFile == "" {
		dir, err := os.MkdirTemp("", "graft-run-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if _, err := letters.WriteFolder(dir, "7", 1, 1); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(dir, "*", "*.png"))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("no image was rendered: %v", err)
		}
		imageFile = found[0]
	}
	p, err := data.Guess(g.Inputs()[0].Type().Sizes()) // or data.ImageNet, or the settings in the file's metadata
	if err != nil {
		return err
	}
	x, err := p.Open(imageFile) // 1×channels×height×width
	if err != nil {
		return err
	}
	out, err := g.Run(ctx, x) // in the model's input order; any goroutine may call it
	if err != nil {
		return err
	}
	classes, scores, err := data.Top(out[0], 3)
	if err != nil {
		return err
	}
	for i, c := range classes {
		fmt.Printf("%5.1f %% class %d\n", 100*scores[i], c)
	}
	return nil
}
