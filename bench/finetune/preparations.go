package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// preparations determines the preprocessing of each model that preparations.py wrote, on images that it was not trained on, and prints
// what was found beside what is right.
func preparations(ctx context.Context, dir string) error {
	models, err := filepath.Glob(filepath.Join(dir, "*", "*_*_*.onnx"))
	if err != nil || len(models) == 0 {
		return fmt.Errorf("%s: no models of preparations.py", dir)
	}
	count := map[string]int{}
	for _, path := range models {
		words := strings.Split(strings.TrimSuffix(filepath.Base(path), ".onnx"), "_")
		found, err := measured(ctx, path, filepath.Join(filepath.Dir(path), "images"))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		verdict := "right"
		if found.Name != words[1] || found.NHWC != (words[2] == "nhwc") {
			verdict = "wrong"
		}
		if found.Guess {
			verdict += ", a guess"
		}
		count[found.By+": "+verdict]++
		fmt.Printf("%-44s %-14s %v\n", filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), verdict, found)
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		fmt.Printf("%4d %s\n", count[kind], kind)
	}
	return nil
}

// measured determines the preprocessing of a model on images from a folder.
func measured(ctx context.Context, model, dir string) (found train.Preparation, err error) {
	g, err := onnxio.Load(model)
	if err != nil {
		return found, err
	}
	images, err := data.Folder(dir)
	if err != nil {
		return found, err
	}
	base, err := data.Guess(g.Inputs()[0].Type().Sizes())
	if err != nil {
		return found, err
	}
	plain := data.Preprocess{Size: base.Size, Width: base.Width, Crop: base.Crop, Gray: base.Gray}
	all := images.All(plain)
	var some []*tensor.Dense
	const most = 96
	for i := range min(most, all.Len()) {
		s, err := all.At(i*all.Len()/min(most, all.Len()), nil)
		if err != nil {
			return found, err
		}
		some = append(some, s.X[0])
	}
	return train.Prepare(ctx, g, base, some)
}
