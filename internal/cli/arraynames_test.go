package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestArrayNames: an error lists twenty names at most, and of long ones a part.
func TestArrayNames(t *testing.T) {
	all := map[string]int{}
	for i := range 3 {
		all[fmt.Sprintf("a%02d", i)] = i
	}
	if got := arrayNames(all); got != "a00, a01, a02" {
		t.Errorf("%q", got)
	}
	for i := range 1000 {
		all[fmt.Sprintf("a%02d%s", i, strings.Repeat("b", 1000))] = i
	}
	if got := arrayNames(all); len(got) > 5000 || !strings.HasSuffix(got, " and 983 more") {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}
