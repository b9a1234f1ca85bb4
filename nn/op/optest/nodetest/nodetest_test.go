package nodetest_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"testing/fstest"
)

// numpy is why some folders cannot pass: what they expect was drawn by another generator.
const numpy = "expects the random numbers of NumPy"

// skipped folders cannot pass; one that does fails the test.
var skipped = map[string]string{
	"test_training_dropout":              numpy,
	"test_training_dropout_default":      numpy,
	"test_training_dropout_mask":         numpy,
	"test_training_dropout_default_mask": numpy,
	"test_bernoulli":                     numpy,
	"test_bernoulli_expanded":            numpy,
	"test_bernoulli_double":              numpy,
	"test_bernoulli_double_expanded":     numpy,
	"test_bernoulli_seed":                numpy,
	"test_bernoulli_seed_expanded":       numpy,
}

// TestNode runs the node folders of $GRAFT_SHARED/onnx-backend whose operators are there:
//
//	go test ./nn/op/optest/nodetest -run 'TestNode/test_relu'
func TestNode(t *testing.T) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	fsys, err := untar(filepath.Join(shared, "onnx-backend", "node-dev.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[string]bool{}
	for name := range fsys {
		if filepath.Base(name) == "model.onnx" {
			dirs[filepath.Dir(name)] = true
		}
	}
	var names []string
	for d := range dirs {
		names = append(names, d)
	}
	sort.Strings(names)
	passed, missing := 0, 0
	for _, dir := range names {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			f, err := openFolder(fsys, dir)
			if err != nil {
				t.Fatal(err)
			}
			err = f.Run(1e-4)
			reason, skip := skipped[filepath.Base(dir)]
			switch {
			case skip && err == nil:
				t.Errorf("passes, although: %s", reason)
			case skip:
				t.Skip(reason)
			case errors.Is(err, errUnsupported):
				missing++
				t.Skip(err)
			case err != nil:
				t.Errorf("%v: %v", f.Ops(), err)
			default:
				passed++
			}
		})
	}
	t.Logf("%d passed, %d lack an operator, of %d", passed, missing, len(names))
}

// untar reads an archive into memory.
func untar(name string) (fstest.MapFS, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files[filepath.ToSlash(filepath.Clean(h.Name))] = &fstest.MapFile{Data: b}
	}
}
