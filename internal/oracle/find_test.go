package oracle_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
)

func TestSharedIsRelativeToTheModule(t *testing.T) {
	t.Setenv("GRAFT_SHARED", "testdata")
	got := oracle.Shared(t, "torch", "README.md")
	want, err := filepath.Abs("../../testdata/torch/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A missing oracle skips a test, and fails it where oracles are required. A recorder takes the place of testing.T.
func TestMissing(t *testing.T) {
	t.Setenv("GRAFT_SHARED", "")
	for env, want := range map[string]string{"": "skip", "required": "fail"} {
		t.Setenv("GRAFT_ORACLES", env)
		r := &recorder{TB: t}
		func() {
			defer func() {
				if recover() != r {
					t.Errorf("GRAFT_ORACLES=%q: went on", env)
				}
			}()
			oracle.Shared(r)
		}()
		if r.did != want {
			t.Errorf("GRAFT_ORACLES=%q: %q, want %q", env, r.did, want)
		}
	}
	if os.Getenv("GRAFT_ORACLES") == "required" != oracle.Required() {
		t.Error("Required contradicts the environment")
	}
}

// recorder notes how a test would have ended, and ends it by a panic with itself.
type recorder struct {
	testing.TB
	did string
}

func (r *recorder) Helper()               {}
func (r *recorder) Skipf(string, ...any)  { r.did = "skip"; panic(r) }
func (r *recorder) Fatalf(string, ...any) { r.did = "fail"; panic(r) }
