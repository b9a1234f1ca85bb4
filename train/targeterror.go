package train

import (
	"errors"
	"fmt"

	"github.com/graft-ml/graft/train/data"
)

// targetError is an error about an element of the targets of a batch.
type targetError struct {
	element int // in the batch
	row     int // sample in the batch
	within  int // element in the sample; −1: it is the only one
	sample  int // index in the data set; −1: not known
	what    string
}

// errTarget returns an error about an element of targets, of which there are count for a number of samples.
func errTarget(element, count, samples int, format string, args ...any) error {
	e := &targetError{element: element, row: element, within: -1, sample: -1, what: fmt.Sprintf(format, args...)}
	if each := count / max(1, samples); each > 1 {
		e.row, e.within = element/each, element%each
	}
	return e
}

// Error implements error.
func (e *targetError) Error() string {
	switch {
	case e.sample < 0:
		return fmt.Sprintf("target %d of the batch is %s", e.element, e.what)
	case e.within < 0:
		return fmt.Sprintf("the target of sample %d is %s", e.sample, e.what)
	}
	return fmt.Sprintf("element %d of the target of sample %d is %s", e.within, e.sample, e.what)
}

// about is an error of something, whose text may change until it is returned.
type about struct {
	what string
	err  error
}

func (e about) Error() string { return e.what + ": " + e.err.Error() }

func (e about) Unwrap() error { return e.err }

// place is where a batch was read: samples of a batch of an epoch.
type place struct {
	loader       data.BatchLoader
	n            int // samples in the set
	epoch, batch int
	first        int // sample of the batch that is the first
}

// readFrom records where the batches that follow are read, until the returned function is called.
func (t *Trainer) readFrom(p *place) (done func()) {
	before := t.place
	t.place = p
	return func() { t.place = before }
}

// name names the sample in an error about a target.
func (p *place) name(err error) {
	e, ok := errors.AsType[*targetError](err)
	if p == nil || !ok {
		return
	}
	if list, err := p.loader.Indices(p.n, p.epoch, p.batch); err == nil && p.first+e.row < len(list) {
		e.sample = list[p.first+e.row]
	}
}
