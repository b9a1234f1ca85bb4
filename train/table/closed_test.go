package table

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedWhileRead: a table that is closed while another goroutine reads it ends with an error, not as if it had fewer rows.
func TestClosedWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("a,b\n"+strings.Repeat("1,2\n", 4*most)), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err := Format{}.Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	begun := make(chan bool)
	go func() {
		for n := 0; ; n++ {
			if n == 10 {
				close(begun)
			}
			if _, _, err := rows.Next(); err != nil {
				ended <- err
				return
			}
		}
	}()
	<-begun
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, fs.ErrClosed) && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	rows, err = Format{}.Open(path, "")
	if err == nil {
		err = rows.Close()
	}
	for err == nil {
		_, _, err = rows.Next()
	}
	if !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed table: %v", err)
	}
}
