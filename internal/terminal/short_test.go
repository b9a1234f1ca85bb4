package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShort(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		strings.Repeat("a", 600): strings.Repeat("a", 600),
		strings.Repeat("a", 300) + "b" + strings.Repeat("c", 300): strings.Repeat("a", 300) + "…" + strings.Repeat("c", 300),
		"a" + strings.Repeat("ä", 5000) + "b":                     "a" + strings.Repeat("ä", 149) + "…" + strings.Repeat("ä", 149) + "b",
	} {
		if got := Short(errors.New(text)).Error(); got != want || !utf8.ValidString(got) {
			t.Errorf("%d bytes: %q, want %q", len(text), got, want)
		}
	}
	if err := Short(fmt.Errorf("%s%w", strings.Repeat("a", 1000), io.EOF)); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if Short(nil) != nil {
		t.Error("no error became one")
	}
}
