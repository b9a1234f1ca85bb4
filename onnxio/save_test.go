package onnxio

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// resave loads a model and returns what saving it gives.
func resave(fsys fs.FS, name string) ([]byte, error) {
	g, err := Loader{FS: fsys}.Load(name)
	if err != nil {
		return nil, err
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = Write(&b, g)
	return b.Bytes(), err
}

// TestSaveShared loads and saves every model of the shared folder: nothing in it may change.
func TestSaveShared(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"models": os.DirFS(filepath.Join(sharedDir(t), "models")),
		"nodes":  nodeTests(t),
		"pfn":    os.DirFS(filepath.Join(sharedDir(t), "testcases-pfn")),
	} {
		count, identical := 0, 0
		for model := range models(t, fsys) {
			before, err := fs.ReadFile(fsys, model)
			if err != nil {
				t.Fatal(err)
			}
			after, err := resave(fsys, model)
			if err == nil {
				err = sameModel(before, after)
			}
			if err != nil {
				t.Errorf("%s: %v", model, err)
				continue
			}
			count++
			if bytes.Equal(before, after) {
				identical++
			}
		}
		t.Logf("%s: %d models, %d to the same bytes", name, count, identical)
	}
}

func sameModel(before, after []byte) error {
	a, b := &onnxpb.ModelProto{}, &onnxpb.ModelProto{}
	if err := proto.Unmarshal(before, a); err != nil {
		return err
	}
	if err := proto.Unmarshal(after, b); err != nil {
		return err
	}
	if proto.Equal(a, b) {
		return nil
	}
	return fmt.Errorf("changed (- before, + after):\n%.3000s", cmp.Diff(a, b, protocmp.Transform()))
}
