package table_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/train/table"
)

// A table is read, and what its columns hold is found out.
func Example() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "houses.csv")
	if err := os.WriteFile(path, []byte("area;city;price\n120,5;Rome;401250\n80,1;Oslo;203110\n95,0;Rome;310000\n61,5;Oslo;154000\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	t, err := table.Reader{Target: "price", Task: table.Regression}.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range t.Columns {
		fmt.Println(c.Name, c.Kind)
	}
	// Output:
	// area number
	// city category
}
