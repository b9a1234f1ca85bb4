package ort

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A folder that is named is searched as npm, Python and the archives lay it out, and nothing else is.
func TestSearch(t *testing.T) {
	dir := t.TempDir()
	want := []string{
		"lib/libonnxruntime.so.1", "node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1",
		"lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.22.0",
	}
	for i, f := range append(want[:3:3], "node_modules/onnxruntime-node/bin/napi-v6/linux/arm64/libonnxruntime.so.1", "lib/libother.so") {
		path := filepath.Join(dir, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("no library"), 0o644); err != nil {
			t.Fatal(err)
		}
		if i < len(want) {
			want[i] = path
		}
	}
	if got := found(inside(dir, "linux", "amd64"), "linux"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMissing checks that without a library the error lists where it was searched, and why existing files do not load.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for named, want := range map[string]string{text: "GRAFT_ORT is " + text + "; ", dir: "would be in " + dir, filepath.Join(dir, "none"): "GRAFT_ORT is " + dir} {
		t.Setenv("GRAFT_ORT", named)
		_, err := Runtime{}.Open()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Setenv("GRAFT_ORT", "")
	if text := (&missing{}).Error(); !strings.Contains(text, "where the loader does and in /") || !strings.Contains(text, "GRAFT_ORT names a file or folder elsewhere") {
		t.Error(text)
	}
}
