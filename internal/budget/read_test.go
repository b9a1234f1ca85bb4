package budget

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A stream that fails says so, before its data ends and after it.
func TestRead(t *testing.T) {
	broken := errors.New("broken")
	for name, r := range map[string]io.Reader{"within": iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abcd"))), "after": io.MultiReader(strings.NewReader("abcd"), iotest.ErrReader(broken))} {
		if _, err := Read(r, 4); !errors.Is(err, broken) && !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := Read(strings.NewReader("abcd"), 4); err != nil || string(b) != "abcd" {
		t.Error(b, err)
	}
}
