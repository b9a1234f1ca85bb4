package onnxio

import (
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/nn/dtype"
)

// TestManyExternalFiles: a model whose tensors are in many files is loaded with few file handles.
func TestManyExternalFiles(t *testing.T) {
	const n = 100
	files, text := counted{MapFS: fstest.MapFS{}, open: new(int), most: new(int)}, ""
	for i := range n {
		name := fmt.Sprintf("w%d", i)
		files.MapFS[name] = &fstest.MapFile{Data: []byte{0, 0, byte(i), 0x40}}
		text += fmt.Sprintf(`initializer { name: %q data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: "location" value: %q } } node { op_type: "Neg" input: %q output: "y%d" } output { name: "y%d" } `, name, name, name, i, i)
	}
	files.MapFS["m.onnx"] = &fstest.MapFile{Data: textModel(t, text)}
	g, err := Loader{FS: files}.Load("m.onnx")
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for p := range g.Params() {
		var i int
		if _, err := fmt.Sscanf(p.Name(), "w%d", &i); err != nil || dtype.Bytes(p.Data())[2] != byte(i) {
			t.Errorf("%s is %v", p.Name(), p.Data())
		}
		loaded++
	}
	if loaded != n || *files.open != 0 || *files.most > 16 {
		t.Errorf("%d tensors; %d files are open, %d were at a time", loaded, *files.open, *files.most)
	}
}

// counted counts the files that are open.
type counted struct {
	fstest.MapFS
	open, most *int
}

type countedFile struct {
	fs.File
	open *int
}

func (c counted) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	*c.open++
	*c.most = max(*c.most, *c.open)
	return countedFile{f, c.open}, err
}

func (c countedFile) Close() error {
	*c.open--
	return c.File.Close()
}
