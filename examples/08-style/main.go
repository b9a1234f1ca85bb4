// Command 08-style is neural style transfer (Gatys, Ecker, Bethge 2015): it paints the content of one image in the style of
// another. The model is not changed; the image is optimized, by gradients with respect to the model's input. Its activations
// shall match those of the content, and the correlations between their channels those of the style.
//
//	go run ./examples/08-style MODEL.onnx CONTENT.jpg STYLE.jpg     # a classifier of images, SqueezeNet say
//
// Without arguments a small network of random filters paints a disc in stripes.
package main

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func main() {
	dir, err := os.MkdirTemp("", "style")
	if err != nil {
		log.Fatal(err)
	}
	p := painter{steps: 100, rate: 0.05, style: 5, out: filepath.Join(dir, "painted.png"), w: os.Stdout}
	if len(os.Args) == 4 {
		_, _, err = p.files(context.Background(), os.Args[1], os.Args[2], os.Args[3])
	} else {
		_, _, err = p.drawn(context.Background(), dir)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("painted:", p.out)
}

// painter holds the settings of a run.
type painter struct {
	steps int
	rate  float64 // of a step, as a share of the way from black to white
	style float64 // weight of the style's loss
	out   string
	w     io.Writer
}

// files paints with the model and the images of files. It returns the loss before and after.
func (p painter) files(ctx context.Context, model, content, style string) (first, last float64, err error) {
	g, err := onnxio.Load(model)
	if err != nil {
		return 0, 0, err
	}
	in := g.Inputs()[0]
	shape := in.Type().Sizes()
	if len(shape) != 4 {
		return 0, 0, fmt.Errorf("the model's input is %v: want images", in.Type())
	}
	for i, n := range []int{1, 3, 224, 224} { // sizes that the model leaves open
		if shape[i] < 0 || i == 0 {
			shape[i] = n
		}
	}
	typ := strings.ReplaceAll(fmt.Sprint(shape), " ", ",")
	if g, err = (onnxio.Loader{Inputs: []string{in.Name() + " float32" + typ}}).Load(model); err != nil {
		return 0, 0, err
	}
	prepare, err := data.Guess(shape)
	if err != nil {
		return 0, 0, err
	}
	x, err := prepare.Open(content)
	if err != nil {
		return 0, 0, err
	}
	y, err := prepare.Open(style)
	if err != nil {
		return 0, 0, err
	}
	return p.paint(ctx, g, prepare, x, y)
}

// drawn paints a disc in stripes, with a network of random filters.
func (p painter) drawn(ctx context.Context, dir string) (first, last float64, err error) {
	const size = 64
	g := nn.New("filters")
	err = g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		e.Output("features", e.Apply(nn.Sequential{
			layers.Conv{Out: 16, Kernel: []int{5}, Same: true}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 24, Kernel: []int{3}, Same: true}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 32, Kernel: []int{3}, Same: true}, layers.ReLU{},
		}, e.Input("image", fmt.Sprintf("float32[1,3,%d,%d]", size, size))))
	})
	if err != nil {
		return 0, 0, err
	}
	prepare := data.ImageNet
	prepare.Size = size
	disc := func(x, y int) color.Color {
		if (x-size/2)*(x-size/2)+(y-size/2)*(y-size/2) < size*size/10 {
			return color.RGBA{230, 220, 200, 255}
		}
		return color.RGBA{40, 50, 70, 255}
	}
	stripes := func(x, y int) color.Color {
		if (x+y)/6%2 == 0 {
			return color.RGBA{220, 60, 30, 255}
		}
		return color.RGBA{250, 210, 60, 255}
	}
	var images []*tensor.Dense
	for name, at := range map[string]func(x, y int) color.Color{"content.png": disc, "style.png": stripes} {
		m := image.NewRGBA(image.Rect(0, 0, size, size))
		for i := range size * size {
			m.Set(i%size, i/size, at(i%size, i/size))
		}
		if err := save(filepath.Join(dir, name), m); err != nil {
			return 0, 0, err
		}
	}
	for _, name := range []string{"content.png", "style.png"} {
		x, err := prepare.Open(filepath.Join(dir, name))
		if err != nil {
			return 0, 0, err
		}
		images = append(images, x)
	}
	return p.paint(ctx, g, prepare, images[0], images[1])
}

