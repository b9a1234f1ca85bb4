package cli

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFileNames: names that differ in case, in characters that file systems refuse, or at an end that is cut off get different files.
func TestFileNames(t *testing.T) {
	f := fileNames{}
	long := strings.Repeat("ä", 150)
	for _, c := range [][2]string{
		{"y", "y"}, {"Y", "Y_2"}, {"y", "y_3"}, {"a/b", "a_b"}, {"a:b", "a_b_2"}, {"A?B", "A_B_3"}, {"con", "_con"}, {"NUL.x", "_NUL.x"}, {"console", "console"}, {"com1", "_com1"}, {"", "_"}, {".", "__2"},
		{"a.", "a_"}, {"a ", "a__2"}, {"a\x1b[m", "a_[m"}, {long, long[:200]}, {long + "b", long[:200] + "_2"},
	} {
		if got := f.of(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// TestFilesOfSamples: images of the same name but for the extension, the folder's separator or case do not overwrite each other's results.
func TestFilesOfSamples(t *testing.T) {
	p := &prediction{output: t.TempDir()}
	samples := []string{"a.jpg", "a.png", "A.png", "d/a.png", "d_a.png", "..", strings.Repeat("b", 255)}
	for i, sample := range samples {
		img := image.NewGray(image.Rect(0, 0, 1, 1))
		img.SetGray(0, 0, color.Gray{Y: uint8(i)})
		path, err := p.file(sample, "mask", img)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := png.Decode(bytes.NewReader(b)); err != nil || got.At(0, 0) != (color.Gray{Y: uint8(i)}) {
				t.Errorf("%s: %s was overwritten, %v", sample, path, err)
			}
		}()
	}
	entries, err := os.ReadDir(p.output)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		seen[strings.ToLower(e.Name())] = true
	}
	if len(seen) != len(samples) || !seen["a.mask.png"] {
		t.Errorf("%v in %s", seen, filepath.Base(p.output))
	}
}
