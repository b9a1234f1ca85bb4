package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
)

// Case is a way to write files.
type Case struct {
	Name    string
	Prepare func(dir string) error // creates the initial files
	Do      func(dir string) error // replaces them; done twice it gives the same files
	// Apart declares that files are replaced one by one; each is then the old one, the new one or, if Do
	// continues, an intermediate version.
	Apart bool
	// Check reports whether a file can be used, by its path; nil: its bytes are compared alone.
	Check func(path string) error
	// Same returns the part of a file that two runs have in common; nil: all of it. Files for which it
	// returns nil are ignored.
	Same func(name string, b []byte) []byte
}

const variable = "GRAFT_KILL"

// Sweep makes each call of the system in a case fail, in every way, and checks that the files on disk
// are the old or the new ones, and that a second run gives the new ones without a temporary file left.
// It also kills a child process at such calls. Unless GRAFT_FAULTS is "all", processes are killed at
// every seventh call only, and so are the failing calls of cases with more than 50 calls. In a run without
// faults, what Watch finds is an error. The test that calls Sweep must do nothing else, since the child runs it, too.
func Sweep(t *testing.T, cases ...Case) {
	if s := os.Getenv(variable); s != "" {
		child(t, s, cases)
		return
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			base := t.TempDir()
			must(t, c.Prepare(base))
			old := c.files(t, base, true)
			clean := duplicate(t, base)
			calls, restore := Install(0, Fails)
			found, unwatch := Watch()
			err := c.Do(clean)
			unwatch()
			restore()
			must(t, err)
			if list := found(); len(list) > 0 {
				t.Errorf("a loss of power could undo this: %s", strings.Join(list, "; "))
			}
			whole := c.files(t, clean, true)
			tried := 0
			for _, fault := range []Fault{Fails, Short, Down, Kill} {
				for n := 1; n <= calls(); n++ {
					if os.Getenv("GRAFT_FAULTS") != "all" && n != calls() && (fault == Kill || calls() > 50) && n%7 != 1 {
						continue
					}
					dir := duplicate(t, base)
					err := c.interrupted(t, dir, n, fault)
					where := fmt.Sprintf("fault %d at call %d of %d (%v)", fault, n, calls(), err)
					c.check(t, where, dir, old, whole, err, fault)
					if err := c.Do(dir); err != nil {
						t.Fatalf("%s: done once more: %v", where, err)
					}
					if got := c.files(t, dir, true); !equal(got, whole) {
						t.Fatalf("%s: done once more, there are %s", where, difference(got, whole))
					}
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
					tried++
				}
			}
			t.Logf("%d calls, %d faults survived", calls(), tried)
		})
	}
}

var errKilled = errors.New("killed")

// interrupted does it with a fault.
func (c Case) interrupted(t *testing.T, dir string, n int, fault Fault) error {
	if fault != Kill {
		_, restore := Install(n, fault)
		defer restore()
		return c.Do(dir)
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), variable+"="+strings.Join([]string{c.Name, strconv.Itoa(n), dir}, "|"))
	out, err := cmd.CombinedOutput()
	if err == nil || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("the child was not killed at call %d: %v\n%s", n, err, out)
	}
	return errKilled
}

// child runs the cases in the process that is killed.
func child(t *testing.T, s string, cases []Case) {
	part := strings.SplitN(s, "|", 3)
	n, err := strconv.Atoi(part[1])
	must(t, err)
	for _, c := range cases {
		if c.Name == part[0] {
			Install(n, Kill)
			must(t, c.Do(part[2]))
		}
	}
}

// check compares the files on disk as the next reader finds them.
func (c Case) check(t *testing.T, where, dir string, old, whole map[string]string, err error, fault Fault) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if strings.HasPrefix(e.Name(), ".") && path != dir {
			return fs.SkipDir
		}
		return disk.Settle(path)
	}))
	got := c.files(t, dir, false)
	if c.Check != nil {
		for name := range got {
			if err := c.Check(filepath.Join(dir, name)); err != nil {
				t.Fatalf("%s: %s: %v", where, name, err)
			}
		}
	}
	switch {
	case c.Apart:
		for name := range got {
			if _, ok := whole[name]; !ok {
				if _, ok = old[name]; !ok && c.Check == nil {
					t.Fatalf("%s: there is %s", where, name)
				}
			}
			if c.Check == nil && got[name] != old[name] && got[name] != whole[name] {
				t.Fatalf("%s: %s is neither old nor new", where, name)
			}
		}
		for name := range old {
			if _, ok := got[name]; !ok && whole[name] != "" {
				t.Fatalf("%s: %s is gone", where, name)
			}
		}
	case err == nil && !equal(got, whole):
		t.Fatalf("%s: no error, but %s", where, difference(got, whole))
	case err != nil && (fault == Fails || fault == Short) && !equal(got, old):
		t.Fatalf("%s: an error, but %s", where, difference(got, old))
	case !equal(got, old) && !equal(got, whole):
		t.Fatalf("%s: neither old nor new: %s; %s", where, difference(got, old), difference(got, whole))
	}
}

// files returns those of a folder, with or without the hidden ones.
func (c Case) files(t *testing.T, dir string, hidden bool) map[string]string {
	t.Helper()
	m := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !hidden && path != dir && strings.HasPrefix(e.Name(), ".") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if strings.HasPrefix(e.Name(), ".") && path != dir {
				m[rel] = "a folder"
			}
			return nil
		}
		b, err := os.ReadFile(path)
		if c.Same != nil {
			if b = c.Same(rel, b); b == nil {
				return err
			}
		}
		m[rel] = "=" + string(b)
		return err
	}))
	return m
}

func equal(a, b map[string]string) bool { return maps.Equal(a, b) }

// difference is in words.
func difference(got, want map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if w, ok := want[name]; !ok {
			list = append(list, "+"+name)
		} else if w != got[name] {
			list = append(list, "≠"+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			list = append(list, "-"+name)
		}
	}
	return strings.Join(list, " ")
}

func duplicate(t *testing.T, dir string) string {
	t.Helper()
	to, err := os.MkdirTemp(memory(), "faults-*")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(to) })
	must(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// memory returns the path of a file system in memory, if there is one: each fault syncs many files.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