// paint changes x until its activations have the correlations of y's, and are still its own in the middle of the model.
func (p painter) paint(ctx context.Context, g *nn.Graph, prepare data.Preprocess, x, y *tensor.Dense) (first, last float64, err error) {
	input := g.Inputs()[0].Name()
	names := activations(g, 5)
	if len(names) == 0 {
		return 0, 0, errors.New("the model has no activation to compare images by")
	}
	middle := names[len(names)/2]
	of, err := g.Eval(ctx, nn.Feed{input: y}, names...)
	if err != nil {
		return 0, 0, err
	}
	own, err := g.Eval(ctx, nn.Feed{input: x}, middle)
	if err != nil {
		return 0, 0, err
	}
	err = g.Edit(func(e *nn.Edit) { // the loss is part of the graph
		in := []*nn.Value{e.Value(middle), e.Const(e.New("content"), own[middle].(*tensor.Dense))}
		for _, name := range names {
			in = append(in, e.Value(name), e.Const(e.New("style"), of[name].(*tensor.Dense)))
		}
		for _, v := range e.Expr(p.loss, in...) {
			e.Output("loss", v)
		}
	})
	if err != nil {
		return 0, 0, err
	}
	rule := optim.Adam{LR: p.rate * max(1, prepare.Range)}
	x = dtype.Clone(x)
	slots, err := rule.Init(x)
	if err != nil {
		return 0, 0, err
	}
	for step := range p.steps + 1 {
		if step%25 == 0 || step == p.steps {
			out, err := g.Eval(ctx, nn.Feed{input: x}, "loss")
			if err != nil {
				return 0, 0, err
			}
			last = float64(dtype.Slice[float32](out["loss"].(*tensor.Dense))[0])
			if step == 0 {
				first = last
			}
			fmt.Fprintf(p.w, "step %d: loss %.4g\n", step, last)
		}
		if step == p.steps {
			break
		}
		grads, err := g.Grad(ctx, nn.Feed{input: x}, "loss", input)
		if err != nil {
			return 0, 0, err
		}
		if err := rule.Step(x, grads[input].(*tensor.Dense), slots, optim.Hyper{Rate: 1, Step: step}); err != nil {
			return 0, 0, err
		}
	}
	return first, last, save(p.out, rendered(prepare, x))
}

// activations returns the names of n values after activations, from all of the model's depth but its end.
func activations(g *nn.Graph, n int) []string {
	var all []string
	for node := range g.Nodes(nn.Ops("Relu")) {
		if node.Out(0).Type().Rank() == 4 {
			all = append(all, node.Out(0).Name())
		}
	}
	all = all[:(len(all)+1)*2/3]
	var names []string
	for i := range min(n, len(all)) {
		names = append(names, all[i*len(all)/min(n, len(all))])
	}
	return names
}

// loss returns the distance of the contents, n[0] and n[1], and those of the styles that follow, a Gorgonia function.
func (p painter) loss(n ...*G.Node) (G.Nodes, error) {
	total, err := distance(n[0], n[1])
	if err != nil {
		return nil, err
	}
	for pair := range slices.Chunk(n[2:], 2) {
		x, err := gram(pair[0])
		if err != nil {
			return nil, err
		}
		y, err := gram(pair[1])
		if err != nil {
			return nil, err
		}
		d, err := distance(x, y)
		if err != nil {
			return nil, err
		}
		if d, err = G.Mul(d, G.NewConstant(float32(p.style))); err != nil {
			return nil, err
		}
		if total, err = G.Add(total, d); err != nil {
			return nil, err
		}
	}
	return G.Nodes{total}, nil
}

// distance returns the mean squared difference, as a share of the second's mean square.
func distance(x, y *G.Node) (*G.Node, error) {
	d, err := G.Sub(x, y)
	if err != nil {
		return nil, err
	}
	for _, at := range []**G.Node{&d, &y} {
		if *at, err = G.Square(*at); err != nil {
			return nil, err
		}
		if *at, err = G.Mean(*at); err != nil {
			return nil, err
		}
	}
	return G.Div(d, y)
}

// gram is channels by channels: how often two are active together.
func gram(x *G.Node) (*G.Node, error) {
	s := x.Shape()
	rows, err := G.Reshape(x, tensor.Shape{s[1], s[2] * s[3]})
	if err != nil {
		return nil, err
	}
	columns, err := G.Transpose(rows, 1, 0)
	if err != nil {
		return nil, err
	}
	product, err := G.Mul(rows, columns)
	if err != nil {
		return nil, err
	}
	return G.Div(product, G.NewConstant(float32(s[2]*s[3])))
}

// rendered reverses the preprocessing of the pixels.
func rendered(p data.Preprocess, x *tensor.Dense) image.Image {
	h, w := x.Shape()[2], x.Shape()[3]
	white := p.Range
	if white == 0 {
		white = 1
	}
	at := func(list []float64, c int, none float64) float64 {
		switch len(list) {
		case 0:
			return none
		case 1:
			return list[0]
		}
		return list[c]
	}
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	v := dtype.Slice[float32](x)
	for i := range h * w {
		var rgb [3]uint8
		for c := range rgb {
			from := min(c, x.Shape()[1]-1)
			if p.BGR {
				from = 2 - c
			}
			shade := (float64(v[from*h*w+i])*at(p.Std, c, 1) + at(p.Mean, c, 0)) / white
			rgb[c] = uint8(math.Round(255 * min(max(shade, 0), 1)))
		}
		m.SetRGBA(i%w, i/w, color.RGBA{rgb[0], rgb[1], rgb[2], 255})
	}
	return m
}

// save writes an image.
func save(name string, m image.Image) error {
	if filepath.Ext(name) != ".png" {
		return fmt.Errorf("%s: want a name that ends in .png", name)
	}
	return onnxio.WriteFile(name, func(w io.Writer) error { return png.Encode(w, m) })
}
