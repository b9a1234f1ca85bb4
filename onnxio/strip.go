package onnxio

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
)

// Stripper removes the data of large tensors from models, value files and test cases, so that a file can be attached to a
// bug report. Names, shapes and types are kept, and the average and variance of the data, from which Unstripper fills the
// tensor again. Tensors that are already stripped or external, and tensors of strings, are not changed.
type Stripper struct {
	Over      int  // number of elements above which a tensor is stripped; 0: 100; negative: all are
	Constants bool // also strip tensors of Constant nodes and in other attributes
}

// Unstripper fills stripped tensors with random numbers of the average and variance of the data removed: from a normal
// distribution, integers from a uniform one, so that indices stay within the range that they had if they were all of a
// range. The same seed gives the same numbers.
type Unstripper struct{ Seed uint64 }

// Strip strips the model (.onnx), the value (.pb) or the test cases (a folder) at path and writes the result to out; ""
// means path itself. It returns the number of tensors stripped. Either everything is written or nothing.
func (s Stripper) Strip(path, out string) (tensors int, err error) {
	over := s.Over
	switch {
	case over == 0:
		over = 100
	case over < 0:
		over = -1
	}
	return rewriting{
		constants: s.Constants,
		each:      func(t *onnxpb.TensorProto) (bool, error) { return stripTensor(t, over) },
		section:   func(t *onnxpb.TensorProto, x section) (bool, error) { return stripSection(t, x, over) },
		flag:      true,
	}.rewrite(path, out)
}

// Unstrip fills the stripped tensors of the model (.onnx), the value (.pb) or the test cases (a folder) at path and
// writes the result to out; "" means path itself. It returns the number of tensors filled.
func (u Unstripper) Unstrip(path, out string) (tensors int, err error) {
	r := rand.New(rand.NewPCG(u.Seed, 0x756e7374726970))
	return rewriting{
		constants: true,
		each:      func(t *onnxpb.TensorProto) (bool, error) { return unstripTensor(t, r) },
	}.rewrite(path, out)
}

// rewriting rewrites the tensors of files.
type rewriting struct {
	constants bool // include attributes of nodes
	each      func(*onnxpb.TensorProto) (changed bool, err error)
	section   func(*onnxpb.TensorProto, section) (changed bool, err error) // for data that are still in the file; nil: they are read
	flag      bool                                                         // the flag to set in meta.json
}

// rewrite applies each to the tensors of path and writes the result to out.
func (w rewriting) rewrite(path, out string) (int, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if out == "" {
		out = path
	}
	if info.IsDir() {
		return w.folder(path, out)
	}
	unlock, err := disk.Lock(context.Background(), filepath.Dir(out)) // nobody removes data that the result refers to
	if err != nil {
		return 0, err
	}
	defer unlock()
	b, n, err := w.file(path)
	if err == nil && filepath.Dir(path) != filepath.Dir(out) {
		err = b.selfContained()
	}
	if err == nil && out != path {
		err = checkReplaced(out)
	}
	if err != nil && !strings.HasPrefix(err.Error(), path+": ") {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		return 0, err
	}
	return n, WriteFile(out, b.write)
}

// folder rewrites the models, values and meta.json of test cases, and copies other files. All files are
// replaced together, so that a failure changes nothing.
func (w rewriting) folder(from, to string) (count int, err error) {
	if err := disk.Settle(from); err != nil {
		return 0, err
	}
	change, err := disk.Begin(context.Background(), to)
	if err != nil {
		return 0, err
	}
	defer change.Discard()
	files := 0
	err = filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".graft") && path != from {
			return filepath.SkipDir // a change in progress, possibly this one
		}
		if e.IsDir() || e.Name() == ".graft-lock" {
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if name := e.Name(); name == "model.onnx" || valueName.MatchString(name) {
			files++
		}
		n, err := w.staged(path, rel, change, from != to)
		if err != nil {
			return named(path, err)
		}
		count += n
		return nil
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s: no model.onnx and no value (input_0.pb, output_0.pb) in this folder", from)
	}
	if err != nil {
		return 0, err
	}
	return count, change.Commit()
}

