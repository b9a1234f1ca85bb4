package data

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color/palette"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
)

// TestPackedArrays: packed arrays that fill more than the budget are refused by what their headers claim, each and all together.
func TestPackedArrays(t *testing.T) {
	budget.Limit(4 << 20)
	defer budget.Limit(0)
	left := budget.Left()
	for _, c := range []struct {
		arrays, elements int
		want             string
	}{{1, 1 << 21, "a0.npy: reading 8388608 bytes: takes 8388608 bytes"}, {9, 1 << 17, ".npy: reading 524288 bytes: takes "}, {6, 1 << 17, ""},
		{20000, 0, "a.npz: the list of its files: takes "}, {6000, 0, " arrays: takes "}, {2000, 0, ""}} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := range c.arrays {
			w, err := z.Create(fmt.Sprintf("a%d.npy", i))
			if err != nil {
				t.Fatal(err)
			}
			head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", c.elements)
			fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s", len(head), head)
			if _, err := w.Write(make([]byte, 4*c.elements)); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := Arrays(path)
		if c.want == "" && (err != nil || len(all) != c.arrays) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%d arrays of %d: %d, %v, want %q", c.arrays, c.elements, len(all), err, c.want)
		}
		if budget.Fits(left) != nil {
			t.Errorf("%d bytes are left of %d", budget.Left(), left)
		}
	}
}

// TestImageMemory: an image that takes more than the budget when it is decoded is refused by the size in its header, and what one took is
// returned.
func TestImageMemory(t *testing.T) {
	budget.Limit(1 << 20)
	defer budget.Limit(0)
	left := budget.Left()
	for width, want := range map[int]string{512: "", 513: "image of 513×256 pixels: takes 1050624 bytes of memory"} {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, 256))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.png")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		err := decodable(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("width %d: %v, want %q", width, err, want)
		}
		if budget.Fits(left) != nil {
			t.Errorf("%d bytes are left of %d", budget.Left(), left)
		}
	}
}

// TestProgressiveMemory: an image in a progressive JPEG file takes its coefficients, too, and a narrow one its whole blocks.
func TestProgressiveMemory(t *testing.T) {
	file, err := os.ReadFile("../../internal/imagefile/testdata/progressive.jpg")
	if err != nil {
		t.Fatal(err)
	}
	samples, progressive := imagefile.JPEGSamples(bytes.NewReader(file))
	if !progressive || samples == 0 {
		t.Fatal(samples, progressive)
	}
	at := bytes.Index(file, []byte{0xff, 0xc2}) + 5
	narrow := append(append(bytes.Clone(file[:at]), 0xff, 0xff, 0, 1), file[at+4:]...)
	for name, c := range map[string]struct {
		file []byte
		want int64
	}{"whole": {file, 0}, "narrow": {narrow, 1 << 16 * 8 * 4}} {
		path := filepath.Join(t.TempDir(), "a.jpg")
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		s := &stored{path: path}
		if s.file, err = disk.Open(path); err != nil {
			t.Fatal(err)
		}
		if err := s.header(); err != nil {
			t.Fatal(err)
		}
		s.file.Close()
		if want := max(c.want, int64(8*s.width*s.height)+4*samples); name == "whole" && s.memory != want || s.memory < c.want {
			t.Errorf("%s: %d×%d pixels take %d bytes, want %d", name, s.width, s.height, s.memory, want)
		}
	}
}

// TestMaskMemory: a mask of palette indices or grays takes less memory than its image.
func TestMaskMemory(t *testing.T) {
	size := image.Rect(0, 0, 512, 256)
	for name, c := range map[string]struct {
		img  image.Image
		want int64
	}{
		"indexed": {image.NewPaletted(size, palette.WebSafe), 2}, "gray": {image.NewGray(size), 4}, "gray of 16 bits": {image.NewGray16(size), 8}, "colors": {image.NewNRGBA(size), 8},
	} {
		var b bytes.Buffer
		if err := png.Encode(&b, c.img); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.png")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		list, release, err := decodeStored(path)
		if err != nil {
			t.Fatal(err)
		}
		release()
		if got := list[0].memory / (512 * 256); got != c.want {
			t.Errorf("%s: %d bytes a pixel, not %d", name, got, c.want)
		}
	}
}

// TestImagesWait: images that fit into the memory one at a time are decoded by many workers, which wait for each other; so are pairs of an image and its mask.
func TestImagesWait(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 512, 256))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Preprocess{Size: 8}
	for pairs, decode := range map[int64]func() error{
		1: func() error { _, err := p.sample(ImageFile{Path: path}, nil, nil); return err },
		2: func() error {
			_, _, release, err := MaskItem{Image: path, Mask: path}.decode()
			if err == nil {
				release()
			}
			return err
		},
	} {
		budget.Limit(pairs<<20 + 1<<17)
		defer budget.Limit(0)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 3 {
					if err := decode(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
	}
}
