package data_test

import (
	"context"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// TestCorruptPairs checks that images with unreadable masks or tags are listed with the reason and skipped.
func TestCorruptPairs(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	img, mask := halves(func(x int) color.Color { return color.Gray{uint8(x / 4)} }, nil)
	for _, name := range []string{"a", "b", "c", "d"} {
		drawn(t, in("images/"+name+".png"), img)
		drawn(t, in("masks/"+name+".png"), mask)
	}
	write("images/b.png", "no image")
	write("masks/c.png", "no image")
	drawn(t, in("images/d.png"), image.NewGray(image.Rect(0, 0, 5, 5)))
	if _, err := data.MaskFolder(dir); err == nil || !strings.Contains(err.Error(), "c.png: image: unknown format") {
		t.Errorf("a mask that is no image: %v", err)
	}
	m, bad, err := data.ReadableMasks(dir)
	if err != nil || len(bad) != 1 || bad[0].Path != in("images/c.png") || len(m.Items) != 3 {
		t.Fatal(m, bad, err)
	}
	bad, err = m.Corrupt(context.Background())
	if err != nil || len(bad) != 2 || bad[0].Path != in("images/b.png") || !strings.Contains(bad[1].Err.Error(), "d.png is 5×5 pixels, its mask") {
		t.Fatal(bad, err)
	}
	if m.Drop(bad...); len(m.Items) != 1 || m.Items[0].Image != in("images/a.png") {
		t.Errorf("left are %v", m.Items)
	}
	for _, name := range []string{"a", "b", "d"} {
		write("masks/"+name+".png", "none")
	}
	if _, _, err := data.ReadableMasks(dir); err == nil || !strings.Contains(err.Error(), "a.png: image: unknown format") {
		t.Errorf("no mask that can be read: %v", err)
	}
	write("tags.csv", "file,tags\nimages/a.png,x y\nimages/b.png,x\nimages/d.png,\n")
	tags, err := data.ReadTags(in("tags.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if bad, err = tags.Corrupt(context.Background()); err != nil || len(bad) != 1 || bad[0].Path != in("images/b.png") || bad[0].Class != -1 {
		t.Fatal(bad, err)
	}
	if tags.Drop(bad...); len(tags.Items) != 2 {
		t.Errorf("left are %v", tags.Items)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tags.Corrupt(ctx); err == nil {
		t.Error("a context that has ended")
	}
}

// TestNPYTexts checks NumPy's strings: four bytes per character in either byte order, or one byte.
func TestNPYTexts(t *testing.T) {
	wide := func(order int, words ...string) string {
		var b strings.Builder
		for _, w := range words {
			c := []rune(w + "\x00\x00\x00")[:3]
			for _, r := range c {
				four := []byte{byte(r), byte(r >> 8), byte(r >> 16), 0}
				if order < 0 {
					four = []byte{0, byte(r >> 16), byte(r >> 8), byte(r)}
				}
				b.Write(four)
			}
		}
		return b.String()
	}
	file := func(header, body string) string {
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + body
	}
	path := filepath.Join(t.TempDir(), "y.npy")
	for name, content := range map[string]string{
		"little": file("{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}", wide(1, "ö", "rot")),
		"big":    file("{'descr': '>U3', 'fortran_order': False, 'shape': (2,)}", wide(-1, "ö", "rot")),
		"bytes":  file("{'descr': '|S4', 'fortran_order': False, 'shape': (2,)}", "ö\x00\x00rot\x00"),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := data.NPY(path)
		if err != nil {
			t.Fatal(name, err)
		}
		if got, ok := x.Data().([]string); !ok || len(got) != 2 || got[0] != "ö" || got[1] != "rot" {
			t.Errorf("%s: %q", name, x.Data())
		}
	}
	for want, header := range map[string]string{
		"truncated: 3 bytes of data, want 24": "{'descr': '<U3', 'fortran_order': False, 'shape': (2,)}",
		"texts of 0 characters":               "{'descr': '<U0', 'fortran_order': False, 'shape': (2,)}",
		"impossible shape":                    "{'descr': '<U3', 'fortran_order': False, 'shape': (9223372036854775807,)}",
		"holds Python objects: want an array of numbers, sequences padded to one length, or texts, ": "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
	} {
		if err := os.WriteFile(path, []byte(file(header, "abc")), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := data.NPY(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPhonePhotos checks that photos in formats that cannot be read are not ignored, and that the error names the format.
func TestPhonePhotos(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"cat", "dog"} {
		drawn(t, filepath.Join(dir, class, "a.png"), image.NewGray(image.Rect(0, 0, 9, 9)))
	}
	if err := os.WriteFile(filepath.Join(dir, "cat", "b.HEIC"), []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := data.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := f.Corrupt(context.Background())
	if err != nil || len(bad) != 1 || !strings.Contains(bad[0].Err.Error(), "b.HEIC: HEIC is not supported: want JPEG") {
		t.Error(bad, err)
	}
}
