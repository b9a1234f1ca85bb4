package terminal

import (
	"bytes"
	"fmt"
	"testing"
)

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
