package std_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A depthwise convolution runs together with the pointwise ones around it, where nobody else reads what is between
// and nothing is added to it; never more than three. Parts of a Concat are computed in place, maxima
// with the convolution in front of them. A transposed convolution takes up what follows it.
func TestConvChain(t *testing.T) {
	if k := kernel.About().Kernels; k == "portable" || k == "NEON" {
		t.Skip("there are no kernels for it here")
	}
	for _, c := range []struct {
		name  string
		build func(b *chainBuilder) *gorgonia.Node
		steps int
	}{
		{"inverted residual", func(b *chainBuilder) *gorgonia.Node {
			return b.add(b.conv(b.clip(b.depth(b.clip(b.conv(b.x, 8, 24)), 24)), 24, 8), b.x)
		}, 1},
		{"separable, twice", func(b *chainBuilder) *gorgonia.Node {
			return b.conv(b.depth(b.conv(b.depth(b.x, 8), 8, 12), 12), 12, 8)
		}, 2},
		{"three pointwise", func(b *chainBuilder) *gorgonia.Node {
			return b.conv(b.conv(b.depth(b.conv(b.x, 8, 24), 24), 24, 8), 8, 8)
		}, 2},
		{"a sum between", func(b *chainBuilder) *gorgonia.Node {
			return b.conv(b.add(b.depth(b.x, 8), b.x), 8, 8)
		}, 2},
		{"read twice", func(b *chainBuilder) *gorgonia.Node {
			y := b.conv(b.x, 8, 8)
			return b.add(b.depth(y, 8), y)
		}, 2},
		{"fire", func(b *chainBuilder) *gorgonia.Node {
			y := b.clip(b.conv(b.x, 8, 5))
			return b.concat(1, b.clip(b.conv(y, 5, 7)), b.wide(y, 5, 9))
		}, 2},
		{"a part that is there", func(b *chainBuilder) *gorgonia.Node {
			return b.concat(1, b.x, b.wide(b.x, 8, 9), b.x)
		}, 1},
		{"a part that is a sum", func(b *chainBuilder) *gorgonia.Node {
			return b.concat(1, b.conv(b.x, 8, 3), b.add(b.conv(b.x, 8, 8), b.x))
		}, 2},
		{"a part that is there twice", func(b *chainBuilder) *gorgonia.Node {
			y := b.conv(b.x, 8, 3)
			return b.concat(1, y, y)
		}, 2},
		{"images", func(b *chainBuilder) *gorgonia.Node {
			return b.concat(0, b.conv(b.x, 8, 4), b.wide(b.x, 8, 4))
		}, 1},
		{"transposed", func(b *chainBuilder) *gorgonia.Node {
			return b.clip(b.up(b.apply(std.LeakyReluConfig{}, b.up(b.x, 8, 5)), 5, 3))
		}, 2},
		{"transposed and a sum", func(b *chainBuilder) *gorgonia.Node {
			return b.clip(b.add(b.up(b.x, 8, 5), b.constant(2, 5, 18, 20)))
		}, 1},
		{"pooled", func(b *chainBuilder) *gorgonia.Node {
			return b.pool(b.clip(b.wide(b.constant(2, 3, 30, 30), 3, 9)))
		}, 1},
		{"pooled, a sum between", func(b *chainBuilder) *gorgonia.Node {
			return b.pool(b.add(b.wide(b.constant(2, 3, 30, 30), 3, 9), b.constant(2, 9, 30, 30)))
		}, 2},
		{"pooled and read", func(b *chainBuilder) *gorgonia.Node {
			y := b.clip(b.wide(b.constant(2, 3, 30, 30), 3, 9))
			return b.add(b.pool(y), b.pool(b.conv(y, 9, 9)))
		}, 4},
		{"where the maxima are", func(b *chainBuilder) *gorgonia.Node {
			n, err := std.Operators().ApplyN(2, std.MaxPoolConfig{Kernel: []int{2, 2}}, b.wide(b.constant(2, 3, 30, 30), 3, 9))
			if err != nil {
				b.t.Fatal(err)
			}
			return b.apply(std.CastConfig{To: dtype.Float32}, n[1])
		}, 3},
		{"rows", func(b *chainBuilder) *gorgonia.Node {
			return b.concat(2, b.conv(b.x, 8, 4), b.conv(b.x, 8, 4))
		}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &chainBuilder{t: t, g: gorgonia.NewGraph()}
			b.x = b.constant(2, 8, 9, 10)
			y := c.build(b)
			run := func(o engine.Options) ([]float32, int) {
				p, err := engine.Compile(o, y)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				return dtype.Slice[float32](p.Value(y).(*tensor.Dense)), len(p.Stats().Steps)
			}
			got, steps := run(engine.Options{})
			want, _ := run(engine.Options{Unfused: true})
			if steps != c.steps {
				t.Errorf("%d steps, want %d", steps, c.steps)
			}
			for i, w := range want {
				if d := got[i] - w; !(d < 1e-5 && d > -1e-5) {
					t.Fatalf("element %d is %v, apart %v", i, got[i], w)
				}
			}
		})
	}
}

