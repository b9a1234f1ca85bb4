package data

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// Batches collates a stream of samples, from a file that does not fit into memory or from a network, to batches of size
// samples, the last one possibly smaller: the input of Trainer.Step in a training loop of your own. It ends with the
// first error. An error of collating names samples by their position in the stream.
func Batches(samples iter.Seq2[Sample, error], size int) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		if size < 1 {
			yield(Sample{}, fmt.Errorf("data: batches of %d samples: want 1 or more", size))
			return
		}
		var list []Sample
		var at []int
		n := 0
		flush := func() bool {
			b, err := collate(list, at)
			list, at = nil, nil
			return yield(b, err) && err == nil
		}
		for s, err := range samples {
			if err != nil {
				yield(Sample{}, sampleError{n, err})
				return
			}
			list, at = append(list, s), append(at, n)
			if n++; len(list) == size && !flush() {
				return
			}
		}
		if len(list) > 0 {
			flush()
		}
	}
}

// Shuffled shuffles a stream within a buffer: each sample is drawn randomly from the next buffer samples, so that
// memory is bounded. The order depends only on seed and epoch; a buffer as long as the stream shuffles all of it.
func Shuffled(samples iter.Seq2[Sample, error], buffer int, seed uint64, epoch int) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		r := rand.New(rand.NewPCG(mix(seed, uint64(epoch)), order))
		var held []Sample
		draw := func() bool {
			i, last := r.IntN(len(held)), len(held)-1
			s := held[i]
			held[i] = held[last]
			held = held[:last]
			return yield(s, nil)
		}
		for s, err := range samples {
			if err != nil {
				yield(Sample{}, err)
				return
			}
			held = append(held, s)
			if len(held) > max(buffer, 1) && !draw() {
				return
			}
		}
		for len(held) > 0 {
			if !draw() {
				return
			}
		}
	}
}
