package nn

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDistance compares with the recursive definition.
func TestDistance(t *testing.T) {
	var define func(a, b string) int
	define = func(a, b string) int {
		switch {
		case a == "" || b == "":
			return len(a) + len(b)
		case a[0] == b[0]:
			return define(a[1:], b[1:])
		}
		return 1 + min(define(a[1:], b), define(a, b[1:]), define(a[1:], b[1:]))
	}
	r := rand.New(rand.NewPCG(1, 1))
	word := func() string {
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 300 {
		a, b := word(), word()
		if got, want := distance(a, b), define(a, b); got != want {
			t.Fatalf("the distance of %q and %q is %d, want %d", a, b, got, want)
		}
	}
}

// TestSimilar: names that are close, the closest first, no more than three.
func TestSimilar(t *testing.T) {
	for _, c := range []struct{ name, names, want string }{
		{"conv1", "conv2 conv11 fc", `: did you mean "conv11", "conv2"?`},
		{"convolution", "convilutian", `: did you mean "convilutian"?`},        // two changes
		{"convolution", "canvilutian", `: did you mean "canvilutian"?`},        // three of eleven letters
		{"convolution", "canvilitian", ""},                                     // four
		{"abc", "xbc xyc xyz", `: did you mean "xbc", "xyc"?`},                 // two of three letters, not three
		{"ab", "b a c", `: did you mean "a", "b", "c"?`},                       // by distance, then by name
		{"w", "w4 w3 w2 w1", `: did you mean "w1", "w2", "w3"?`},               // three at most
		{"Weight", "layer.a.weight other", `: did you mean "layer.a.weight"?`}, // a part of a name, however long
		{"weigth", "layer.weight weight", `: did you mean "weight"?`},          // a part that is not
		{"FC", "fc", `: did you mean "fc"?`}, {"anything", "", ""},
	} {
		if got := similar(c.name, strings.Fields(c.names)); got != c.want {
			t.Errorf("%q among %s%s, want %s", c.name, c.names, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a*", "a/b/c", true}, {"a/*", "a/b", true}, {"a/*", "ab", false}, {"*/c", "a/b/c", true}, {"a?c", "abc", true}, {"a?c", "a/c", true}, {"[ab]c", "bc", true}, {"[", "[", false}, {"", "", true}, {"a", "A", false},
	} {
		if got := match(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

// TestTable: how numbers and types are written in a summary.
func TestTable(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1 000", 12345: "12 345", 123456: "123 456", 1234567: "1 234 567"} {
		if got := group(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
		if got := count(n); n > 0 && got != want || n == 0 && got != "" {
			t.Errorf("%d is written %q", n, got)
		}
	}
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"abcd", 4, "abcd"}, {"abcde", 4, "abc…"}, {"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"", 1, ""}} {
		if got := shorten(c.s, c.n); got != c.want {
			t.Errorf("%q in %d characters is %q, want %q", c.s, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		before, after int64
		want          string
	}{{0, 0, "±0 %"}, {0, 5, "±0 %"}, {100, 150, "+50.0 %"}, {1000, 1, "-99.9 %"}, {3, 3, "+0.0 %"}} {
		if got := change(c.before, c.after); got != c.want {
			t.Errorf("%d to %d is %s, want %s", c.before, c.after, got, c.want)
		}
	}
}
