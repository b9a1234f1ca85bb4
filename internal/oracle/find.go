package oracle

import (
	"os"
	"path/filepath"
	"testing"
)

// Required reports whether a missing oracle is a failure (GRAFT_ORACLES=required) rather than a skip.
func Required() bool { return os.Getenv("GRAFT_ORACLES") == "required" }

// Shared returns the path of elem inside the shared folder (GRAFT_SHARED; a relative path starts at the module's root).
// The test is skipped, or fails where oracles are required, when it is not there.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	root := os.Getenv("GRAFT_SHARED")
	if root == "" {
		missing(t, "GRAFT_SHARED is not set")
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(moduleRoot(t), root)
	}
	path := filepath.Join(append([]string{root}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		missing(t, "shared folder: %v", err)
	}
	return path
}

// Anchors returns the path of elem inside the folder of exported networks; README.md describes its files. Like Shared
// it skips or fails when it is not there.
func Anchors(t testing.TB, elem ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{folder("GRAFT_ANCHORS", "anchors")}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		missing(t, "anchors (make them with .ci/anchors): %v", err)
	}
	return path
}

// moduleRoot returns the nearest folder with a go.mod, from the test's own upwards.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// folder returns the value of an environment variable or, where unset, a folder in the user's cache.
func folder(env, name string) string {
	if dir := os.Getenv(env); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".cache", "graft", name)
}

func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if Required() {
		t.Fatalf("required oracle missing: "+format, args...)
	}
	t.Skipf(format, args...)
}
