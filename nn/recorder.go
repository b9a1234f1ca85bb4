package nn

import (
	"context"
	"errors"
	"sync"

	"gorgonia.org/tensor"
)

// Recorder runs a graph and records what it is given and answers, failures included, so that what a program met can be
// sent on and run again: conformance.Exporter.Recorder makes a test case of it, a folder. Any number of goroutines may use
// one. A recording that cannot be kept does not fail the run, see Err.
type Recorder struct {
	Graph *Graph // what runs
	// Keep takes a recording. It is called by one goroutine at a time, after the run.
	Keep func(ctx context.Context, r Recording) error
	// Only says which recordings are kept, say those that failed; nil: all.
	Only func(r Recording) bool
	// Most bounds how many recordings are kept; 0: no bound.
	Most int

	mu    sync.Mutex
	kept  int
	first int // the version of the graph that the first recording is of
	err   error
}

// Recording is one run of a graph.
type Recording struct {
	Graph *Graph // what ran
	In    Feed   // what it was given, by name
	Out   Feed   // what it answered; nil where it failed
	Err   error  // of the run
}

var errEdited = errors.New("the graph was edited since the first recording: record with another Recorder, elsewhere")

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

// Eval is Graph.Eval, recorded. Of values that are wanted besides, the recording has those that are outputs, and it
// has outputs that the run was not asked for only where it was asked for none.
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

// Err is the first error of keeping recordings.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Kept counts the recordings that were kept.
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
