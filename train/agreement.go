package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"runtime/debug"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// fact is a property that must be equal on all ranks.
type fact struct {
	name string
	sum  [sha256.Size]byte
}

func factOf(name string, write func(w io.Writer)) fact {
	h := sha256.New()
	write(h)
	return fact{name, [sha256.Size]byte(h.Sum(nil))}
}

// match is agree, and returns an error on all ranks if a rank's facts differ from those of rank 0. Ranks of the same version,
// which is the first fact, have the same number of facts.
func (r *ranks) match(err error, facts []fact) error {
	if r == nil || err != nil {
		return r.agree(err)
	}
	if err := r.agree(nil); err != nil {
		return err
	}
	var b []byte
	for _, f := range facts {
		b = append(b, f.sum[:]...)
	}
	all, err := r.gather(b)
	if err != nil {
		return err
	}
	for k, other := range all {
		for i, f := range facts {
			if !bytes.Equal(block(other, i), block(all[0], i)) {
				return &RankError{Rank: k, Err: fmt.Errorf("train: %s differs from that of rank 0: all ranks must have the same", f.name), kind: failed}
			}
		}
	}
	return nil
}

// block returns fact i of those that a rank sent; a rank of another version may have sent fewer.
func block(sent []byte, i int) []byte {
	return sent[min(i*sha256.Size, len(sent)):min((i+1)*sha256.Size, len(sent))]
}

// facts returns the settings that must be equal on all ranks before they train.
func (t *Trainer) facts() []fact {
	list := []fact{
		factOf("the version of graft", func(w io.Writer) { io.WriteString(w, version(debug.ReadBuildInfo())) }),
		factOf("the model", func(w io.Writer) { writeModel(w, t.g) }),
	}
	for name, v := range settings(t.c) {
		switch {
		case v.Type() == reflect.TypeFor[func(Event)](), name == "Communicator", name == "Workers", name == "Context": // may differ between ranks
		case name == "Dir":
			list = append(list, factOf("whether there is a Config.Dir", func(w io.Writer) { fmt.Fprint(w, t.c.Dir != "") }))
		default:
			list = append(list, factOf("Config."+name, func(w io.Writer) { describe(w, v, 0) }))
		}
	}
	return list
}

// settings yields the fields of a configuration.
func settings(c Config) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if !yield(v.Type().Field(i).Name, v.Field(i)) {
				return
			}
		}
	}
}

// version returns graft's version as recorded in the binary.
func version(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	const module = "github.com/graft-ml/graft"
	s := info.GoVersion
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module {
			s += " " + m.Version + " " + m.Sum
		}
	}
	for _, x := range info.Settings {
		if x.Key == "vcs.revision" || x.Key == "vcs.modified" {
			s += " " + x.Value
		}
	}
	return s
}

// writeModel writes the structure of a graph and its parameters.
func writeModel(w io.Writer, g *nn.Graph) {
	for n := range g.Nodes() {
		fmt.Fprint(w, n.Type(), n.Label())
		for _, v := range n.Inputs() {
			if v != nil {
				fmt.Fprint(w, " ", v.Name())
			}
		}
		fmt.Fprintln(w)
	}
	for _, v := range append(g.Inputs(), g.Outputs()...) {
		fmt.Fprintln(w, v.Name(), v.Type())
	}
	for p := range g.Params() {
		fmt.Fprintln(w, p.Name(), p.Role(), p.Frozen(), p.Value().Type())
		if direct.Data(p) != nil {
			w.Write(dtype.Bytes(direct.Data(p)))
		}
	}
}

// describe writes settings: for functions and channels whether they are set, for pointers the value that they point to.
func describe(w io.Writer, v reflect.Value, depth int) {
	if depth > 20 || !v.IsValid() {
		return
	}
	if p, ok := ofKind[*nn.Param](v); ok && p != nil {
		fmt.Fprint(w, p.Name(), ";")
		return
	}
	if d, ok := ofKind[*tensor.Dense](v); ok && d != nil {
		fmt.Fprint(w, d.Shape(), ";")
		w.Write(dtype.Bytes(d))
		return
	}
	switch v.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Map:
		fmt.Fprint(w, v.Type(), v.IsNil(), ";")
	case reflect.Pointer, reflect.Interface:
		fmt.Fprint(w, v.IsNil(), ";")
		if !v.IsNil() {
			fmt.Fprint(w, v.Elem().Type(), ":")
			if v.Kind() == reflect.Interface || ours(v.Elem().Type()) {
				describe(w, v.Elem(), depth+1)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			describe(w, v.Field(i), depth+1)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprint(w, v.Len(), ":")
		for i := range v.Len() {
			describe(w, v.Index(i), depth+1)
		}
	case reflect.Float32, reflect.Float64:
		fmt.Fprint(w, math.Float64bits(v.Float()), ";")
	default:
		fmt.Fprint(w, v, ";")
	}
}

// ours reports whether pointers to a type are settings rather than a graph or other data of a loss.
func ours(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Config]().PkgPath() || t.PkgPath() == reflect.TypeFor[optim.SGD]().PkgPath()
}

