package imagefile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/imagefile"
)

// TestDecode compares with what Pillow (libjpeg-turbo, libwebp) made of each file, stored beside it.
func TestDecode(t *testing.T) {
	files, err := filepath.Glob("testdata/*.ppm")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f, ".ppm")
		got, want := read(t, name), read(t, f)
		if got.Width != want.Width || got.Height != want.Height {
			t.Errorf("%s: %d×%d, want %d×%d", name, got.Width, got.Height, want.Width, want.Height)
			continue
		}
		allowed, worst, count := 0, 0, 0
		if strings.Contains(name, "progressive") { // Go's package transforms with other roundings
			allowed = 2
		}
		for i, v := range got.Pix {
			if d := max(int(v)-int(want.Pix[i]), int(want.Pix[i])-int(v)); d > allowed {
				worst, count = max(worst, d), count+1
			}
		}
		if count > 0 {
			t.Errorf("%s: %d of %d bytes differ, by up to %d", name, count, len(got.Pix), worst)
		}
	}
}

func read(t *testing.T, name string) *imagefile.RGB {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := imagefile.Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

func TestText(t *testing.T) {
	p, err := imagefile.Decode([]byte("P3 # colors\n2 1\n15\n15 0 3  0 15 0\n"))
	if err != nil || p.Width != 2 || p.Pix[0] != 255 || p.Pix[2] != 51 {
		t.Error(p, err)
	}
	p, err = imagefile.Decode([]byte("P5\n1 2\n255\nab"))
	if err != nil || string(p.Pix) != "aaabbb" || string(p.Gray()) != "ab" {
		t.Error(p, err)
	}
	for _, bad := range []string{"", "P6", "P6 3 3 255\nab", "P6 0 3 255\n", "P3 1 1 255\nx", "BM", "\xff\xd8", "\xff\xd8\xff\xc0\x00\x04", "RIFF0000WEBP"} {
		if _, err := imagefile.Decode([]byte(bad)); err == nil {
			t.Errorf("%q is no image", bad)
		}
	}
}

// FuzzDecode looks for panics.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"420.jpg", "gray.jpg"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("P3 2 1 15 15 0 3 0 15 0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if w, h, err := imagefile.Size(data); err == nil && w*h < 1<<16 {
			imagefile.Decode(data)
		}
	})
}

// TestUnsupported checks that well-known formats are refused by name, JPEG 2000 as a file and as a bare code stream.
func TestUnsupported(t *testing.T) {
	for begin, name := range map[string]string{
		"\x00\x00\x00\x0cjP  \r\n\x87\n\x00\x00\x00\x14ftypjp2 ": "JPEG 2000", "\xff\x4f\xff\x51\x00\x2f": "JPEG 2000", "\xff\x0a\x00": "JPEG XL",
		"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic": "HEIC", "\x00\x00\x00\x18ftypavif\x00\x00\x00\x00": "AVIF",
	} {
		want := "the image is " + name + ", which is not supported: want JPEG, PNG, BMP, TIFF, WebP or PNM"
		_, _, err := imagefile.Size([]byte(begin))
		_, also := imagefile.Decode([]byte(begin))
		if err == nil || err.Error() != want || also == nil || also.Error() != want {
			t.Errorf("got %v and %v, want %q", err, also, want)
		}
	}
	if got := imagefile.Unsupported([]byte("RIFF\x00\x01\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00")); got != "animated WebP" {
		t.Error(got)
	}
}

// TestDecodingCharged: what decoding takes is charged meanwhile, more for a progressive file, and returned.
func TestDecodingCharged(t *testing.T) {
	defer budget.Limit(0)
	for name, perPixel := range map[string]int64{"444.jpg": 12, "progressive.jpg": 28} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		width, height, err := imagefile.Size(data)
		if err != nil {
			t.Fatal(err)
		}
		n := perPixel * int64((width+31)/32*32) * int64((height+31)/32*32)
		budget.Limit(n)
		if _, err := imagefile.Decode(data); err != nil {
			t.Errorf("%s in %d bytes: %v", name, n, err)
		}
		if left := budget.Left(); left != n {
			t.Errorf("%s: %d bytes are left of %d", name, left, n)
		}
		budget.Limit(n - 1)
		if _, err := imagefile.Decode(data); err == nil || !strings.Contains(err.Error(), "decoding ") {
			t.Errorf("%s in %d bytes: %v", name, n-1, err)
		}
	}
}

// TestProgressiveCharged: what is charged for a progressive file covers what its coefficients and planes take, whatever the sampling of its
// components; a narrow image has as many as one of whole units.
func TestProgressiveCharged(t *testing.T) {
	defer budget.Limit(0)
	for name, c := range map[string]struct {
		width, height int
		factors       string // of the components: across and down
	}{
		"4:4:4":        {1024, 1024, "\x11\x11\x11"},
		"4:2:0":        {1024, 1024, "\x22\x11\x11"},
		"4:2:0, odd":   {1025, 1023, "\x22\x11\x11"},
		"4:1:1":        {1024, 1024, "\x41\x11\x11"},
		"CMYK":         {1024, 1024, "\x11\x11\x11\x11"},
		"CMYK, halved": {1024, 1024, "\x22\x11\x11\x22"},
		"narrow":       {1, 65535, "\x41\x21\x21"},
		"narrow, one":  {1, 65535, "\x11\x11\x11"},
		"low":          {65535, 1, "\x22\x11\x11"},
	} {
		file := "\xff\xd8\xff\xc2\x00" + string(rune(8+3*len(c.factors))) + "\x08" + string([]byte{byte(c.height >> 8), byte(c.height), byte(c.width >> 8), byte(c.width), byte(len(c.factors))})
		scan := ""
		for i := range len(c.factors) {
			file += string([]byte{byte(i + 1), c.factors[i], 0})
			scan += string([]byte{byte(i + 1), 0})
		}
		file += "\xff\xda\x00" + string(rune(6+2*len(c.factors))) + string([]byte{byte(len(c.factors))}) + scan + "\x00\x00\x00"
		decode := func() (allocated int64, err error) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = imagefile.Decode([]byte(file))
			runtime.ReadMemStats(&after)
			return int64(after.TotalAlloc - before.TotalAlloc), err
		}
		budget.Limit(0)
		took, err := decode()
		if err == nil || strings.Contains(err.Error(), "sampling") {
			t.Fatalf("%s: %v", name, err)
		}
		if took < 4*int64(c.width)*int64(c.height) {
			t.Errorf("%s: took only %d bytes: %v", name, took, err)
		}
		if samples, progressive := imagefile.JPEGSamples(strings.NewReader(file)); !progressive || 5*samples < took-64<<10 || 5*samples > took {
			t.Errorf("%s: %d samples, progressive %v, take %d bytes", name, samples, progressive, took)
		}
		budget.Limit(took - 64<<10)
		if took, err := decode(); err == nil || !strings.Contains(err.Error(), "decoding ") || took > 1<<17 {
			t.Errorf("%s: takes %d bytes more than are charged: %v", name, took, err)
		}
	}
}
