package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// session runs test binaries of instrumented packages.
type session struct {
	dir, overlay string
	workers      int
}

// binary is a compiled test of one package.
type binary struct {
	pkg, dir, file string
	limit          time.Duration
	reached        map[int]bool
}

// run marks the sites that a test notices. The packages take their turns; each sees only what those before it let pass.
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

// build compiles the tests of pkg and runs them unchanged, to learn how long they take and what they
// reach; nil where pkg has none.
func (s *session) build(pkg string) (*binary, error) {
	dir, err := output(goTool("list", "-f", "{{.Dir}}", pkg))
	if err != nil {
		return nil, err
	}
	b := &binary{pkg: pkg, dir: strings.TrimSpace(string(dir)), file: filepath.Join(s.dir, "test.bin"), reached: map[int]bool{}}
	if _, err := output(goTool("test", "-c", "-overlay", s.overlay, "-o", b.file, pkg)); err != nil {
		return nil, err
	}
	if _, err := os.Stat(b.file); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	trace := filepath.Join(s.dir, "trace")
	defer os.Remove(trace)
	b.limit = 10 * time.Minute
	start := time.Now()
	if out, err := b.test("GRAFT_MUTANT_TRACE=" + trace); err != nil {
		return nil, fmt.Errorf("%s fails without a change: %w\n%s", pkg, err, out)
	}
	b.limit = 10*time.Since(start) + 5*time.Second
	ids, err := os.ReadFile(trace)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, id := range strings.Fields(string(ids)) {
		k, _ := strconv.Atoi(id)
		b.reached[k] = true
	}
	return b, nil
}

func (s *session) try(b *binary, list []*site) {
	work := make(chan *site)
	var wg sync.WaitGroup
	for range s.workers {
		wg.Go(func() {
			for m := range work {
				if _, err := b.test(fmt.Sprintf("GRAFT_MUTANT=%d", m.ID)); err != nil {
					m.NoticedBy = b.pkg
					continue
				}
				fmt.Fprintln(os.Stderr, m)
			}
		})
	}
	for _, m := range list {
		if b.reached[m.ID] {
			work <- m
		}
	}
	close(work)
	wg.Wait()
}

// memory bounds a test whose change makes it allocate without end, in KiB.
const memory = 8 << 20

// test runs the binary with one more environment variable.
func (b *binary) test(env string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v "$0" 2>/dev/null; exec nice "$@"`, strconv.Itoa(memory), b.file, "-test.failfast", "-test.count=1")
	cmd.Dir = b.dir
	cmd.Env = append(bareEnvironment(), env)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return out.Bytes(), err
}
