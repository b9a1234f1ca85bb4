package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// session runs test binaries of instrumented packages.
type session struct {
	dir, overlay string
	workers      int
	skip         *regexp.Regexp
}

// binary is a compiled test of one package.
type binary struct {
	pkg, dir, file string
	tests          []*test
}

// test is a top-level test of a binary: processor time that it takes alone and the sites that it reaches.
type test struct {
	name    string
	took    time.Duration
	reached map[int]bool
}

// run marks the sites that a test notices. Packages run one after the other; each only gets the
// mutants that survived before.
func (s *session) run(pkgs []string, sample []*site) error {
	rest := sample
	for _, pkg := range pkgs {
		if len(rest) == 0 {
			return nil
		}
		b, err := s.build(pkg)
		if err != nil {
			return err
		}
		if b == nil {
			continue
		}
		s.try(b, rest)
		var survivors []*site
		for _, m := range rest {
			if m.NoticedBy == "" {
				survivors = append(survivors, m)
			}
		}
		rest = survivors
		fmt.Fprintf(os.Stderr, "%s: %d left\n", pkg, len(rest))
		os.Remove(b.file)
	}
	return nil
}

// build compiles the tests of pkg and runs each alone and unchanged, to measure its time and the sites that it
// reaches; nil if pkg has no tests.
func (s *session) build(pkg string) (*binary, error) {
	dir, err := output(goTool("list", "-f", "{{.Dir}}", pkg))
	if err != nil {
		return nil, err
	}
	b := &binary{pkg: pkg, dir: strings.TrimSpace(string(dir)), file: filepath.Join(s.dir, "test.bin")}
	if _, err := output(goTool("test", "-c", "-overlay", s.overlay, "-o", b.file, pkg)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.file); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	list := exec.Command(b.file, "-test.list=^(Test|Fuzz|Example)")
	list.Dir, list.Env = b.dir, bareEnvironment()
	names, err := output(list)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(string(names)) {
		if s.skip.MatchString(name) {
			continue
		}
		t, err := s.trace(b, name)
		if err != nil {
			return nil, err
		}
		b.tests = append(b.tests, t)
	}
	slices.SortStableFunc(b.tests, func(x, y *test) int { return cmp.Compare(x.took, y.took) })
	return b, nil
}

func (s *session) trace(b *binary, name string) (*test, error) {
	trace := filepath.Join(s.dir, "trace")
	defer os.Remove(trace)
	t := &test{name: name, reached: map[int]bool{}}
	out, took, err := b.run("GRAFT_MUTANT_TRACE="+trace, 10*time.Minute, t)
	if err != nil {
		return nil, fmt.Errorf("%s: %s fails without a change: %w\n%s", b.pkg, name, err, out)
	}
	t.took = took
	ids, err := os.ReadFile(trace)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, id := range strings.Fields(string(ids)) {
		k, _ := strconv.Atoi(id)
		t.reached[k] = true
	}
	return t, nil
}

func (s *session) try(b *binary, list []*site) {
	work := make(chan int)
	var wg sync.WaitGroup
	for range s.workers {
		wg.Go(func() {
			for i := range work {
				m := list[i]
				if b.notices(m.ID) {
					m.NoticedBy = b.pkg
					continue
				}
				fmt.Fprintf(os.Stderr, "%d of %d: %v\n", i+1, len(list), m)
			}
		})
	}
	for i := range list {
		work <- i
	}
	close(work)
	wg.Wait()
}

// notices runs the tests that reach a site, the short ones first: each run takes about as long as all previous ones
// together, so that finding a mutant by a short test is cheap, and one that survives costs little more
// than a single run of all.
func (b *binary) notices(id int) bool {
	const least = 100 * time.Millisecond
	var batch []*test
	var before, took time.Duration
	flush := func() bool {
		// A limit of processor time holds on a busy machine as well; the other is for tests that wait.
		_, _, err := b.run(fmt.Sprintf("GRAFT_MUTANT=%d", id), 10*took+2*time.Second, batch...)
		batch, before, took = nil, before+took, 0
		return err != nil
	}
	for _, t := range b.tests {
		if !t.reached[id] {
			continue
		}
		batch, took = append(batch, t), took+t.took
		if took >= max(least, before) && flush() {
			return true
		}
	}
	return len(batch) > 0 && flush()
}

// memory bounds a test whose change makes it allocate without end, in KiB.
const memory = 8 << 20

// run runs tests with one more environment variable. The limit is of processor time; a test that waits may do so
// ten times as long.
func (b *binary) run(env string, limit time.Duration, tests ...*test) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*limit)
	defer cancel()
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v "$0" 2>/dev/null; ulimit -t "$1"; shift; exec nice "$@"`, strconv.Itoa(memory),
		strconv.Itoa(int(math.Ceil(limit.Seconds()))), b.file, "-test.failfast", "-test.count=1", "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Dir = b.dir
	cmd.Env = append(bareEnvironment(), env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var took time.Duration
	if cmd.ProcessState != nil {
		took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return out.Bytes(), took, err
}
