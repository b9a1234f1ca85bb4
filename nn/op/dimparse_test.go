package op

import "testing"

// Dimensions are read as expressions, but for slashes within the names that exporters give them.
func TestParseDim(t *testing.T) {
	for _, c := range []struct{ in, want string }{
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
	for _, in := range []string{"", "-3", "f(", "(N", "floor(N)"} {
		if d, err := ParseDim(in); err == nil {
			t.Errorf("%q was read as %v", in, d)
		}
	}
}
