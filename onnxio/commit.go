package onnxio

import (
	"cmp"
	"fmt"
	"io"
	"os"
	slash "path"
	"path/filepath"
	"regexp"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// commit replaces the model at path, and writes tensors larger than over bytes to a file beside it; 0: none.
// Renaming the model replaces the old one by the new one atomically. Two do so one after the other. In a change of a folder, the new data have a name that
// is free in the folder, too, and the old data are removed by the change.
func (s Saver) commit(path string, m *encoded, over int64) error {
	final, free, remove := path, func(name string) bool { return !there(name) }, disk.System.Remove
	if change, name := disk.Staged(path); change != nil {
		final = change.Path(name)
		in := func(data string) string { return filepath.Join(filepath.Dir(name), filepath.Base(data)) }
		free = func(data string) bool { return !there(data) && change.Reserve(in(data)) }
		remove = func(data string) error { change.Remove(in(data)); return nil }
	}
	unlock, err := disk.Lock(cmp.Or(s.Wait, s.context()), filepath.Dir(final))
	if err != nil {
		return err
	}
	defer unlock()
	old, err := awaited(s.context(), func() ([]string, error) { // reads the models of the folder
		if err := checkReplaced(final); err != nil {
			return nil, err
		}
		return dataBeside(final), nil
	})
	if err != nil {
		return err
	}
	var large []*onnxpb.TensorProto
	if over > 0 {
		large = m.largeTensors(over)
	}
	data := ""
	if len(large) > 0 {
		data = path + ".data"
		for i := 1; !free(data); i++ {
			data = fmt.Sprintf("%s.%d.data", path, i)
		}
		if err := WriteFile(data, func(w io.Writer) error {
			return m.writeExternal(disk.WriterUntil(s.Context, w), filepath.Base(data), large)
		}); err != nil {
			return err
		}
	}
	if err := WriteFile(path, func(w io.Writer) error { return m.write(s.context(), w) }); err != nil {
		if data != "" {
			disk.System.Remove(data)
		}
		return err
	}
	if len(old) > 0 && (final != path || disk.System.SyncFolder(filepath.Dir(path)) == nil) {
		for _, name := range old { // the new model is complete even if they cannot be removed
			remove(name)
		}
	}
	return nil
}

// there reports whether a file exists, which another model may need.
func there(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// dataBeside lists the external data files that are not needed once the model at path is replaced: those that it refers to, or that an
// interrupted Save left. Files that another file in the folder refers to are not listed.
func dataBeside(path string) (old []string) {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	ours := regexp.MustCompile("^" + regexp.QuoteMeta(base) + `(\.\d+)?\.data$`)
	candidates := map[string]bool{}
	for _, e := range entries {
		if ours.MatchString(e.Name()) {
			candidates[e.Name()] = true
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	if _, err := locations(path); err != nil && there(path) {
		return nil // the existing file cannot be read as a model
	}
	for _, e := range entries {
		temporary, _ := filepath.Match(".*.tmp", e.Name())
		if !e.Type().IsRegular() || e.Name() == base || candidates[e.Name()] || temporary {
			continue
		}
		named, err := locations(dir + e.Name())
		if err != nil {
			continue // not a model
		}
		for name := range named {
			delete(candidates, name)
		}
	}
	for name := range candidates {
		old = append(old, dir+name)
	}
	return old
}

// checkReplaced returns an error if the file at path is the external data of a model in its folder or in the one around it: replacing it would destroy
// that model. A file that is called .onnx, or is a model, is not searched for.
func checkReplaced(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || filepath.Ext(path) == ".onnx" {
		return nil
	}
	if _, err := locations(path); err == nil {
		return nil
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Join(filepath.Dir(path), "..")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			model := filepath.Join(dir, e.Name())
			if to, err := os.Stat(model); err != nil || !to.Mode().IsRegular() || os.SameFile(to, info) {
				continue
			}
			named, err := locations(model)
			if err != nil {
				continue // not a model
			}
			for name := range named {
				if data, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && os.SameFile(data, info) {
					return fmt.Errorf("%s has the external data of %s, which would be lost: choose another name", path, model)
				}
			}
		}
	}
	return nil
}

// locations returns the external data files that a model refers to.
func locations(path string) (map[string]bool, error) {
	f, err := disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, _, err := skimModel(f)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	tensorsIn(m.ProtoReflect(), func(t *onnxpb.TensorProto) {
		if e, err := parseExternal(t); err == nil && t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
			named[slash.Clean(e.location)] = true
		}
	})
	return named, nil
}

// tensorsIn calls visit for all tensors in a message: initializers, those in attributes, sparse ones, and those of functions and training_info.
func tensorsIn(m protoreflect.Message, visit func(*onnxpb.TensorProto)) {
	if t, ok := m.Interface().(*onnxpb.TensorProto); ok {
		visit(t)
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				tensorsIn(v.List().Get(i).Message(), visit)
			}
		default:
			tensorsIn(v.Message(), visit)
		}
		return true
	})
}

// largeTensors returns the tensors of more than over bytes.
func (m *encoded) largeTensors(over int64) (large []*onnxpb.TensorProto) {
	initializersOf(m.Graph, func(t *onnxpb.TensorProto) {
		if t.GetDataLocation() == onnxpb.TensorProto_DEFAULT && t.GetDataType() != int32(dtype.String) && m.tensorSize(t) > over {
			large = append(large, t)
		}
	})
	return large
}

// writeExternal moves the elements of tensors to w, the file location.
func (m *encoded) writeExternal(w io.Writer, location string, large []*onnxpb.TensorProto) error {
	sink := &externalSink{w: w, location: location}
	for _, t := range large {
		if t.RawData == nil {
			v, err := decodeTensor(t, nil)
			if err != nil {
				return err
			}
			raw, err := encodeTensor("", v)
			if err != nil {
				return err
			}
			clearData(t)
			t.RawData = raw.RawData
		}
		if err := sink.put(t, m.data(t)); err != nil {
			return err
		}
		delete(m.converted, t)
	}
	return nil
}
