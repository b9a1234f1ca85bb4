package ort_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/ort"
)

// runtime is ONNX Runtime where GRAFT_ORT says, or where the other tests have it; without it the test is skipped, or fails
// with GRAFT_ORACLES=required.
func runtime(t testing.TB) ort.Runtime {
	t.Helper()
	r := ort.Runtime{}
	if os.Getenv("GRAFT_ORT") == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		r.Library = filepath.Join(home, ".cache", "graft", "ort")
	}
	if _, err := r.Open(); err != nil {
		if os.Getenv("GRAFT_ORACLES") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return r
}
