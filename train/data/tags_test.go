package data_test

import (
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/train/data"
)

func TestTags(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []string{"a.png", "b.png", "sub/c.png"} {
		drawn(t, filepath.Join(dir, f), image.NewGray(image.Rect(0, 0, 9, 9)))
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := write("tags.csv", "file,tags\na.png,red round\nb.png,\nsub/c.png,big;red\n")
	if !data.IsTagFile(path) || data.IsTagFile(write("other.csv", "file,size\na.png,3\n")) || data.IsTagFile(filepath.Join(dir, "none.csv")) {
		t.Error("tables of tags are told by their header")
	}
	tags, err := data.ReadTags(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(tags.Tags, []string{"big", "red", "round"}) {
		t.Errorf("tags %v", tags.Tags)
	}
	all := tags.All(data.Preprocess{Size: 8, Gray: true})
	for i, want := range [][]float32{{0, 1, 1}, {0, 0, 0}, {1, 1, 0}} {
		s, err := all.At(i, nil)
		if err != nil || !slices.Equal(s.Y[0].Float32s(), want) || !slices.Equal(s.X[0].Shape(), []int{1, 8, 8}) {
			t.Errorf("sample %d: %v, %v, want %v", i, s, err, want)
		}
	}
	fit, held := tags.Split(0.3, 1, data.Preprocess{Size: 8, Gray: true})
	if fit.Len() != 2 || held.Len() != 1 {
		t.Errorf("%d and %d samples", fit.Len(), held.Len())
	}
	for text, want := range map[string]string{
		"file,tags\nno.png,red\n":      "line 2: there is no image",
		"file,tags\na.png,red,round\n": "line 2 has 3 columns, want a file and its tags",
		"file,tags\na.png,\n":          "no image has a tag",
		"name,size\na.png,1\n":         "want the header line \"file,tags\"",
		"file,tags\n\"a.png,red\n":     "bad.csv: ",
	} {
		if _, err := data.ReadTags(write("bad.csv", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestTagsMemory: a line or a list of fields without end is refused before it is read whole, and is not a header.
func TestTagsMemory(t *testing.T) {
	defer budget.Limit(0)
	budget.Limit(8 << 20)
	for name, line := range map[string]string{"line": "x", "fields": ","} {
		path := filepath.Join(t.TempDir(), "tags.csv")
		if err := os.WriteFile(path, []byte(strings.Repeat(line, 2_000_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		is := data.IsTagFile(path)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; is || !testing.Short() && took > 1<<20 {
			t.Errorf("%s: a header %v, for which %d bytes are allocated", name, is, took)
		}
		if _, err := data.ReadTags(path); err == nil || !strings.Contains(err.Error(), "a record of more than 524288 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