// chainBuilder builds chains of convolutions with biases.
type chainBuilder struct {
	t    *testing.T
	g    *gorgonia.ExprGraph
	x    *gorgonia.Node
	seed uint64
}

func (b *chainBuilder) constant(shape ...int) *gorgonia.Node {
	b.t.Helper()
	b.seed++
	n, err := op.Const(b.g, optest.Rand(b.seed, shape...))
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *chainBuilder) apply(c op.Config, in ...*gorgonia.Node) *gorgonia.Node {
	b.t.Helper()
	y, err := std.Operators().Apply1(c, in...)
	if err != nil {
		b.t.Fatal(fmt.Errorf("%T: %w", c, err))
	}
	return y
}

func (b *chainBuilder) conv(x *gorgonia.Node, from, to int) *gorgonia.Node {
	return b.apply(std.ConvConfig{Group: 1}, x, b.constant(to, from, 1, 1), b.constant(to))
}

// pool halves the sides of images.
func (b *chainBuilder) pool(x *gorgonia.Node) *gorgonia.Node {
	return b.apply(std.MaxPoolConfig{Kernel: []int{3, 3}, Strides: []int{2, 2}, Pads: []int{1, 1, 1, 1}}, x)
}

// up doubles the sides of images.
func (b *chainBuilder) up(x *gorgonia.Node, from, to int) *gorgonia.Node {
	return b.apply(std.ConvTransposeConfig{Group: 1, Strides: []int{2, 2}, Pads: []int{1, 1, 1, 1}}, x, b.constant(from, to, 4, 4), b.constant(to))
}

func (b *chainBuilder) depth(x *gorgonia.Node, channels int) *gorgonia.Node {
	return b.apply(std.ConvConfig{Group: channels, Pads: []int{1, 1, 1, 1}}, x, b.constant(channels, 1, 3, 3), b.constant(channels))
}

func (b *chainBuilder) clip(x *gorgonia.Node) *gorgonia.Node {
	low, high := float32(0), float32(0.5)
	return b.apply(std.ClipConfig{Min: &low, Max: &high}, x)
}

func (b *chainBuilder) add(x, y *gorgonia.Node) *gorgonia.Node {
	return b.apply(std.AddConfig{}, x, y)
}

func (b *chainBuilder) wide(x *gorgonia.Node, from, to int) *gorgonia.Node {
	return b.apply(std.ConvConfig{Group: 1, Pads: []int{1, 1, 1, 1}}, x, b.constant(to, from, 3, 3), b.constant(to))
}

func (b *chainBuilder) concat(axis int, parts ...*gorgonia.Node) *gorgonia.Node {
	return b.apply(std.ConcatConfig{Axis: axis}, parts...)
}
