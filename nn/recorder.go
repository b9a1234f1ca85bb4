package nn

import (
	"context"
	"errors"
	"sync"

	"gorgonia.org/tensor"
)

// Recorder runs a graph and records inputs and outputs, failures included, so that they can be sent to somebody else and
// repeated: conformance.CaseWriter.Recorder writes them as a test case. A Recorder may be used by any number of goroutines.
// A run does not fail because its recording cannot be kept: see Err.
type Recorder struct {
	Graph *Graph // the graph to run
	// Keep stores a recording. It is called after the run, by one goroutine at a time.
	Keep func(ctx context.Context, r Recording) error
	// Only reports whether to keep a recording, for example only those of failed runs; nil: all.
	Only func(r Recording) bool
	// Most is the largest number of recordings to keep; 0: no limit.
	Most int

	mu    sync.Mutex
	kept  int
	first int // the version of the graph that the first recording is of
	err   error
}

// Recording is one run of a graph.
type Recording struct {
	Graph *Graph // what ran
	In    Feed   // the inputs, by name
	Out   Feed   // the outputs, by name; nil if the run failed
	Err   error  // of the run
}

var errEdited = errors.New("the graph was edited since the first recording: use another Recorder, with a Keep of its own")

var errNoRecorded = &Error{Stage: "run", Err: errors.New("the Recorder has no Graph")}

// Run is Graph.Run, recorded.
func (r *Recorder) Run(ctx context.Context, in ...*tensor.Dense) ([]*tensor.Dense, error) {
	if r.Graph == nil {
		return nil, errNoRecorded
	}
	out, err := r.Graph.Run(ctx, in...)
	rec := Recording{Graph: r.Graph, In: Feed{}, Err: err}
	for i, v := range r.Graph.Inputs() {
		if i < len(in) && in[i] != nil {
			rec.In[v.Name()] = in[i]
		}
	}
	if err == nil {
		rec.Out = Feed{}
		for i, v := range r.Graph.Outputs() {
			rec.Out[v.Name()] = out[i]
		}
	}
	r.record(ctx, rec)
	return out, err
}

// Eval is Graph.Eval, recorded. A recording only holds outputs of the graph, not inner values, and holds all of them only
// if Eval was called without names.
func (r *Recorder) Eval(ctx context.Context, in Feed, want ...string) (Feed, error) {
	if r.Graph == nil {
		return nil, errNoRecorded
	}
	out, err := r.Graph.Eval(ctx, in, want...)
	rec := Recording{Graph: r.Graph, In: in, Err: err}
	if err == nil {
		rec.Out = Feed{}
		for _, v := range r.Graph.Outputs() {
			if x := out[v.Name()]; x != nil {
				rec.Out[v.Name()] = x
			}
		}
	}
	r.record(ctx, rec)
	return out, err
}

// Err returns the first error of Keep.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Kept returns the number of recordings kept.
func (r *Recorder) Kept() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

func (r *Recorder) record(ctx context.Context, rec Recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Keep == nil || r.Most > 0 && r.kept >= r.Most || r.Only != nil && !r.Only(rec) {
		return
	}
	err := error(nil)
	switch v := r.Graph.Version(); {
	case r.kept > 0 && v != r.first:
		err = errEdited
	default:
		r.first = v
		err = r.Keep(context.WithoutCancel(ctx), rec)
	}
	if err == nil {
		r.kept++
	} else if r.err == nil {
		r.err = err
	}
}
