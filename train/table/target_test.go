package table_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/table"
)

// TestCountsAreMeasurements checks that integers are classes where each is frequent, and numbers where
// they are distributed like counts.
func TestCountsAreMeasurements(t *testing.T) {
	for _, c := range []struct {
		often   []int // how often 0, 1, 2 … come
		classes bool
	}{
		{[]int{20, 45, 80, 90, 70, 40, 20, 9, 3}, false},
		{[]int{100, 60, 30, 12, 5, 1}, false},
		{[]int{1, 14, 50, 60, 20, 2}, false},
		{[]int{20, 45, 80, 90, 70, 40, 20, 9, 5}, true},     // the last five times
		{[]int{100, 60, 30, 12, 1}, true},                   // five numbers
		{[]int{30, 30, 30, 30, 30, 30, 2}, false},           // flat within chance, the last alone is rare
		{[]int{30, 60, 30, 60, 90, 30, 2}, true},            // 60, 30, 60
		{[]int{90, 60, 30, 60, 30, 20, 2}, true},            // rises again after the peak
		{[]int{30, 32, 29, 31, 30, 33, 30, 29, 4}, true},    // a tenth of the most frequent is less than 4
		{[]int{40, 42, 39, 41, 40, 43, 40, 39, 4}, false},   // and here more
		{[]int{30, 31, 29, 30, 32, 30, 28, 31, 30}, true},   // digits
		{[]int{0, 0, 0, 20, 45, 80, 90, 70, 40, 3}, false},  // from 3 on
		{[]int{20, 45, 60, 75, 90, 70, 58, 80, 9, 3}, true}, // 80 is more than 58 and twice the root of 80
	} {
		var b strings.Builder
		b.WriteString("x,y\n")
		for v, n := range c.often {
			for i := range n {
				fmt.Fprintf(&b, "%d.5,%d\n", i, v)
			}
		}
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		tab, err := table.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if (tab.Classes != nil) != c.classes {
			t.Errorf("%v: classes %v", c.often, tab.Classes)
		}
	}
}
