package oracle

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"testing"
)

// Torch runs a Python script that may import torch and onnx, and returns its output. It skips the test, or fails
// it if oracles are required, when the interpreter or torch is missing; a failing script fails the test.
func Torch(t testing.TB, script string, args ...string) []byte {
	t.Helper()
	python := cmp.Or(os.Getenv("GRAFT_PYTHON"), "/usr/bin/python3")
	// find_spec looks torch up without the second that loading it takes.
	probe := exec.Command(python, "-c", "import importlib.util as u; assert u.find_spec('torch') and u.find_spec('onnx')")
	if err := probe.Run(); err != nil {
		missing(t, "PyTorch and onnx for %s: %v", python, err)
	}
	cmd := exec.Command(python, append([]string{script}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, tail(stderr.String(), 3000))
	}
	return out
}
