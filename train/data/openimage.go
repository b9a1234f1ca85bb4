// Package data reads data sets and provides them in batches.
//
// A Set has a length and a function from index to sample; Map, Split, Subset, Concat and MixUp make sets of sets, and
// any type with the two methods is one. A Sample has the inputs and targets of a model, without batch axis: an image is
// [channels, height, width], a class label an int64 of rank 0. Collate stacks samples along a new first axis, and
// Loader goes through a set in seeded order, with goroutines that prepare batches ahead.
//
// Randomness is counter-based: what a sample draws depends only on the seed, the epoch and its index, so that a run has
// the same bytes with any number of workers, and a resumed one continues exactly.
//
// Readers: IDX, CIFAR, NPY, NPZ, Tensors and, for images, which a Preprocess prepares, Folder (a folder per class),
// MaskFolder and ReadTags. Corrupt files are errors that name the file. Package table reads tables of text.
package data

import (
	"fmt"
	"image"

	"gorgonia.org/tensor"
)

// OpenImage decodes an image file, and applies its Exif orientation. Errors name the file.
func OpenImage(path string) (image.Image, error) { return decode(path) }

// AsImage converts a tensor float32 [1 or 3, height, width], from 0 (black) to 1 (white), to an image.
func AsImage(x *tensor.Dense) (image.Image, error) {
	if x == nil {
		return nil, errNoTensor
	}
	s := x.Shape()
	if x.Dtype() != tensor.Float32 || len(s) != 3 || s[0] != 1 && s[0] != 3 || elements(s) == 0 || !contiguous(x) {
		return nil, fmt.Errorf("data: %v of shape %v, want an image: float32 [1 or 3, height, width]", x.Dtype(), s)
	}
	return asImage(x), nil
}
