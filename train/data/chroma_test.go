package data_test

import (
	"image"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/train/data"
)

// TestChroma compares opened images with what Pillow (libjpeg-turbo, libwebp) made of the same files: Go's packages repeat chroma at a
// lower resolution, take the limited range of WebP for the full one, lose the colors of transparent pixels of GIF files and the rest of an image around
// its first frame, and invert faxes in which black is zero.
func TestChroma(t *testing.T) {
	stored, err := filepath.Glob("testdata/*.ppm")
	more, err2 := filepath.Glob("../../internal/imagefile/testdata/*.ppm")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	compared := 0
	for _, ppm := range append(stored, more...) {
		file := strings.TrimSuffix(ppm, ".ppm")
		img, err := data.OpenImage(file)
		if err != nil {
			t.Fatal(err)
		}
		same, err := data.OpenImage(ppm)
		if err != nil {
			t.Fatal(err)
		}
		b, err := disk.ReadFile(ppm)
		if err != nil {
			t.Fatal(err)
		}
		want, err := imagefile.Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if size := image.Pt(want.Width, want.Height); img.Bounds().Size() != size || same.Bounds().Size() != size {
			t.Errorf("%s has %v pixels, its PNM %v, want %v", filepath.Base(file), img.Bounds(), same.Bounds(), size)
			continue
		}
		compared++
		worst := 0
		for i, w := range want.Pix {
			c := [3]uint32{}
			c[0], c[1], c[2], _ = img.At(i/3%want.Width, i/3/want.Width).RGBA()
			worst = max(worst, int(c[i%3]>>8)-int(w), int(w)-int(c[i%3]>>8))
			c[0], c[1], c[2], _ = same.At(i/3%want.Width, i/3/want.Width).RGBA()
			if int(c[i%3]>>8) != int(w) {
				t.Fatalf("%s: byte %d of PNM is %d, want %d", ppm, i, c[i%3]>>8, w)
			}
		}
		if worst > 4 { // Go's package rounds otherwise, before the colors are converted
			t.Errorf("%s differs by %d of 255 from Pillow", filepath.Base(file), worst)
		}
	}
	if compared < 12 {
		t.Errorf("%d files compared", compared)
	}
}
