package cli

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// TestTags checks images with any number of tags, which are learned, evaluated and predicted
// independently; with one each they are classes.
func TestTags(t *testing.T) {
	dir := t.TempDir()
	var several, single strings.Builder
	several.WriteString("file,tags\n")
	single.WriteString("image,label\n")
	for i := range 60 {
		img := image.NewRGBA(image.Rect(0, 0, 16, 16))
		var tags []string
		for k, name := range []string{"left", "right"} {
			on := i>>k&1 == 1
			if on {
				tags = append(tags, name)
			}
			for p := range 128 {
				c := color.RGBA{20, 20, 20, 255}
				if on {
					c = color.RGBA{230, uint8(200 * k), 40, 255}
				}
				img.SetRGBA(8*k+p%8, p/8, c)
			}
		}
		name := fmt.Sprintf("p%02d.png", i)
		if err := onnxio.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { return png.Encode(w, img) }); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&several, "%s,%s\n", name, strings.Join(tags, " "))
		fmt.Fprintf(&single, "%s,n%d\n", name, len(tags))
	}
	for name, text := range map[string]string{"several.csv": several.String(), "single.csv": single.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	network := func(name string, end ...nn.Layer) {
		t.Helper()
		g := nn.New("tags")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,3,16,16]")
			e.Output("y", e.Apply(append(nn.Sequential{layers.Flatten{}, layers.Linear{Out: 2, Name: "top"}}, end...), x))
		}); err != nil {
			t.Fatal(err)
		}
		if err := onnxio.Save(filepath.Join(dir, name), g); err != nil {
			t.Fatal(err)
		}
	}
	network("plain.onnx")
	network("soft.onnx", layers.Softmax{})
	const how = " --preset unit --no-flip --augment none --lr 3e-3 --epochs 8 --batch 8 "
	expect(t, dir, [][3]string{
		{"train plain.onnx --data several.csv -o tags.onnx" + how, "54 samples to train on, 6 to validate; classes: left, right", ""},
		{"eval tags.onnx --data several.csv", "accuracy   1", ""},
		{"eval tags.onnx --data several.csv --worst 2 -o page.html", "p", ""},
		{"eval tags.onnx --data several.csv --worst 60", "left right  left right", ""},
		{"predict tags.onnx p03.png --csv", "sample,tags,label,probability,p(left),p(right)", ""},
		{"train plain.onnx --data single.csv -o single.onnx" + how, "classes: n0, n1, n2", ""},
		{"train plain.onnx --data several.csv --loss mse -o no.onnx" + how, "", "--loss mse: an image may have several tags, which needs the loss bce"},
		{"train soft.onnx --data several.csv -o no.onnx" + how, "", "is probabilities of classes that exclude each other: graft extract --to VALUE makes the scores before them the output"},
	})
	out, err := command("predict", filepath.Join(dir, "tags.onnx"), filepath.Join(dir, "p03.png"), "--json")
	if err != nil || strings.Count(out, `"probability":0.9`) < 3 || !strings.Contains(out, `"tags":["left","right"]`) && !strings.Contains(out, `"tags":["right","left"]`) {
		t.Errorf("both tags: %s, %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p05.png"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{
		{"train plain.onnx --data several.csv -o no.onnx" + how, "", "1 of 60 images are corrupt, --skip-bad 0.02 leaves them out:\n  "},
		{"train plain.onnx --data several.csv --skip-bad 0.02 -o skipped.onnx" + how, "53 samples to train on, 6 to validate", ""},
		{"eval tags.onnx --data several.csv --skip-bad 0.02", "59 samples", ""},
	})
	// Pruning and the rate finder take tags for what they are, too.
	expect(t, dir, [][3]string{
		{"new cnn --input 3,16,16 --classes 2 --width 4 --depth 1 -o small.onnx", "small.onnx: ", ""},
		{"prune small.onnx --data several.csv --skip-bad 0.02 --target channels=0.5 --iterations 2 --finetune-epochs 1 -o cut.onnx", "validation accuracy", ""},
		{"lr-find small.onnx --data several.csv --skip-bad 0.02", "suggested rate", ""},
		{"prune soft.onnx --data several.csv --skip-bad 0.02 --finetune-epochs 1 -o no.onnx", "", "is probabilities of classes that exclude each other"},
	})
}
