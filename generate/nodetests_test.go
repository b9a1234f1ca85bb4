package generate_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/onnxio"
)

// refusals are the reasons for which a model of ONNX's own tests cannot be written.
var refusals = []string{"cannot be written in operator set", "cannot be written as Go source"}

// TestNodeModels generates source for the models of ONNX's node tests: each computes the same as its
// model or is refused with the reason, without a panic.
func TestNodeModels(t *testing.T) {
	shared := os.Getenv("GRAFT_SHARED")
	if shared == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	f, err := os.Open(filepath.Join(shared, "onnx-backend", "node-dev.tar.gz"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	written, refused := 0, 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, "model.onnx") {
			continue
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		g, err := onnxio.Read(bytes.NewReader(b))
		if err != nil {
			continue
		}
		_, err = generate.Generate(context.Background(), g, generate.Options{})
		known := err == nil
		for _, why := range refusals {
			known = known || strings.Contains(err.Error(), why)
		}
		switch {
		case !known:
			t.Errorf("%s: %v", h.Name, err)
		case err != nil:
			refused++
		default:
			written++
		}
	}
	t.Logf("%d written, %d refused", written, refused)
	if written < 1180 {
		t.Errorf("%d models are written", written)
	}
}
