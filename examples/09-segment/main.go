// Command 09-segment is semantic segmentation: it trains a small U-Net on drawn scenes of discs and squares, saves it, and paints
// the predicted class of each pixel of a new scene.
//
//	go run ./examples/09-segment                          # train, save, paint
//	go run ./examples/09-segment MODEL.onnx IMAGE       # paint what a model finds, [N,classes,height,width], in an image
package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

const size = 32 // of a scene, in pixels

var classes = []string{"background", "disc", "square"}

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "segment")
	if err != nil {
		log.Fatal(err)
	}
	model, imageFile := filepath.Join(dir, "segment.onnx"), filepath.Join(dir, "scene.png")
	if len(os.Args) == 3 {
		model, imageFile = os.Args[1], os.Args[2]
	} else if _, err := learn(ctx, os.Stdout, model, imageFile, 1000, 8); err != nil {
		log.Fatal(err)
	}
	painted := filepath.Join(dir, "painted.png")
	if err := paint(ctx, os.Stdout, model, imageFile, painted); err != nil {
		log.Fatal(err)
	}
	fmt.Println("painted:", painted)
}

// learn trains on n scenes, saves the model and a scene that it was not trained on, and returns how well the areas of the classes
// and those that were found overlap on such scenes.
func learn(ctx context.Context, w io.Writer, model, imageFile string, n, epochs int) ([]float64, error) {
	meta, err := data.Preprocess{Size: size, Crop: 1}.Meta()
	if err != nil {
		return nil, err
	}
	g := nn.New("segment")
	err = g.Edit(func(e *nn.Edit) {
		e.Seed(1)
		for key, text := range meta { // how images are prepared goes with the file
			e.SetMeta(key, text)
		}
		e.Output("scores", network(e, e.Input("image", "float32[N,3,H,W]")))
	})
	if err != nil {
		return nil, err
	}
	fit, err := scenes(n, 1)
	if err != nil {
		return nil, err
	}
	val, err := scenes(n/4, 2)
	if err != nil {
		return nil, err
	}
	history, err := train.Fit(ctx, g, train.Config{
		Loss: train.CrossEntropy{}, // of a class for each pixel, scores on axis 1
		Rule: optim.AdamW{LR: 3e-3}, Schedule: optim.OneCycleLR{}, Epochs: epochs, Batch: 16, Seed: 1, Log: train.Quiet,
	}, fit, val)
	if err != nil {
		return nil, err
	}
	for _, epoch := range history {
		fmt.Fprintln(w, epoch)
	}
	if err := onnxio.Save(model, g); err != nil {
		return nil, err
	}
	pixels, _ := scene(rand.New(rand.NewPCG(3, 1)))
	if err := save(imageFile, drawing(pixels)); err != nil {
		return nil, err
	}
	return overlaps(ctx, w, g, val)
}

// network halves the image twice and restores its size; skip connections carry positions over from the downward path.
func network(e *nn.Edit, x *nn.Value) *nn.Value {
	block := func(out int) nn.Layer {
		return nn.Sequential{layers.Conv{Out: out, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}}
	}
	half := layers.MaxPool{Kernel: []int{2}}
	twice := func(out int) nn.Layer { return layers.ConvTranspose{Out: out, Kernel: []int{2}, Stride: []int{2}} }
	whole := e.Apply(block(12), x)
	halved := e.Apply(block(24), e.Apply(half, whole))
	small := e.Apply(block(48), e.Apply(half, halved))
	up := e.Apply(block(24), e.Apply(layers.Concat{}, halved, e.Apply(twice(24), small)))
	up = e.Apply(block(12), e.Apply(layers.Concat{}, whole, e.Apply(twice(12), up)))
	return e.Apply(layers.Conv{Out: len(classes), Kernel: []int{1}}, up)
}

// scene draws discs and squares in any colours on noise: pixels by channel, and the class of each place.
func scene(r *rand.Rand) (pixels []float32, labels []int64) {
	pixels, labels = make([]float32, 3*size*size), make([]int64, size*size)
	for i := range pixels {
		pixels[i] = 0.3 + 0.2*r.Float32()
	}
	for range 2 + r.IntN(3) {
		kind, radius := 1+r.IntN(2), 3+r.IntN(5)
		x, y := r.IntN(size), r.IntN(size)
		colour := [3]float32{r.Float32(), r.Float32(), r.Float32()}
		colour[r.IntN(3)] = 0.9
		for i := range labels {
			dx, dy := i%size-x, i/size-y
			inside := max(dx, -dx, dy, -dy) <= radius
			if kind == 1 {
				inside = dx*dx+dy*dy <= radius*radius
			}
			if inside {
				labels[i] = int64(kind)
				for c, v := range colour {
					pixels[c*size*size+i] = v
				}
			}
		}
	}
	return pixels, labels
}

