package data

import (
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// Classes returns the classes of all samples of s, whose one target is an int64 of rank 0. Image files are not read.
func Classes(s Dataset[Sample]) ([]int, error) {
	if s == nil {
		return nil, errNoSet
	}
	if list, ok := itemClasses(s); ok {
		return list, nil
	}
	list := make([]int, s.Len())
	for i := range list {
		c, err := classAt(s, i)
		if err != nil {
			return nil, err
		}
		list[i] = c
	}
	return list, nil
}

// itemClasses returns the classes of image files without reading the files. ok is false unless the first sample has the class of its file.
func itemClasses(s Dataset[Sample]) ([]int, bool) {
	if m, ok := s.(mirroring); ok {
		s = m.Dataset
	}
	m, ok := s.(mapped[ImageFile, Sample])
	if !ok || m.Len() == 0 {
		return nil, false
	}
	list := make([]int, m.Len())
	for i := range list {
		item, err := m.from.At(i, nil)
		if err != nil || item.Class < 0 {
			return nil, false
		}
		list[i] = item.Class
	}
	c, err := classAt(s, 0)
	return list, err == nil && c == list[0]
}

func classAt(s Dataset[Sample], i int) (int, error) {
	x, err := s.At(i, nil)
	if err != nil {
		return 0, err
	}
	if len(x.Y) != 1 || x.Y[0].Dtype() != tensor.Int64 || elements(x.Y[0].Shape()) != 1 {
		return 0, fmt.Errorf("data: sample %d has no class: want one int64 target", i)
	}
	return int(backing(x.Y[0]).Index(0).Int()), nil
}

// Counts returns how often each class occurs, up to the largest class.
func Counts(classes []int) []int {
	var n []int
	for _, c := range classes {
		for c >= len(n) {
			n = append(n, 0)
		}
		if c >= 0 {
			n[c]++
		}
	}
	return n
}

// ClassWeights returns the weight n/(classes · nᵢ) for each class, which balances class frequencies; 0 for a class that
// does not occur.
func ClassWeights(counts []int) []float64 {
	w, all, some := make([]float64, len(counts)), 0, 0
	for _, n := range counts {
		if all += n; n > 0 {
			some++
		}
	}
	for i, n := range counts {
		if n > 0 {
			w[i] = float64(all) / float64(some*n)
		}
	}
	return w
}

// Balance returns a set that samples all classes equally often: a random class is drawn first, then one of its samples.
// classes are those of the samples. Without randomness, sample i is that of s.
func Balance(s Dataset[Sample], classes []int) (Dataset[Sample], error) {
	if s == nil {
		return nil, errNoSet
	}
	if len(classes) != s.Len() {
		return nil, fmt.Errorf("data: %d classes for %d samples", len(classes), s.Len())
	}
	b := balanced{from: s}
	by := map[int]int{}
	for i, c := range classes {
		at, ok := by[c]
		if !ok {
			at = len(b.of)
			by[c], b.of = at, append(b.of, nil)
		}
		b.of[at] = append(b.of[at], i)
	}
	return b, nil
}

type balanced struct {
	from Dataset[Sample]
	of   [][]int // the samples of each class
}

func (b balanced) Len() int { return b.from.Len() }

func (b balanced) At(i int, r *rand.Rand) (Sample, error) {
	if r != nil && len(b.of) > 0 {
		list := b.of[r.IntN(len(b.of))]
		i = list[r.IntN(len(list))]
	}
	return b.from.At(i, r)
}
