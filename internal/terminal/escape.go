// Package terminal writes text that may contain names from files to terminals.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// Escape replaces characters that a terminal acts on instead of showing them by escapes such as \u001b: control characters other than
// newlines and tabs, and those that change the direction of text. Names in a file could otherwise hide or fake what is printed.
func Escape(s string) string {
	if !strings.ContainsFunc(s, acts) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if acts(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Brief shortens a text of more than 4,000 bytes in the middle, where it may hold the content of a file.
func Brief(s string) string {
	if len(s) <= 4000 {
		return s
	}
	return strings.ToValidUTF8(s[:2000], "") + " … " + strings.ToValidUTF8(s[len(s)-1000:], "")
}

func acts(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Writer returns a writer to f that escapes what is written if f is a terminal, otherwise f itself: other programs get names as they are.
func Writer(f *os.File) io.Writer {
	if term.IsTerminal(int(f.Fd())) {
		return escaping{f}
	}
	return f
}

type escaping struct{ w io.Writer }

func (e escaping) Write(b []byte) (int, error) {
	if _, err := io.WriteString(e.w, Escape(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
