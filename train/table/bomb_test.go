package table

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
)

// TestPackedTables: what is packed in a table ends in an error before it fills the memory: a record without end, rows without end,
// fields and distinct words without end, UTF-16. Rows one by one may be many.
func TestPackedTables(t *testing.T) {
	budget.Limit(8 << 20)
	defer budget.Limit(0)
	many := strings.Repeat("1,2\n", 1000)
	for name, c := range map[string]struct{ head, line, want string }{
		"record": {"a,b\n", strings.Repeat("1", 4000), "a record of more than 524288 bytes"},
		"quoted": {"a,b\n\"", strings.Repeat("1\n", 2000), "a record of more than 524288 bytes"},
		"fields": {"", strings.Repeat(",", 4000), "a record of more than 524288 bytes, of which each field takes 96"},
		"words":  {"a,b\n", "", " of 20000 rows: "},
		"rows":   {"a,b\n", many, "the rows up to here: takes "},
		"wide":   {"\xff\xfea\x00", strings.Repeat("1\x00\n\x00", 1000), "UTF-16: a record of more than 524288 bytes"},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, c.head)
		for range 4000 {
			io.WriteString(z, c.line)
		}
		for i := 0; name == "words" && i < 20_000; i++ { // a word that differs takes more than the row
			fmt.Fprintf(z, "w%d,v%d\n", i, i)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "t.csv.gz")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := (Reader{}).Read(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if name != "rows" {
			continue
		}
		rows, err := Format{}.Open(path, "")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for ; err == nil; n++ {
			_, _, err = rows.Next()
		}
		if rows.Close(); err != io.EOF || n != 4_000_001 {
			t.Errorf("%d rows, %v", n, err)
		}
	}
}
