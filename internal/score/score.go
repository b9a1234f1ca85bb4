package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// score is the number of cases of a suite, and of those that passed.
type score struct{ passed, total int }

// board holds the score of each suite.
type board map[string]score

func (b board) suites() []string { return slices.Sorted(maps.Keys(b)) }

func (b board) add(suite string, ok bool) {
	s := b[suite]
	s.total++
	if ok {
		s.passed++
	}
	b[suite] = s
}

// result is one line of `graft verify --json`.
type result struct {
	Case      string
	OK        bool
	Gradients string // ok, fail, none
	Error     string
}

// failure is a case that failed, or its gradients.
type failure struct{ name, why string }

func (f failure) String() string { return f.name + ": " + f.why }

// count adds up the results. A case that comes twice is an error.
func count(in io.Reader) (b board, failures []failure, err error) {
	b = board{}
	seen := map[string]bool{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var r result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, nil, fmt.Errorf("line %d, %.80q: %w", n, line, err)
		}
		if r.Case == "" || seen[r.Case] {
			return nil, nil, fmt.Errorf("line %d: case %q is nameless or comes twice", n, r.Case)
		}
		seen[r.Case] = true
		suite := suiteOf(r.Case)
		b.add(suite, r.OK)
		if r.Gradients == "ok" || r.Gradients == "fail" {
			b.add(suite+"-gradients", r.Gradients == "ok")
		}
		if !r.OK || r.Gradients == "fail" {
			failures = append(failures, failure{r.Case, r.Error})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, err
	}
	if len(b) == 0 {
		return nil, nil, errors.New("no results")
	}
	return b, failures, nil
}

func suiteOf(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) < 2 {
		return "other"
	}
	return parts[len(parts)-2]
}

// compare prints on out where b is better than want, and returns an error where it is worse.
func (b board) compare(want board, out io.Writer) error {
	var worse []string
	for _, suite := range want.suites() {
		got, want := b[suite], want[suite]
		switch {
		case got.passed < want.passed || got.total < want.total:
			worse = append(worse, fmt.Sprintf("%s has %d / %d, recorded are %d / %d", suite, got.passed, got.total, want.passed, want.total))
		case got.passed > want.passed:
			fmt.Fprintf(out, "suite %s: %d more than recorded (make scores)\n", suite, got.passed-want.passed)
		}
	}
	if len(worse) > 0 {
		return errors.New(strings.Join(worse, "; "))
	}
	return nil
}

const heading = "# Cases that pass, by suite: SUITE PASSED TOTAL. `make scores` records; `.ci/verify` fails when a score is lower.\n"

func (b board) write(path string) error {
	var text strings.Builder
	text.WriteString(heading)
	for _, suite := range b.suites() {
		fmt.Fprintf(&text, "%s %d %d\n", suite, b[suite].passed, b[suite].total)
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}

func read(path string) (board, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := board{}
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var suite, rest string
		var s score
		if k, err := fmt.Sscanf(line+" .", "%s %d %d %s", &suite, &s.passed, &s.total, &rest); err != nil || k != 4 || rest != "." {
			return nil, fmt.Errorf("%s:%d: %q is not SUITE PASSED TOTAL", path, n+1, line)
		}
		b[suite] = s
	}
	return b, nil
}
