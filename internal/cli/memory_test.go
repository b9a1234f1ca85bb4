package cli

import "testing"

func TestBytesOf(t *testing.T) {
	for s, want := range map[string]int64{"": 0, "1000": 1000, "4GB": 4e9, "1.5 MiB": 3 << 19, "2kb": 2000, "7b": 7} {
		if n, err := bytesOf(s); err != nil || n != want {
			t.Errorf("%q: %d, %v, want %d", s, n, err, want)
		}
	}
	for _, s := range []string{"much", "-1GB", "0", "NaN", "1e300", "GB"} {
		if n, err := bytesOf(s); err == nil {
			t.Errorf("%q: %d", s, n)
		}
	}
}
