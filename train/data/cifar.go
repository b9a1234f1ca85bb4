package data

import (
	"fmt"
	"io"

	"github.com/graft-ml/graft/internal/budget"
)

// CIFAR reads the binary version of CIFAR-10 or CIFAR-100, plain or gzip, one file after the other (data_batch_1.bin
// …). An image is float32 [3, 32, 32] scaled to 0 … 1, a label int64 of rank 0; for CIFAR-100 it is the fine label.
func CIFAR(paths ...string) (Dataset[Sample], error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("data: no CIFAR files")
	}
	sets := make([]Dataset[Sample], len(paths))
	for i, p := range paths {
		s, err := cifar(p)
		if err != nil {
			return nil, err
		}
		sets[i] = s
	}
	return Concat(sets...), nil
}

func cifar(path string) (Dataset[Sample], error) {
	const pixels = 3 * 32 * 32
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 1 << 30 // bytes, five times the size of either set
	all, err := budget.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	if len(all) > most {
		return nil, fmt.Errorf("data: %s: more than %d bytes, too many for CIFAR", path, most)
	}
	// Records have one label byte (CIFAR-10) or two (CIFAR-100), which only shows in their length.
	labels := 0
	for _, n := range []int{1, 2} {
		if len(all) > 0 && len(all)%(n+pixels) == 0 {
			labels = n
			break
		}
	}
	if labels == 0 {
		return nil, fmt.Errorf("data: %s: %d bytes are no whole number of CIFAR records (3073 or 3074 bytes)", path, len(all))
	}
	n := len(all) / (labels + pixels)
	held, err := budget.Bytes(n * pixels)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	s := images8{shape: []int{3, 32, 32}, class: make([]int64, n), pixels: held[:0]}
	for i := range n {
		rec := all[i*(labels+pixels):][:labels+pixels]
		s.class[i] = int64(rec[labels-1])
		s.pixels = append(s.pixels, rec[labels:]...)
	}
	return s, nil
}
