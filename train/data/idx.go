package data

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// ReadIDX reads a file in MNIST's IDX format, plain or gzip, with elements of type uint8, int8, int16, int32, float32
// or float64.
func ReadIDX(path string) (*tensor.Dense, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := readIDX(f)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	return t, nil
}

func readIDX(r io.Reader) (*tensor.Dense, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0 || head[1] != 0 {
		return nil, fmt.Errorf("not an IDX file")
	}
	read, ok := map[byte]func(io.Reader, []int) (*tensor.Dense, error){
		8: readElements[uint8], 9: readElements[int8], 11: readElements[int16], 12: readElements[int32], 13: readElements[float32], 14: readElements[float64],
	}[head[2]]
	if !ok || head[3] == 0 {
		return nil, fmt.Errorf("not an IDX file: element type %#x, rank %d", head[2], head[3])
	}
	dims := make([]int, head[3])
	for i := range dims {
		var d [4]byte
		if _, err := io.ReadFull(r, d[:]); err != nil {
			return nil, fmt.Errorf("truncated in the header")
		}
		dims[i] = int(binary.BigEndian.Uint32(d[:]))
	}
	return read(r, dims)
}

// readElements reads the elements of a tensor in big-endian order; r must end after them.
func readElements[T any](r io.Reader, dims []int) (*tensor.Dense, error) {
	width := binary.Size(*new(T))
	n, err := size(dims, width)
	if err != nil {
		return nil, err
	}
	var v []T
	var d *tensor.Dense
	raw, err := budget.ReadToEnd(r, n*width, func() []byte {
		v = make([]T, n)
		d = tensor.New(tensor.WithShape(dims...), tensor.WithBacking(v))
		return dtype.Bytes(d)
	})
	if err != nil {
		return nil, err
	}
	_, err = binary.Decode(raw, binary.BigEndian, v) // in place
	return d, err
}

// IDX reads a set in MNIST's IDX format, plain or gzip. An image is float32 [1, height, width], with bytes scaled to 0
// … 1; [channels, height, width] if the file has one more axis; elements that are not bytes are not scaled. A label is
// int64 of rank 0.
func IDX(images, labels string) (Dataset[Sample], error) {
	x, err := ReadIDX(images)
	if err != nil {
		return nil, err
	}
	if x.Dims() != 3 && x.Dims() != 4 {
		return nil, fmt.Errorf("data: %s: shape %v, want images: rank 3 or 4", images, x.Shape())
	}
	y, err := ReadIDX(labels)
	if err != nil {
		return nil, err
	}
	class, ok, err := integers(y)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", labels, err)
	}
	if !ok || y.Dims() != 1 {
		return nil, fmt.Errorf("data: %s: %v of shape %v, want labels: integers of rank 1", labels, y.Dtype(), y.Shape())
	}
	n := x.Shape()[0]
	if len(class) != n {
		return nil, fmt.Errorf("data: %d images in %s, %d labels in %s", n, images, len(class), labels)
	}
	shape := append([]int(nil), x.Shape()[1:]...)
	if len(shape) == 2 {
		shape = append([]int{1}, shape...)
	}
	s := images8{shape: shape, class: class}
	if x.Dtype() == tensor.Uint8 {
		s.pixels = x.Uint8s()
		return s, nil
	}
	f, err := floats32(x)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", images, err)
	}
	return Tensors(tensor.New(tensor.WithShape(append([]int{n}, shape...)...), tensor.WithBacking(f)),
		tensor.New(tensor.WithShape(n), tensor.WithBacking(class)))
}

// FindIDX looks for MNIST's files in a folder: …images-idx3-ubyte and …labels-idx1-ubyte with the same prefix, possibly
// with the suffix .gz. Of several pairs it prefers the training set, by its name, or with held another one. Without a
// pair both names are empty.
func FindIDX(dir string, held bool) (images, labels string) {
	found, _ := filepath.Glob(filepath.Join(dir, "*images-idx3-ubyte*")) // the pattern is well-formed
	last := func(path string) int {
		if strings.Contains(filepath.Base(path), "train") == held {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b string) int { return last(a) - last(b) })
	for _, images := range found {
		name := strings.Replace(filepath.Base(images), "images-idx3", "labels-idx1", 1)
		labels := filepath.Join(dir, name)
		if info, err := os.Stat(labels); err == nil && info.Mode().IsRegular() {
			return images, labels
		}
	}
	return "", ""
}

// images8 is a set of byte images that are converted to float32 when they are
// read, which takes a quarter of the memory.
type images8 struct {
	pixels []byte
	shape  []int // of one image, channels first
	class  []int64
}

func (s images8) Len() int { return len(s.class) }

func (s images8) At(i int, _ *rand.Rand) (Sample, error) {
	if err := within(i, len(s.class)); err != nil {
		return Sample{}, err
	}
	n := elements(s.shape)
	x := make([]float32, n)
	for k, p := range s.pixels[i*n : (i+1)*n] {
		x[k] = float32(p) / 255
	}
	return Sample{
		X: []*tensor.Dense{tensor.New(tensor.WithShape(s.shape...), tensor.WithBacking(x))},
		Y: []*tensor.Dense{label(int(s.class[i]))},
	}, nil
}

// integers returns the elements of a tensor of integers; ok is false for another one, or if one is beyond int64.
func integers(t *tensor.Dense) (class []int64, ok bool, err error) {
	if !dtype.Of(t.Dtype()).IsInteger() || !contiguous(t) {
		return nil, false, nil
	}
	switch t.Dtype() {
	case tensor.Int64:
		return dtype.Slice[int64](t), true, nil
	case tensor.Uint64:
		if slices.ContainsFunc(dtype.Slice[uint64](t), func(u uint64) bool { return u > math.MaxInt64 }) {
			return nil, false, nil
		}
	}
	class, err = dtype.Int64s(t)
	return class, true, err
}

// floats32 returns the elements of a tensor of numbers.
func floats32(t *tensor.Dense) ([]float32, error) {
	if t.Dtype() == tensor.Float32 {
		return dtype.Slice[float32](t), nil
	}
	var d *tensor.Dense
	list, err := budget.Filled(elements(t.Shape()), func(int) []float32 {
		d = dtype.New(dtype.Float32, t.Shape()...)
		return dtype.Slice[float32](d)
	})
	if err != nil {
		return nil, err
	}
	return list, dtype.Convert(d, t)
}
