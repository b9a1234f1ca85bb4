package budget

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// What is read whole has at most the bytes that are left, or a third of them if its length is not known.
func TestReadAll(t *testing.T) {
	defer Limit(0)
	for _, c := range []struct {
		n           int
		known, file bool
		want        string
	}{
		{0, false, false, ""}, {333, false, false, ""}, {334, false, false, "more than 333 bytes of data, a third of the memory that is left"}, {1 << 20, false, false, "more than 333 bytes"},
		{0, true, false, ""}, {1000, true, false, ""}, {1001, true, false, "1001 bytes of data are more than the 1000 bytes of memory that are left"},
		{0, false, true, ""}, {1000, false, true, ""}, {1001, false, true, "1001 bytes of data are more than the 1000 bytes of memory that are left"},
	} {
		data := strings.Repeat("a", c.n)
		var r io.Reader = strings.NewReader(data)
		switch {
		case c.file:
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r = f
		case !c.known:
			r = io.MultiReader(r)
		}
		Limit(1000 + state.used)
		b, err := ReadAll(r)
		if c.want == "" && (err != nil || string(b) != data) || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %d bytes, %v", c, len(b), err)
		}
	}
	if _, err := ReadAll(iotest.ErrReader(io.ErrUnexpectedEOF)); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

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
