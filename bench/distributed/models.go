package main

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
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
	return nn.Sequential{nn.Conv{Out: out, Kernel: []int{kernel}, Stride: []int{stride}, Same: true, NoBias: true}, nn.BatchNorm{}}
}

// resnet is ResNet-18 of He et al., 2015: 11.7 million parameters.
func resnet(e *nn.Edit) {
	net := append(conv(64, 7, 2), nn.ReLU{}, nn.MaxPool{Kernel: []int{2, 2}})
	for i, c := range []int{64, 64, 128, 128, 256, 256, 512, 512} {
		stride, shortcut := 1, nn.Layer(nil)
		if i > 0 && i%2 == 0 {
			stride, shortcut = 2, conv(c, 1, 2)
		}
		body := append(append(conv(c, 3, stride), nn.ReLU{}), conv(c, 3, 1)...)
		net = append(net, nn.Residual{Body: body, Shortcut: shortcut}, nn.ReLU{})
	}
	net = append(net, nn.GlobalAvgPool{}, nn.Flatten{}, nn.Linear{Out: 1000})
	e.Output("scores", e.Apply(net, e.Input("image", "float32[N,3,224,224]")))
}

// vgg is VGG-11 of Simonyan and Zisserman, 2014: 133 million parameters, most of them in its last layers.
func vgg(e *nn.Edit) {
	var net nn.Sequential
	for _, c := range []int{64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0} {
		if c == 0 {
			net = append(net, nn.MaxPool{Kernel: []int{2, 2}})
		} else {
			net = append(net, nn.Conv{Out: c, Kernel: []int{3, 3}, Same: true}, nn.ReLU{})
		}
	}
	net = append(net, nn.Flatten{}, nn.Linear{Out: 4096}, nn.ReLU{}, nn.Linear{Out: 4096}, nn.ReLU{}, nn.Linear{Out: 1000})
	e.Output("scores", e.Apply(net, e.Input("image", "float32[N,3,224,224]")))
}

// transformer is an encoder of six layers of 512 channels for texts of 128 tokens: 23 million parameters.
func transformer(e *nn.Edit) {
	net := nn.Sequential{nn.Embedding{Num: 8000, Dim: 512}}
	for range 6 {
		net = append(net, nn.Residual{Body: nn.Sequential{nn.LayerNorm{}, nn.Attention{Heads: 8}}},
			nn.Residual{Body: nn.Sequential{nn.LayerNorm{}, nn.Linear{Out: 2048}, nn.GELU{}, nn.Linear{Out: 512}}})
	}
	net = append(net, nn.LayerNorm{}, nn.Flatten{}, nn.Linear{Out: 10})
	e.Output("scores", e.Apply(net, e.Input("tokens", "int64[N,128]")))
}
