package table_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/table"
)

func TestRowNumber(t *testing.T) {
	var b strings.Builder
	b.WriteString("n,year,ID,order_id,jump,half,y\n")
	for i := range 30 {
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%.1f,%d.5\n", i+1, 1990+i, 500+(i*7)%30, i/2, 2*i, float64(i)/2, i%4)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := table.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"n": true, "ID": true}
	for _, c := range got.Columns {
		if got.RowNumber(c) != want[c.Name] {
			t.Errorf("column %s numbers the rows: %v, want %v", c.Name, got.RowNumber(c), want[c.Name])
		}
	}
	got.LeaveRowNumbers()
	if c := got.Column("ID"); c.Kind != table.Ignore || c.Note != "numbers the rows; --column ID=number uses it" {
		t.Errorf("%s: %s", c.Kind, c.Note)
	}
}
