package glyph_test

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/glyph"
)

const pixels = glyph.Size * glyph.Size

func TestSetIsDeterministic(t *testing.T) {
	long, longLabels, err := glyph.Set("0123456789", 40, 7)
	if err != nil {
		t.Fatal(err)
	}
	short, shortLabels, err := glyph.Set("0123456789", 15, 7)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(short, long[:15*pixels]) || !slices.Equal(shortLabels, longLabels[:15]) {
		t.Error("a larger set does not begin with the smaller one")
	}
	other, _, err := glyph.Set("0123456789", 15, 8)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(short, other) {
		t.Error("two seeds gave the same images")
	}
}

// TestSetImages checks that every image contains a character: foreground, background, and
// differences between images of a class.
func TestSetImages(t *testing.T) {
	const classes = "ABEGKRSW"
	images, labels, err := glyph.Set(classes, 160, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(images) != 160*pixels || len(labels) != 160 {
		t.Fatalf("%d values, %d labels", len(images), len(labels))
	}
	for i, label := range labels {
		if want := int64(i % len(classes)); label != want {
			t.Fatalf("label %d is %d, want %d", i, label, want)
		}
		pic := images[i*pixels : (i+1)*pixels]
		bright := 0
		for _, v := range pic {
			if v < 0 || v > 1 {
				t.Fatalf("image %d holds %g", i, v)
			}
			if v > 0.5 {
				bright++
			}
		}
		if bright < 30 || bright > pixels/2 {
			t.Errorf("image %d has %d bright pixels", i, bright)
		}
		if next := i + len(classes); next < len(labels) && slices.Equal(pic, images[next*pixels:(next+1)*pixels]) {
			t.Errorf("images %d and %d are the same", i, next)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct {
		classes string
		n       int
		want    string
	}{
		{"", 1, "no classes"},
		{"ABA", 1, "'A' is listed twice"},
		{"A\u4e16", 1, "no outline for '世'"},
		{"A", -1, "-1 images asked for"},
	} {
		if _, _, err := glyph.Set(c.classes, c.n, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Set(%q, %d): %v, want %q", c.classes, c.n, err, c.want)
		}
	}
}

// A folder of PNG files holds the same numbers as the tensor form.
func TestWriteFolder(t *testing.T) {
	dir := t.TempDir()
	names, err := glyph.WriteFolder(dir, "Aa7", 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"A", "lower-a", "7"}; !slices.Equal(names, want) {
		t.Errorf("folders %q, want %q", names, want)
	}
	images, _, err := glyph.Set("Aa7", 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		f, err := os.Open(filepath.Join(dir, names[i%3], fmt.Sprintf("%04d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		pic, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for j := range pixels {
			r, _, _, _ := pic.At(j%glyph.Size, j/glyph.Size).RGBA()
			if got := float32(r/257) / 255; got != images[i*pixels+j] {
				t.Fatalf("image %d, pixel %d: %g in the file, %g in the set", i, j, got, images[i*pixels+j])
			}
		}
	}
	if _, err := glyph.WriteFolder(dir, "/", 1, 1); err == nil {
		t.Error("a slash named a folder")
	}
}