func scenes(n int, seed uint64) (data.Dataset[data.Sample], error) {
	x, y := dtype.New(dtype.Float32, n, 3, size, size), dtype.New(dtype.Int64, n, size, size)
	for i := range n {
		pixels, labels := scene(rand.New(rand.NewPCG(seed, uint64(i))))
		copy(dtype.Slice[float32](x)[i*len(pixels):], pixels)
		copy(dtype.Slice[int64](y)[i*len(labels):], labels)
	}
	return data.Tensors(x, y)
}

// overlaps are, by class, the pixels that are of it and were found as a share of those that are either.
func overlaps(ctx context.Context, w io.Writer, g *nn.Graph, s data.Dataset[data.Sample]) ([]float64, error) {
	both, either := make([]int, len(classes)), make([]int, len(classes))
	for b, err := range (data.BatchLoader{Batch: 32}).Batches(ctx, s, 0) {
		if err != nil {
			return nil, err
		}
		out, err := g.Run(ctx, b.X[0])
		if err != nil {
			return nil, err
		}
		found, err := best(out[0])
		if err != nil {
			return nil, err
		}
		for i, is := range dtype.Slice[int64](b.Y[0]) {
			if found[i] == int(is) {
				both[is]++
			} else {
				either[found[i]]++
			}
			either[is]++
		}
	}
	shares := make([]float64, len(classes))
	for i, name := range classes {
		shares[i] = float64(both[i]) / float64(max(1, either[i]))
		fmt.Fprintf(w, "%-10s overlap %.1f %%\n", name, 100*shares[i])
	}
	return shares, nil
}

// best returns the class with the largest score at each place of [N,classes,height,width].
func best(d dtype.Value) ([]int, error) {
	scores, ok := d.(*tensor.Dense)
	if !ok || len(scores.Shape()) != 4 {
		return nil, fmt.Errorf("the output is %v: want a score for each class and place, [N,classes,height,width]", d.Shape())
	}
	v, err := dtype.Float64s(scores)
	if err != nil {
		return nil, err
	}
	n, c, area := scores.Shape()[0], scores.Shape()[1], scores.Shape()[2]*scores.Shape()[3]
	out := make([]int, n*area)
	for i := range out {
		at := i/area*c*area + i%area
		for k := range c {
			if v[at+k*area] > v[at+out[i]*area] {
				out[i] = k
			}
		}
	}
	return out, nil
}

// paint runs a model on an image and paints each place in the colour of its class.
func paint(ctx context.Context, w io.Writer, model, imageFile, out string) error {
	g, err := onnxio.Load(model)
	if err != nil {
		return err
	}
	p, ok, err := data.ReadMeta(g.Meta()) // the settings in the file's metadata
	if err == nil && !ok {
		p, err = data.Guess(g.Inputs()[0].Type().Sizes())
	}
	if err != nil {
		return err
	}
	x, err := p.Open(imageFile)
	if err != nil {
		return err
	}
	scores, err := g.Run(ctx, x)
	if err != nil {
		return err
	}
	found, err := best(scores[0])
	if err != nil {
		return err
	}
	shape := scores[0].Shape()
	m := image.NewRGBA(image.Rect(0, 0, shape[3], shape[2]))
	count := map[int]int{}
	for i, c := range found {
		count[c]++
		hue := uint32(c) * 2654435761 // far from its neighbours
		shade := color.RGBA{uint8(hue >> 24), uint8(hue >> 16), uint8(hue >> 8), 255}
		m.SetRGBA(i%shape[3], i/shape[3], shade)
	}
	for c := range shape[1] {
		if count[c] > 0 {
			fmt.Fprintf(w, "class %d: %.1f %% of the image\n", c, 100*float64(count[c])/float64(len(found)))
		}
	}
	return save(out, m)
}

// drawing returns a scene as an image.
func drawing(pixels []float32) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, size, size))
	for i := range size * size {
		at := func(c int) uint8 { return uint8(255 * pixels[c*size*size+i]) }
		m.SetRGBA(i%size, i/size, color.RGBA{at(0), at(1), at(2), 255})
	}
	return m
}

func save(name string, m image.Image) error {
	return onnxio.WriteFile(name, func(w io.Writer) error { return png.Encode(w, m) })
}