// named prefixes an error with the name of a file, unless it has it.
func named(path string, err error) error {
	if strings.HasPrefix(err.Error(), path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// staged adds the rewritten file of a test case to a change of the folder, if the file changes or is to be copied.
func (w rewriting) staged(path, rel string, change *disk.Folder, always bool) (count int, err error) {
	var b message
	switch name := filepath.Base(path); {
	case name == "model.onnx" || valueName.MatchString(name):
		b, count, err = w.file(path)
	case name == "meta.json":
		var text []byte
		if text, err = disk.ReadFile(path); err == nil {
			var now []byte
			now, err = setStripFlag(text, w.flag)
			b, always = message{bytes: now}, always || string(now) != string(text)
		}
	case always:
		var text []byte
		text, err = disk.ReadFile(path)
		b = message{bytes: text}
	}
	if err != nil || !always && count == 0 {
		return 0, err
	}
	return count, change.Write(rel, b.write)
}

// file rewrites a model or a value.
func (w rewriting) file(path string) (b message, count int, err error) {
	f, err := disk.Open(path)
	if err != nil {
		return message{}, 0, err
	}
	defer f.Close()
	if strings.EqualFold(filepath.Ext(path), ".pb") {
		if t, x, err := skimTensor(f); err == nil && w.section != nil {
			if changed, err := w.section(t, x); err == nil && changed {
				return message{proto: t}, 1, nil
			}
		}
		return w.value(path)
	}
	m, raw, err := skimModel(f)
	if err != nil {
		if m, err = (Loader{}).readModel(path); err != nil {
			return message{}, 0, err
		}
	}
	count, err = w.model(m, raw)
	return message{proto: m}, count, err
}

// value rewrites a file with one value. Values that are not tensors are not changed, since the kinds of their parts are not known.
func (w rewriting) value(path string) (message, int, error) {
	text, err := disk.ReadFile(path)
	if err != nil {
		return message{}, 0, err
	}
	t := &onnxpb.TensorProto{}
	if err := unmarshal(text, t); err != nil {
		return message{}, 0, fmt.Errorf("not a value: %w", err)
	}
	if _, _, err := tensorType(t); err != nil {
		return message{bytes: text}, 0, nil
	}
	if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
		if _, err := decodeTensor(t, nil); err != nil {
			return message{bytes: text}, 0, nil // a sequence that decodes as a tensor
		}
	}
	changed, err := w.each(t)
	if err != nil || !changed {
		return message{bytes: text}, 0, err
	}
	return message{proto: t}, 1, nil
}

// model rewrites the tensors of a model. Sections that are not changed are read from the file.
func (w rewriting) model(m *onnxpb.ModelProto, raw sections) (count int, err error) {
	add := func(t *onnxpb.TensorProto) error {
		changed := false
		x, ok := raw[t]
		if ok && w.section != nil {
			changed, err = w.section(t, x)
		}
		if ok && err == nil && !changed {
			err = x.restore(t)
		}
		if !ok && err == nil {
			changed, err = w.each(t)
		}
		if changed {
			count++
		}
		return err
	}
	graphs := []*onnxpb.GraphProto{m.GetGraph()}
	for _, t := range m.GetTrainingInfo() {
		graphs = append(graphs, t.GetInitialization(), t.GetAlgorithm())
	}
	for _, g := range graphs {
		if err := w.graph(g, add); err != nil {
			return count, err
		}
	}
	for _, f := range m.GetFunctions() {
		if err := w.nodes(f.GetNode(), add); err != nil {
			return count, err
		}
	}
	return count, nil
}

func (w rewriting) graph(g *onnxpb.GraphProto, add func(*onnxpb.TensorProto) error) error {
	for _, t := range g.GetInitializer() {
		if err := add(t); err != nil {
			return err
		}
	}
	return w.nodes(g.GetNode(), add)
}

// nodes visits the subgraphs of nodes and, with constants, the tensors in their attributes.
func (w rewriting) nodes(nodes []*onnxpb.NodeProto, add func(*onnxpb.TensorProto) error) error {
	for _, n := range nodes {
		for _, a := range n.GetAttribute() {
			for _, g := range append(a.GetGraphs(), a.GetG()) {
				if err := w.graph(g, add); err != nil {
					return err
				}
			}
			if !w.constants {
				continue
			}
			for _, t := range append(a.GetTensors(), a.GetT()) {
				if t == nil {
					continue
				}
				if err := add(t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// stripSection is stripTensor for data that are still in the file, which it reads block by block.
func stripSection(t *onnxpb.TensorProto, x section, over int) (bool, error) {
	dt, shape, err := tensorType(t)
	if err != nil {
		return false, err
	}
	n, err := dtype.Count(shape)
	if err != nil || n <= over || !inBlocks(dt) {
		return false, err
	}
	if err := checkBytes(dt, n, x.length); err != nil {
		return false, tensorError(t, "%w", err)
	}
	s, err := sectionMoments(dt, n, x)
	if err != nil {
		return false, tensorError(t, "%w", err)
	}
	setStripped(t, s, x.length)
	return true, nil
}

// sectionMoments reads the data twice: for the average, and for the variance around it.
func sectionMoments(dt dtype.DType, n int, x section) (s Stripped, err error) {
	size := dt.Bits() / 8
	block := make([]byte, 1<<18/size*size)
	pass := func(each func(v float64)) error {
		for at := int64(0); at < x.length; {
			b := block[:min(int64(len(block)), x.length-at)]
			if _, err := x.file.ReadAt(b, x.offset+at); err != nil {
				return err
			}
			d, err := decodeTensor(&onnxpb.TensorProto{DataType: proto.Int32(int32(dt)), Dims: []int64{int64(len(b) / size)}, RawData: b}, nil)
			if err != nil {
				return err
			}
			v, err := float64s(d)
			if err != nil {
				return err
			}
			for _, v := range v {
				each(v)
			}
			at += int64(len(b))
		}
		return nil
	}
	if err := pass(func(v float64) { s.Average += v }); err != nil {
		return s, err
	}
	s.Average /= float64(n)
	err = pass(func(v float64) {
		away := v - s.Average
		s.Variance += away * away
	})
	s.Variance /= float64(n)
	return s, err
}

// setStripFlag sets the entry of a test case's meta.json that records whether its tensors are stripped. The rest of the
// file is unchanged.
func setStripFlag(text []byte, stripped bool) ([]byte, error) {
	const key = `"strip_large_tensor_data"`
	at := strings.Index(string(text), key)
	if at < 0 {
		return text, nil
	}
	rest := string(text[at+len(key):])
	value := strings.TrimLeft(rest, " \t\n\r:")
	lead := rest[:len(rest)-len(value)]
	for _, old := range []string{"true", "false"} {
		if strings.HasPrefix(value, old) {
			return fmt.Appendf(nil, "%s%s%s%v%s", text[:at], key, lead, stripped, value[len(old):]), nil
		}
	}
	return nil, errors.New("strip_large_tensor_data is neither true nor false")
}
