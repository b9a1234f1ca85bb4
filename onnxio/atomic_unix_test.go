//go:build unix

package onnxio_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
)

// TestWriteFileToPipe: a pipe is written to, not replaced.
func TestWriteFileToPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := onnxio.WriteFile(name, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe is now %v, %v", info, err)
	}
	var b [4]byte
	if _, err := io.ReadFull(f, b[:]); err != nil || string(b[:]) != "text" {
		t.Errorf("the pipe has %q, %v", b, err)
	}
}

// TestExternalPipe: a pipe in place of external data is refused, not waited for.
func TestExternalPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "weights"), 0o600); err != nil {
		t.Skip(err)
	}
	w := &onnxpb.TensorProto{
		Name: proto.String("w"), DataType: proto.Int32(1), Dims: []int64{1}, DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
		ExternalData: []*onnxpb.StringStringEntryProto{{Key: proto.String("location"), Value: proto.String("weights")}},
	}
	b, err := proto.Marshal(&onnxpb.ModelProto{Graph: &onnxpb.GraphProto{Initializer: []*onnxpb.TensorProto{w}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := onnxio.Load(name); err == nil || !strings.Contains(err.Error(), `"weights" is not a regular file`) {
		t.Error(err)
	}
}
