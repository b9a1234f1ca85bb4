package cli

import (
	"encoding/csv"
	"encoding/json"
	"image/color"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestListedNames: tables of tags and annotations may name images anywhere, as recipes may name files; a name that leads to none is an error that has it.
func TestListedNames(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	plain := func(x, y int) color.Color { return color.RGBA{uint8(20 * x), uint8(20 * y), 90, 255} }
	for _, name := range []string{"out.png", "d/a.png", "d/b.png", "d/sub/c.png"} {
		paint(t, in(name), plain)
	}
	exist := map[string]bool{"a.png": true, "sub/c.png": true, "sub/../a.png": true, "../out.png": true, in("out.png"): true, "./a.png": true,
		"lost.png": false, "sub": false, "a\x00.png": false, "a.png\x00": false, "\x00": false, "../../nothing/x.png": false, "dangling.png": false, strings.Repeat("x", 4000): false}
	if runtime.GOOS == "windows" {
		exist["NUL"] = false
	} else {
		paint(t, in("d/a\nb\x1b[2J.png"), plain)
		paint(t, in("d/NUL.png"), plain)
		exist["a\nb\x1b[2J.png"], exist["NUL.png"], exist["/dev/null"], exist["/dev/zero"] = true, true, false, false
	}
	if os.Symlink("../out.png", in("d/link.png")) == nil && os.Symlink("nowhere", in("d/dangling.png")) == nil {
		exist["link.png"] = true
	}
	if _, err := os.Stat(in("d/A.PNG")); err != nil { // the file system distinguishes them
		exist["A.PNG"] = false
	}
	t.Chdir(dir)
	convnet(t, "float32[N,3,8,6]", 2)
	if err := os.Rename("m.onnx", "tags.onnx"); err != nil {
		t.Fatal(err)
	}
	redOrGreen(t, "boxes.onnx")
	for name, there := range exist {
		var tags strings.Builder
		w := csv.NewWriter(&tags)
		if err := w.WriteAll([][]string{{"file", "tags"}, {"b.png", "x"}, {name, "y"}}); err != nil {
			t.Fatal(err)
		}
		put(t, "d/tags.csv", []byte(tags.String()))
		type object = map[string]any
		b, err := json.Marshal(object{"images": []object{{"id": 1, "file_name": "b.png"}, {"id": 2, "file_name": name}},
			"annotations": []object{{"id": 1, "image_id": 1, "category_id": 1, "bbox": []int{1, 1, 3, 3}}}, "categories": []object{{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 3, "name": "c"}}})
		if err != nil {
			t.Fatal(err)
		}
		put(t, "d/d.json", b)
		for _, line := range []string{"eval tags.onnx --data d/tags.csv --preset unit", "eval boxes.onnx --data d/d.json --preset unit"} {
			out, err := bounded(t, line)
			if there != (err == nil) || err != nil && !strings.Contains(err.Error(), filepath.Base(filepath.FromSlash(name))) {
				t.Errorf("%.100q: %s: %v\n%s", name, line, err, out)
			}
		}
	}
}
