package main

import (
	"fmt"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
)

// presetHelp is the text of every --preset flag.
const presetHelp = "how to prepare pictures: imagenet, caffe, unit or raw; default: as the model's metadata say, or a guess"

// preprocess is how a picture becomes an input of type t: by the preset, the model's metadata, or a
// guess from the type, in this order.
func preprocess(g *nn.Graph, t op.Type, preset string) (data.Preprocess, error) {
	presets := map[string]data.Preprocess{"imagenet": data.ImageNet, "caffe": data.Caffe, "unit": data.Unit, "raw": data.Raw}
	p, ok := presets[strings.ToLower(preset)]
	if !ok && preset != "" {
		return p, fmt.Errorf("--preset %q is unknown: want imagenet, caffe, unit or raw", preset)
	}
	if !ok {
		var err error
		if p, ok, err = data.ReadMeta(g.Meta); err != nil {
			return p, err
		}
	}
	if !ok {
		return data.Guess(t.Sizes())
	}
	return p.For(t.Sizes())
}
