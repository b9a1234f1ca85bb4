package op

import (
	"strings"
	"testing"
)

// TestTypeTextsCutShort: what is left of the text of a type when its end is missing is refused, but for the name of an element type.
func TestTypeTextsCutShort(t *testing.T) {
	for _, text := range []string{
		"float32[N,3,?]", "int64[]", "string", "seq(float32[2*N+1,4])", "optional(seq(bool[T]))", "map(int64,float32[])", "map(string,seq(int64[2]))", "sparse(double[3,4])", "seq(map(int64,string))",
	} {
		whole, err := ParseType(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if again, err := ParseType(whole.String()); err != nil || again.String() != whole.String() {
			t.Errorf("%s is written %s, read again %s, %v", text, whole, again, err)
		}
		for n := range len(text) {
			got, err := ParseType(text[:n])
			if err == nil && strings.ContainsAny(text[:n], "([") {
				t.Errorf("%q is read as %s", text[:n], got)
			}
		}
	}
}

// TestMergeDims merges every pair of what may be known of a length.
func TestMergeDims(t *testing.T) {
	list := []Dim{Unknown(), D(0), D(3), D(4), Sym("N"), Sym("M"), {Size: 3, Sym: "N"}, {Size: 4, Sym: "M"}, {Size: 3, Sym: "M"}}
	for _, d := range list {
		for _, e := range list {
			got, ok := d.Merge(e)
			if want := d.Size < 0 || e.Size < 0 || d.Size == e.Size; ok != want {
				t.Errorf("%v and %v: %v, want %v", d, e, ok, want)
			}
			if !ok {
				if got != d {
					t.Errorf("%v and %v contradict each other and give %v", d, e, got)
				}
				continue
			}
			want := Dim{Size: max(d.Size, e.Size), Sym: d.Sym}
			if want.Sym == "" {
				want.Sym = e.Sym
			}
			if got != want {
				t.Errorf("%v and %v give %+v, want %+v", d, e, got, want)
			}
		}
	}
}
