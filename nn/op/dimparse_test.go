package op

import (
	"strings"
	"testing"
)

// TestParseDim checks that dimensions are parsed as expressions, except for slashes within the names
// that exporters write.
func TestParseDim(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"0", "0"},
		{"7", "7"},
		{"-1", "?"},
		{"N", "N"},
		{" batch ", "batch"},
		{"2*N", "2*N"},
		{"N*2+N", "3*N"},
		{"(N+1)*(N-1)", "N*N-1"},
		{"N/2", "floor(N,2)"},
		{"4*N/2", "2*N"},
		{"H / W", "floor(H,W)"},
		{"floor(N,2)+1", "floor(N,2)+1"},
		{"6-4", "2"},
		{"/block/Conv_0_dim_1", "/block/Conv_0_dim_1"},
		{"block/conv_dim_0", "block/conv_dim_0"},
		{"2*block/conv_dim_0", "2*block/conv_dim_0"},
		{"floor(block/conv_dim_0,2)", "floor(block/conv_dim_0,2)"},
		{"unk__6", "unk__6"},
		{"x/a", "x/a"},
		{"x/z", "x/z"},
		{"x/A", "x/A"},
		{"x/Z", "x/Z"},
		{"x/_", "x/_"},
		{"a.z:A#Z@0$9é", "a.z:A#Z@0$9é"},
		{"x0", "x0"},
		{"x9", "x9"},
		{"1090", "1090"},
		{"10*N", "10*N"},
		{"19+N", "N+19"},
		{"x/", "x/"},
		{"a b", "a b"},
	} {
		d, err := ParseDim(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := d.String(); got != c.want {
			t.Errorf("%q is %s, want %s", c.in, got, c.want)
		}
		again, err := ParseDim(d.String())
		if err != nil || again != d {
			t.Errorf("%q: %s is read again as %v, %v", c.in, d, again, err)
		}
	}
	for in, want := range map[string]string{
		"": "a dimension is empty", "2 2": `dimension "2 2" is more than one number: dimensions are separated by commas`, "-3": "dimension -3 is negative", "2-5": "dimension -3 is negative", "99999999999999999999": "dimension 99999999999999999999 is out of range", "N)": `unexpected ")" in dimension "N)"`, "(N": `missing ) in dimension "(N"`,
		"f(": `dimension "f(" ends where a number or a symbol should stand`, "floor(N)": `floor in dimension "floor(N)" takes two arguments`,
		"floor(N,": `dimension "floor(N," ends where a number or a symbol should stand`, "floor(N,2": `missing ) in dimension "floor(N,2"`,
	} {
		d, err := ParseDim(in)
		if err == nil {
			t.Errorf("%q was read as %v", in, d)
		} else if err.Error() != want {
			t.Errorf("%q: %v, want %s", in, err, want)
		}
	}
}

// TestNameBytes checks which bytes a dimension's name may have, and which may follow a slash in one.
func TestNameBytes(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for c := range 256 {
		b := byte(c)
		in := func(set string) bool { return strings.IndexByte(set, b) >= 0 }
		if got, want := isNameByte(b), b >= 128 || in("_.:#@$0123456789"+letters); got != want {
			t.Errorf("%q in a name: %v, want %v", b, got, want)
		}
		p := dimParser{s: "x/" + string([]byte{b}), i: 1}
		if got, want := p.slashInName(), in("_"+letters); got != want {
			t.Errorf("a slash before %q in a name: %v, want %v", b, got, want)
		}
	}
}
