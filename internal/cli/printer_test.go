package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestAlignedRows: an aligned table is written in parts, so that it is not kept whole.
func TestAlignedRows(t *testing.T) {
	var b bytes.Buffer
	sheet := (&prediction{}).printer(&b, nil, nil).(*sheet)
	for i := range 2*alignedRows + 7 {
		if err := sheet.row([]string{"sample", "value"}, []string{strings.Repeat("x", 1+i/alignedRows), "1"}); err != nil {
			t.Fatal(err)
		}
		if got, want := bytes.Count(b.Bytes(), []byte("\n")), (i+1)/alignedRows*alignedRows; want > 0 && got != want+1 || want == 0 && got != 0 {
			t.Fatalf("%d rows are written after %d, and the names", got, i+1)
		}
	}
	if err := sheet.end(); err != nil || bytes.Count(b.Bytes(), []byte("\n")) != 2*alignedRows+8 || !strings.HasPrefix(b.String(), "sample  value\nx       1\n") {
		t.Errorf("%q, %v", b.String()[:40], err)
	}
}
