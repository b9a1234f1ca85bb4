package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
)

// TestPredictPacked checks that images in files of MNIST's form have the labels that they have as single files.
func TestPredictPacked(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(in("digits"), "0179", 3, 1); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(in("digits/*/*.png"))
	slices.Sort(files)
	images := binary.BigEndian.AppendUint32(nil, 0x0803)
	labels := binary.BigEndian.AppendUint32(nil, 0x0801)
	for _, n := range []int{len(files), glyph.Size, glyph.Size} {
		images = binary.BigEndian.AppendUint32(images, uint32(n))
	}
	labels = binary.BigEndian.AppendUint32(labels, uint32(len(files)))
	for _, file := range files {
		img := opened(t, file)
		for i := range glyph.Size * glyph.Size {
			images = append(images, color.GrayModel.Convert(img.At(i%glyph.Size, i/glyph.Size)).(color.Gray).Y)
		}
		labels = append(labels, 0)
	}
	if err := os.Mkdir(in("packed"), 0o755); err != nil {
		t.Fatal(err)
	}
	x, y := in("packed/t10k-images-idx3-ubyte"), in("packed/t10k-labels-idx1-ubyte")
	for path, content := range map[string][]byte{x: images, y: labels} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	answers := func(path string) (list []string) {
		out, err := command("predict", in("digits.onnx"), path, "--json")
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewBufferString(out)); d.More(); {
			var a struct{ Sample, Label string }
			if err := d.Decode(&a); err != nil {
				t.Fatal(err)
			}
			if path != in("digits") && a.Sample != fmt.Sprint(len(list)+1) {
				t.Errorf("%s: sample %s is called %q", path, fmt.Sprint(len(list)+1), a.Sample)
			}
			list = append(list, a.Label)
		}
		return list
	}
	want := answers(in("digits"))
	for _, path := range []string{in("packed"), x + "," + y} {
		if got := answers(path); len(want) != len(files) || !slices.Equal(got, want) {
			t.Errorf("%s: %s, want %s", filepath.Base(path), strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}
