package std

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// TestLongStrings: long strings are handled in parts, with the same result, and what handles them ends with the context.
func TestLongStrings(t *testing.T) {
	long := strings.Repeat("aé \xff\x80", stringPart/2)
	open, stopped, done := kernel.NewPool(1).Stoppable(), kernel.NewPool(1).Stoppable(), make(chan struct{})
	close(done)
	stopped.StopBy(done)
	most := 3
	r := regexp.MustCompile(`\A(?:(a|é| |.)+b)\z`)
	for name, c := range map[string]struct {
		do   func(p *kernel.Pool) []string
		want []string
	}{
		"concatenated":       {func(p *kernel.Pool) []string { return []string{joined(p, long, "b")} }, []string{long + "b"}},
		"in capital letters": {func(p *kernel.Pool) []string { return []string{inParts(p, long, strings.ToUpper)} }, []string{strings.ToUpper(long)}},
		"words":              {func(p *kernel.Pool) []string { return slices.Collect(StringSplitConfig{}.cut(p, long)) }, strings.Fields(long)},
		"split":              {func(p *kernel.Pool) []string { return slices.Collect(StringSplitConfig{Delimiter: "é"}.cut(p, long)) }, strings.Split(long, "é")},
		"three times": {func(p *kernel.Pool) []string {
			return slices.Collect(StringSplitConfig{Delimiter: "é", MaxSplit: &most}.cut(p, strings.Repeat("é", stringPart)+long))
		},
			strings.SplitN(strings.Repeat("é", stringPart)+long, "é", 4)},
		"not split": {func(p *kernel.Pool) []string { return slices.Collect(StringSplitConfig{Delimiter: "no"}.cut(p, long)) }, []string{long}},
		"matched": {func(p *kernel.Pool) []string {
			in := checkedReader{pool: p}
			in.Reset(long[:100] + "b")
			return []string{map[bool]string{true: "yes"}[r.MatchReader(&in)]}
		}, []string{"yes"}},
	} {
		if got := c.do(open); !slices.Equal(got, c.want) {
			t.Errorf("%s: differs in %d elements, want %d", name, len(got), len(c.want))
		}
		if name == "not split" || name == "three times" {
			continue // one search, as fast as the memory
		}
		func() {
			defer func() {
				if p := recover(); p != (kernel.Stopped{}) {
					t.Errorf("%s: does not end: %v", name, p)
				}
			}()
			c.do(stopped)
		}()
	}
}
