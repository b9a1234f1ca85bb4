// Command 02-finetune gives a model a new head, freezes the rest and fine-tunes it on a folder of images.
//
//	go run ./examples/02-finetune MODEL.onnx FOLDER     # FOLDER/<class>/*.png
//
// Without arguments it teaches a digit classifier letters that it renders itself.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/examples/letters"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

func main() {
	dir, err := os.MkdirTemp("", "graft-finetune-")
	if err != nil {
		log.Fatal(err)
	}
	model, folder := "cmd/graft/demo/digits.onnx", filepath.Join(dir, "letters")
	if len(os.Args) == 3 {
		model, folder = os.Args[1], os.Args[2]
	} else if _, err := letters.WriteFolder(folder, "ABEG", 400, 1); err != nil {
		log.Fatal(err)
	}
	if _, err := run(context.Background(), model, folder, filepath.Join(dir, "run"), 8); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, model, folder, dir string, epochs int) (best float64, err error) {
	g, err := onnxio.Load(model)
	if err != nil {
		return 0, err
	}
	pics, err := data.Folder(folder)
	if err != nil {
		return 0, err
	}
	if err := g.Edit(func(e *nn.Edit) {
		e.Freeze(nn.Before(e.Head(nn.Head{Labels: pics.Classes})))
		e.Unfreeze(nn.Glob("*conv3*", "*bn3*")) // the last block learns as well
	}); err != nil {
		return 0, err
	}
	p, err := data.Guess(g.Inputs()[0].Type().Sizes())
	if err != nil {
		return 0, err
	}
	p.NoFlip, p.MinArea = true, 0.8 // letters are not mirrored
	fit, val := pics.Split(0.2, p)  // by class; augments the first only
	t, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 5e-3}, Epochs: epochs, Batch: 32, Dir: dir, Resume: true})
	if err != nil {
		return 0, err
	}
	for ep, err := range t.Epochs(ctx, fit, val) { // break stops early
		if err != nil {
			return 0, err // ctrl-C too; the checkpoint is whole, the next run resumes
		}
		fmt.Println(ep)
		best = max(best, ep.Val["accuracy"])
	}
	return best, onnxio.Save(filepath.Join(dir, "letters.onnx"), g)
}
