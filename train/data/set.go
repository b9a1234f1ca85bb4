package data

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// Dataset is a finite data set of samples of type T.
//
// At returns sample i, 0 ≤ i < Len. It is called from several goroutines at once. Everything random about a sample must
// be drawn from r, which is derived from seed, epoch and i; r is nil for a sample without randomness.
type Dataset[T any] interface {
	Len() int
	At(i int, r *rand.Rand) (T, error)
}

// Sample is one example, or a batch of them: the model's inputs in order, and the targets of the loss. The tensors
// belong to the set and must not be written to.
type Sample struct {
	X, Y []*tensor.Dense // inputs and targets, without the batch axis
	Pad  *Padding        // for sequences of unequal length; nil: all have one shape
}

// Of returns a set of the given values.
func Of[T any](items ...T) Dataset[T] { return list[T](items) }

type list[T any] []T

func (l list[T]) Len() int { return len(l) }

func (l list[T]) At(i int, _ *rand.Rand) (T, error) {
	if err := within(i, len(l)); err != nil {
		var none T
		return none, err
	}
	return l[i], nil
}

func within(i, n int) error {
	if i < 0 || i >= n {
		return fmt.Errorf("data: sample %d of a set of %d", i, n)
	}
	return nil
}

// Map applies f to each sample when it is read. f gets the randomness of the sample and may be called from several
// goroutines at once.
func Map[A, B any](s Dataset[A], f func(A, *rand.Rand) (B, error)) Dataset[B] {
	return mapped[A, B]{s, f}
}

type mapped[A, B any] struct {
	from Dataset[A]
	f    func(A, *rand.Rand) (B, error)
}

func (m mapped[A, B]) Len() int { return m.from.Len() }

func (m mapped[A, B]) At(i int, r *rand.Rand) (B, error) {
	a, err := m.from.At(i, r)
	if err != nil {
		var none B
		return none, err
	}
	return m.f(a, r)
}

// Subset has the samples of s at the given indices, in that order. An index outside s is an error when it is read.
func Subset[T any](s Dataset[T], index []int) Dataset[T] { return subset[T]{s, index} }

type subset[T any] struct {
	from  Dataset[T]
	index []int
}

func (s subset[T]) Len() int { return len(s.index) }

func (s subset[T]) At(i int, r *rand.Rand) (T, error) {
	if err := within(i, len(s.index)); err != nil {
		var none T
		return none, err
	}
	return s.from.At(s.index[i], r)
}

// Concat concatenates sets.
func Concat[T any](sets ...Dataset[T]) Dataset[T] { return concat[T](sets) }

type concat[T any] []Dataset[T]

func (c concat[T]) Len() int {
	n := 0
	for _, s := range c {
		n += s.Len()
	}
	return n
}

func (c concat[T]) At(i int, r *rand.Rand) (T, error) {
	var none T
	if err := within(i, c.Len()); err != nil {
		return none, err
	}
	for _, s := range c {
		n := s.Len()
		if i < n {
			return s.At(i, r)
		}
		i -= n
	}
	return none, within(i, 0)
}

var (
	errNoSet    = errors.New("data: the set is nil")
	errNoTensor = errors.New("data: the tensor is nil")
)

// Split divides s randomly, as Folders.Split does: the fraction val, rounded to whole samples, is held out. The same
// seed gives the same division; both parts keep the order of s. val is clamped to [0, 1]; both parts of a nil set are
// nil.
func Split[T any](s Dataset[T], val float64, seed uint64) (fit, held Dataset[T]) {
	if s == nil {
		return nil, nil
	}
	n := s.Len()
	k := 0
	if val > 0 { // false for NaN
		k = int(math.Round(min(val, 1) * float64(n)))
	}
	picked, rest := divide(n, k, seed)
	return Subset(s, rest), Subset(s, picked)
}

// heldOut divides n samples randomly into the fraction val of them, at least one and never all, and the rest.
func heldOut(n int, val float64, seed uint64) (picked, rest []int) {
	k := 0
	if val > 0 && n > 0 { // false for NaN
		k = min(max(1, int(math.Round(min(val, 1)*float64(n)))), n-1)
	}
	return divide(n, k, seed)
}

// divide picks k of n indices randomly; both results are in ascending order.
func divide(n, k int, seed uint64) (picked, rest []int) {
	in := make([]bool, n)
	for _, i := range Order(n, seed, 0)[:k] {
		in[i] = true
	}
	for i := range n {
		if in[i] {
			picked = append(picked, i)
		} else {
			rest = append(rest, i)
		}
	}
	return picked, rest
}
