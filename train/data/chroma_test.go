package data_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/train/data"
)

// TestChroma compares opened images with what Pillow (libjpeg-turbo, libwebp) made of the same files: Go's packages repeat chroma at a
// lower resolution, and take the limited range of WebP for the full one.
func TestChroma(t *testing.T) {
	stored, err := filepath.Glob("../../internal/imagefile/testdata/*.ppm")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, ppm := range stored {
		file := strings.TrimSuffix(ppm, ".ppm")
		img, err := data.OpenImage(file)
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
		compared++
		worst := 0
		for i, w := range want.Pix {
			c := [3]uint32{}
			c[0], c[1], c[2], _ = img.At(i/3%want.Width, i/3/want.Width).RGBA()
			worst = max(worst, int(c[i%3]>>8)-int(w), int(w)-int(c[i%3]>>8))
		}
		if worst > 4 { // Go's package rounds otherwise, before the colors are converted
			t.Errorf("%s differs by %d of 255 from Pillow", filepath.Base(file), worst)
		}
	}
	if compared < 5 {
		t.Errorf("%d files compared", compared)
	}
}
