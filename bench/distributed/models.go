package main

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
)

// model is a network with a batch of one node.
type model struct {
	name  string
	batch int
	input dtype.DType
	shape []int // of a sample
	build func(e *nn.Edit)
}

var models = []model{
	{"ResNet-18", 8, dtype.Float32, []int{3, 224, 224}, resnet},
	{"VGG-11", 8, dtype.Float32, []int{3, 224, 224}, vgg},
	{"Transformer", 8, dtype.Int64, []int{128}, transformer},
}

func conv(out, kernel, stride int) nn.Sequential {
	return nn.Sequential{layers.Conv{Out: out, Kernel: []int{kernel}, Stride: []int{stride}, Same: true, NoBias: true}, layers.BatchNorm{}}
}

// resnet is ResNet-18 of He et al., 2015: 11.7 million parameters.
func resnet(e *nn.Edit) {
	net := append(conv(64, 7, 2), layers.ReLU{}, layers.MaxPool{Kernel: []int{2, 2}})
	for i, c := range []int{64, 64, 128, 128, 256, 256, 512, 512} {
		stride, shortcut := 1, nn.Layer(nil)
		if i > 0 && i%2 == 0 {
			stride, shortcut = 2, conv(c, 1, 2)
		}
		body := append(append(conv(c, 3, stride), layers.ReLU{}), conv(c, 3, 1)...)
		net = append(net, layers.Residual{Body: body, Shortcut: shortcut}, layers.ReLU{})
	}
	net = append(net, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 1000})
	e.Output("scores", e.Apply(net, e.Input("image", "float32[N,3,224,224]")))
}

// vgg is VGG-11 of Simonyan and Zisserman, 2014: 133 million parameters, most of them in its last layers.
func vgg(e *nn.Edit) {
	var net nn.Sequential
	for _, c := range []int{64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0} {
		if c == 0 {
			net = append(net, layers.MaxPool{Kernel: []int{2, 2}})
		} else {
			net = append(net, layers.Conv{Out: c, Kernel: []int{3, 3}, Same: true}, layers.ReLU{})
		}
	}
	net = append(net, layers.Flatten{}, layers.Linear{Out: 4096}, layers.ReLU{}, layers.Linear{Out: 4096}, layers.ReLU{}, layers.Linear{Out: 1000})
	e.Output("scores", e.Apply(net, e.Input("image", "float32[N,3,224,224]")))
}

// transformer is an encoder of six layers of 512 channels for texts of 128 tokens: 23 million parameters.
func transformer(e *nn.Edit) {
	net := nn.Sequential{layers.Embedding{Num: 8000, Dim: 512}}
	for range 6 {
		net = append(net, layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Attention{Heads: 8}}},
			layers.Residual{Body: nn.Sequential{layers.LayerNorm{}, layers.Linear{Out: 2048}, layers.GELU{}, layers.Linear{Out: 512}}})
	}
	net = append(net, layers.LayerNorm{}, layers.Flatten{}, layers.Linear{Out: 10})
	e.Output("scores", e.Apply(net, e.Input("tokens", "int64[N,128]")))
}