// ofKind returns v as a T; ok is false if v has another type or cannot be read.
func ofKind[T any](v reflect.Value) (x T, ok bool) {
	if !v.CanInterface() {
		return x, false
	}
	x, ok = v.Interface().(T)
	return x, ok
}

// dataFacts returns the facts of a set: its length, and its first and last sample.
func dataFacts(name string, s data.Dataset[data.Sample], seed uint64) ([]fact, error) {
	if s == nil {
		return []fact{factOf("the length of "+name, func(io.Writer) {}), factOf("a sample of "+name, func(io.Writer) {})}, nil
	}
	var samples []data.Sample
	for _, i := range []int{0, s.Len() - 1} {
		if i >= 0 && i < s.Len() {
			x, err := s.At(i, data.Rand(seed, 0, i))
			if err != nil {
				return nil, fmt.Errorf("train: sample %d of %s: %w", i, name, err)
			}
			samples = append(samples, x)
		}
	}
	return []fact{
		factOf("the length of "+name, func(w io.Writer) { fmt.Fprint(w, s.Len()) }),
		factOf("a sample of "+name, func(w io.Writer) {
			for _, x := range samples {
				describe(w, reflect.ValueOf([][]*tensor.Dense{x.X, x.Y}), 0)
			}
		}),
	}, nil
}

// sameData returns an error on all ranks if their data differ, or if one of them cannot train; err is the reason on this rank.
func (t *Trainer) sameData(fit, val data.Dataset[data.Sample], err error) error {
	if t.ranks == nil {
		return err
	}
	var facts []fact
	if err == nil {
		facts, err = dataFacts("the data", fit, t.c.Seed)
	}
	if err == nil {
		var more []fact
		more, err = dataFacts("the validation data", val, t.c.Seed)
		facts = append(facts, more...)
	}
	// A run is resumed on all ranks or on none.
	at, e := json.Marshal(t.progress)
	if err == nil {
		err = e
	}
	return t.ranks.match(err, append(facts, factOf("the position in training", func(w io.Writer) { w.Write(at) })))
}

// sameWeights returns an error on all ranks if their parameters, statistics or averages differ.
func (t *Trainer) sameWeights() error {
	if t.ranks == nil {
		return nil
	}
	write := func(m map[*nn.Param]*state, f func(h io.Writer, p *nn.Param, s *state)) func(io.Writer) {
		return func(w io.Writer) {
			for p := range t.g.Params() {
				if s := m[p]; s != nil {
					f(w, p, s)
				}
			}
		}
	}
	data := func(w io.Writer, p *nn.Param, s *state) {
		w.Write(dtype.Bytes(direct.Data(p)))
		if s.ema != nil {
			w.Write(dtype.Bytes(s.ema))
		}
	}
	facts := []fact{
		factOf("the content of the parameters", write(t.params, data)),
		factOf("the content of the running statistics", write(t.stats, data)),
	}
	return t.ranks.match(nil, facts)
}

// oneStatistics sends the running statistics of rank 0 to all ranks, like DistributedDataParallel: each rank has seen only its own
// shards of the batches.
func (t *Trainer) oneStatistics() error {
	if t.ranks == nil {
		return nil
	}
	var blocks [][]byte
	for p := range t.g.Params() {
		s := t.stats[p]
		if s == nil || direct.Data(p) == nil {
			continue
		}
		blocks = append(blocks, dtype.Bytes(direct.Data(p)))
		if s.ema != nil {
			blocks = append(blocks, dtype.Bytes(s.ema))
		}
	}
	err := t.ranks.spread(blocks...)
	for p := range t.stats {
		p.Changed()
	}
	return err
}
