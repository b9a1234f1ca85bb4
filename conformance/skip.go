package conformance

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
)

// Skips gives, for each case that is expected to fail, the reason. A name may be a pattern of path.Match:
// "node/test_loop*". Such a case is still run, and it is an error if it passes.
type Skips map[string]string

// reason returns the reason why a case is expected to fail, "" if it is not.
func (s Skips) reason(name string) string {
	if why, ok := s[name]; ok {
		return why
	}
	for _, pattern := range slices.Sorted(maps.Keys(s)) {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return s[pattern]
		}
	}
	return ""
}

// perSkip is about how many bytes an expected failure takes besides its text.
const perSkip = 256

// ReadSkips reads a list of expected failures, one on each line: the case or a pattern, white space, the reason. Empty
// lines and lines that begin with # are ignored. A line without a reason is an error.
func ReadSkips(r io.Reader) (Skips, error) {
	s := Skips{}
	if r == nil {
		return s, nil
	}
	var taken budget.Tally
	defer taken.Free()
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.IndexAny(line, " \t")
		if at < 0 {
			return nil, fmt.Errorf("line %d: %q has no reason", n, line)
		}
		if _, err := path.Match(line[:at], ""); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", n, line[:at], err)
		}
		if err := taken.Add(perSkip + int64(len(line))); err != nil {
			return nil, fmt.Errorf("line %d: the lines up to here: %w", n, err)
		}
		s[line[:at]] = strings.TrimSpace(line[at:])
	}
	return s, lines.Err()
}
