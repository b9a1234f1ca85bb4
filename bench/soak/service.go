package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// service is a model that is run and edited at once.
type service struct {
	model
	g       *nn.Graph
	inputs  []*tensor.Dense
	mu      sync.Mutex      // held by who edits
	answers [][][]byte      // by state of the graph, 0 without an edit, and input
	files   [][]byte        // by state
	texts   map[string]bool // what nodes and values are called in any state
}

// newService makes a model and its answers, one after the other.
func newService(m model) (*service, error) {
	s := &service{model: m, g: nn.New(m.name), texts: map[string]bool{}}
	if err := s.g.Edit(m.build); err != nil {
		return nil, err
	}
	for i := range shapes {
		s.inputs = append(s.inputs, m.input(i))
	}
	state := func(g *nn.Graph) error {
		var answers [][]byte
		for _, x := range s.inputs {
			b, err := answer(context.Background(), g, x)
			if err != nil {
				return err
			}
			answers = append(answers, b)
		}
		var file bytes.Buffer
		if err := onnxio.Write(&file, g); err != nil {
			return err
		}
		s.answers, s.files = append(s.answers, answers), append(s.files, file.Bytes())
		for text := range texts(g) {
			s.texts[text] = true
		}
		return nil
	}
	if err := state(s.g); err != nil {
		return nil, err
	}
	for i := range m.edits {
		p, err := s.g.Plan(m.edits[i])
		if err == nil {
			err = p.Apply()
		}
		if err == nil {
			err = state(s.g)
		}
		if err == nil {
			err = p.Undo()
		}
		if err != nil {
			return nil, fmt.Errorf("edit %d: %w", i, err)
		}
	}
	return s, nil
}

// texts iterates over the descriptions of the graph's nodes and of what they read and compute.
func texts(g *nn.Graph) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n := range g.Nodes() {
			if !yield(n.String()) {
				return
			}
			for _, v := range slices.Concat(n.Inputs(), n.Outputs()) {
				if v != nil && !yield(v.String()) {
					return
				}
			}
		}
	}
}

// answer returns the bytes of the first output.
func answer(ctx context.Context, g *nn.Graph, x *tensor.Dense) ([]byte, error) {
	out, err := g.Run(ctx, x)
	if err != nil {
		return nil, err
	}
	return dtype.Bytes(out[0]), nil
}

// tally counts operations, and keeps the first error.
type tally struct {
	mu   sync.Mutex
	done map[string]int
	err  error
}

func (t *tally) add(what string, err error) (goOn bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done[what]++; err != nil && t.err == nil {
		t.err = fmt.Errorf("%s: %w", what, err)
	}
	return t.err == nil
}

func (t *tally) total() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.done {
		n += k
	}
	return n
}

func (t *tally) print(took time.Duration) {
	fmt.Printf("%d in %v:\n", t.total(), took.Round(time.Second))
	for _, what := range slices.Sorted(maps.Keys(t.done)) {
		fmt.Printf("  %-40s %d\n", what, t.done[what])
	}
}

// chores are the operations of a goroutine, with their frequencies in percent.
var chores = []struct {
	name string
	of   int
	do   func(s *service, r *rand.Rand) error
}{
	{"runs", 55, (*service).run},
	{"nodes and values, described", 5, (*service).describe},
	{"runs that are cancelled", 8, (*service).cancel},
	{"edits, taken back", 10, (*service).edit},
	{"plans, dropped", 5, (*service).plan},
	{"saved and loaded", 7, (*service).save},
	{"clones, edited and run", 7, (*service).clone},
	{"clones, trained", 3, (*service).train},
}

// work does chores until the deadline or the first error.
func work(services []*service, t *tally, seed, worker uint64, deadline time.Time) {
	r := rand.New(rand.NewPCG(seed, worker))
	for time.Now().Before(deadline) {
		k := r.IntN(100)
		for _, c := range chores {
			if k -= c.of; k < 0 {
				s := services[r.IntN(len(services))]
				if !t.add(c.name, c.do(s, r)) {
					return
				}
				break
			}
		}
	}
}

