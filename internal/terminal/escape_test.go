package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	for n, want := range map[int]int{0: 0, 4000: 4000, 4002: 3000 + len(" … "), 1 << 20: 3000 + len(" … ")} {
		if got := len(Brief(strings.Repeat("é", n/2))); got != want {
			t.Errorf("%d bytes: %d, want %d", n, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"café 画像 👩‍💻\tx\n":          "café 画像 👩‍💻\tx\n",
		"\x1b[31mred\x1b[0m":        `\u001b[31mred\u001b[0m`,
		"a\rb\bc\x00d\x7f":          `a\u000db\u0008c\u0000d\u007f`,
		"\u009b2J":                  `\u009b2J`,
		"gpj\u202eexe\u2066x\u2069": `gpj\u202eexe\u2066x\u2069`,
	} {
		var b bytes.Buffer
		n, err := fmt.Fprint(escaping{&b}, in)
		if Escape(in) != want || b.String() != want || n != len(in) || err != nil {
			t.Errorf("%q: %q, written %q (%d bytes, %v), want %q", in, Escape(in), b.String(), n, err, want)
		}
	}
}
