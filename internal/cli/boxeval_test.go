package cli

import (
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// redOrGreen is a detector as YOLO's are laid out: candidates 16 pixels wide, 8 apart, of which the mean red and green are the scores.
func redOrGreen(t *testing.T, path string) {
	t.Helper()
	g := nn.New("squares")
	if err := g.Edit(func(e *nn.Edit) {
		scores := e.Apply(nn.Sequential{layers.AvgPool{Kernel: []int{16}, Stride: []int{8}}}, e.Input("images", "float32[1,3,64,64]"))
		scores = e.Node(std.ReshapeConfig{}, scores, e.Const("shape", tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{1, 3, 49})))).Out(0)
		var centers []float32
		for axis := range 4 {
			for i := range 49 {
				centers = append(centers, []float32{float32(8*(i%7) + 8), float32(8*(i/7) + 8), 16, 16}[axis])
			}
		}
		boxes := e.Const("boxes", tensor.New(tensor.WithShape(1, 4, 49), tensor.WithBacking(centers)))
		e.Output("output0", e.Node(std.ConcatConfig{Axis: 1}, boxes, scores).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

func TestEvalBoxes(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	redOrGreen(t, in("squares.onnx"))
	if err := os.Mkdir(in("images"), 0o755); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	var images, annotations []object
	for i := range 4 { // 64 by 64, and 128 by 64, which the letterbox halves
		w, side := 64, 16
		if i%2 == 1 {
			w, side = 128, 32
		}
		img := image.NewRGBA(image.Rect(0, 0, w, 64))
		x, y := side*(i%3), side/2*(i%2)
		if i%2 == 1 {
			y = 32 // half of it is 16 from the top of the image, 32 of the input
		}
		for dy := range side {
			for dx := range side {
				img.Set(x+dx, min(63, y+dy), color.RGBA{uint8(255 * (1 - i/2)), uint8(255 * (i / 2)), 0, 255})
			}
		}
		file, err := os.Create(in(fmt.Sprintf("images/%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file, img); err != nil {
			t.Fatal(err)
		}
		file.Close()
		images = append(images, object{"id": i, "file_name": fmt.Sprintf("%d.png", i), "width": w, "height": 64})
		annotations = append(annotations, object{"id": i, "image_id": i, "category_id": 5 + 2*(i/2), "bbox": []int{x, y, side, side}})
	}
	write := func(name string, v any) {
		t.Helper()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	categories := []object{{"id": 5, "name": "red"}, {"id": 7, "name": "green"}, {"id": 8, "name": "blue"}}
	write("instances.json", object{"images": images, "annotations": annotations, "categories": categories})
	out, err := command("eval", in("squares.onnx"), "--data", in("instances.json"), "--preset", "unit", "--per-class", "-o", in("found.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"whole images, letterbox", "cxcywh in pixels of the input, the first category is class 0", "4 images with 4 boxes", "AP         1.0000", "AP50       1.0000", "\nblue   -       -"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	again, err := command("eval", "--data", dir, "--detections", in("found.json"), "--json")
	if err != nil || !strings.Contains(again, `"AP":1,"AP large":null`) {
		t.Error(again, err)
	}
	if out, err = command("eval", in("squares.onnx"), "--data", in("instances.json"), "--preset", "unit", "--resize", "stretch", "--json"); err != nil || strings.Contains(out, `"AP":1,`) {
		t.Error("squeezed squares are found as well:", out, err)
	}

	wrong := []object{{"id": 0, "file_name": "0.png", "width": 640, "height": 480}}
	write("size.json", object{"images": wrong, "categories": categories})
	write("lost.json", object{"images": []object{{"id": 0, "file_name": "lost.png"}}, "categories": categories})
	write("two.json", object{"images": images, "categories": categories[:1]})
	write("empty.json", object{})
	write("result.json", []object{{"image_id": 9, "category_id": 5, "bbox": []int{1, 2, 3, 4}, "score": 1}})
	for line, want := range map[string]string{
		"eval squares.onnx --data size.json --preset unit":        "images/0.png has 64×64 pixels, want 640×480",
		"eval squares.onnx --data lost.json":                      "--images names the folder of the images",
		"eval squares.onnx --data two.json --preset unit":         "the output output0 is [7 49]: want 4 or 5 numbers and a score for each of 1 categories",
		"eval squares.onnx --data empty.json":                     "empty.json: no images: want a COCO file, an object with images, annotations and categories",
		"eval squares.onnx --data none.json":                      "no such file or folder",
		"eval squares.onnx --data instances.json --boxes corners": "--boxes corners: want one of xyxy, yxyx, xywh, cxcywh",
		"eval squares.onnx --data instances.json --resize crop":   "--resize crop: want stretch or letterbox",
		"eval squares.onnx --data instances.json --suppress 2":    "--suppress 2: want an IoU above 0, up to 1",
		"eval squares.onnx --data instances.json --worst 3":       "--worst, --confusion, --calibration and --metric are not for detectors, whose metrics are COCO's",
		"eval squares.onnx --data instances.json -o page.html":    "for a detector it is a COCO results file: want a name that ends in .json",
		"eval --data instances.json --detections result.json":     "result.json: result 0 is of image 9, which the set does not have",
		"eval squares.onnx --data images --boxes xyxy":            "are for detectors, whose data are a COCO annotation file (.json), which",
	} {
		args := strings.Fields(line)
		for i, a := range args {
			if strings.HasSuffix(a, ".onnx") || strings.HasSuffix(a, ".json") || strings.HasSuffix(a, ".html") || a == "images" {
				args[i] = in(a)
			}
		}
		if _, err := command(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