var errAnswer = errors.New("another answer than that of a single goroutine")

// is reports whether b is the answer to input i in one of the states.
func (s *service) is(b []byte, i int, states ...int) error {
	for _, k := range states {
		if bytes.Equal(b, s.answers[k][i]) {
			return nil
		}
	}
	return fmt.Errorf("%s, input %d: %w", s.name, i, errAnswer)
}

// all returns the states in which a graph may be while others edit it.
func (s *service) all() (list []int) {
	for i := range s.answers {
		list = append(list, i)
	}
	return list
}

func (s *service) run(r *rand.Rand) error {
	i := r.IntN(shapes)
	b, err := answer(context.Background(), s.g, s.inputs[i])
	if err != nil {
		return err
	}
	return s.is(b, i, s.all()...)
}

func (s *service) describe(*rand.Rand) error {
	for text := range texts(s.g) {
		if !s.texts[text] {
			return fmt.Errorf("%s: %q is of no state", s.name, text)
		}
	}
	return nil
}

func (s *service) cancel(r *rand.Rand) error {
	i := r.IntN(shapes)
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(r.IntN(2000))*time.Microsecond)
	defer stop()
	b, err := answer(ctx, s.g, s.inputs[i])
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.is(b, i, s.all()...)
}

func (s *service) edit(r *rand.Rand) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, i := r.IntN(len(s.edits)), r.IntN(shapes)
	p, err := s.g.Plan(s.edits[k])
	if err != nil {
		return err
	}
	if err := p.Apply(); err != nil {
		return err
	}
	b, err := answer(context.Background(), s.g, s.inputs[i])
	if err == nil {
		err = s.is(b, i, 1+k)
	}
	if err := errors.Join(err, p.Undo()); err != nil {
		return err
	}
	if b, err = answer(context.Background(), s.g, s.inputs[i]); err != nil {
		return err
	}
	return s.is(b, i, 0)
}

func (s *service) plan(r *rand.Rand) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.g.Plan(s.edits[r.IntN(len(s.edits))])
	return err
}

func (s *service) save(r *rand.Rand) error {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.onnx")
	if err := onnxio.Save(path, s.g); err != nil {
		return err
	}
	g, err := onnxio.Load(path)
	if err != nil {
		return err
	}
	i := r.IntN(shapes)
	b, err := answer(context.Background(), g, s.inputs[i])
	if err != nil {
		return err
	}
	return s.is(b, i, s.all()...)
}

func (s *service) clone(r *rand.Rand) error {
	s.mu.Lock()
	g, err := s.g.Clone()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	k, i := r.IntN(len(s.edits)), r.IntN(shapes)
	if err := g.Edit(s.edits[k]); err != nil {
		return err
	}
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		return err
	}
	if !bytes.Equal(file.Bytes(), s.files[1+k]) {
		return fmt.Errorf("%s: an edited clone is another file", s.name)
	}
	b, err := answer(context.Background(), g, s.inputs[i])
	if err != nil {
		return err
	}
	return s.is(b, i, 1+k)
}

// train changes the weights of a clone; those of the model stay, which the other chores see.
func (s *service) train(r *rand.Rand) error {
	s.mu.Lock()
	g, err := s.g.Clone()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	i := r.IntN(shapes)
	out, err := g.Run(context.Background(), s.inputs[i])
	if err != nil {
		return err
	}
	t, err := train.New(g, train.Config{Loss: train.MSE{}, Rule: optim.SGD{LR: 1e-3}})
	if err != nil {
		return err
	}
	target := dtype.New(dtype.Float32, out[0].Shape()...)
	for range 2 {
		if _, err := t.Step(context.Background(), data.Sample{X: []*tensor.Dense{s.inputs[i]}, Y: []*tensor.Dense{target}}); err != nil {
			return err
		}
	}
	b, err := answer(context.Background(), g, s.inputs[i])
	if err == nil && bytes.Equal(b, s.answers[0][i]) {
		return fmt.Errorf("%s: training changed nothing", s.name)
	}
	return err
}
