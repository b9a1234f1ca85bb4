package boxes

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// named are COCO's figures by the names that testdata/coco.py gives them.
func (f Figures) named() map[string]float64 {
	return map[string]float64{
		"AP": f.AP, "AP50": f.AP50, "AP75": f.AP75, "AP small": f.APSmall, "AP medium": f.APMedium, "AP large": f.APLarge,
		"AR 1": f.AR1, "AR 10": f.AR10, "AR 100": f.AR100, "AR small": f.ARSmall, "AR medium": f.ARMedium, "AR large": f.ARLarge,
	}
}

// TestEvaluate compares with the definition as testdata/coco.py spells it out: crowds, objects of all sizes, a category without objects.
func TestEvaluate(t *testing.T) {
	s, err := Load("testdata/instances.json")
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.LoadDetections("testdata/results.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Evaluate(found)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/figures.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]float64
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	for name, x := range f.named() {
		if math.Abs(x-want[name]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, x, want[name])
		}
	}
	if f.Category[3] != -1 || f.Category50[3] != -1 {
		t.Errorf("the category without objects has %v and %v", f.Category[3], f.Category50[3])
	}
}

// TestEvaluateKnown compares with figures that pycocotools gives for boxes on four images of COCO.
func TestEvaluateKnown(t *testing.T) {
	box := func(c int, v ...float64) Truth {
		b := Box{v[0], v[1], v[2], v[3]}
		return Truth{Box: b, Category: c, Area: b.Area()}
	}
	got := func(c int, score float64, v ...float64) Detection {
		return Detection{Box: Box{v[0], v[1], v[2], v[3]}, Category: c, Score: score}
	}
	s := &GroundTruth{Categories: make([]Category, 6), Images: []Image{
		{Truth: []Truth{box(4, 214.15, 41.29, 562.41, 285.07)}},
		{Truth: []Truth{box(2, 13, 22.75, 548.98, 632.42), box(2, 1.66, 3.32, 270.26, 275.23)}},
		{Truth: []Truth{box(4, 61.87, 276.25, 358.29, 379.43), box(1, 2.75, 3.66, 162.15, 316.06), box(0, 295.55, 93.96, 313.97, 152.79), box(0, 326.94, 97.05, 340.49, 122.98),
			box(0, 356.62, 95.47, 372.33, 147.55), box(0, 462.08, 105.09, 493.74, 146.99), box(0, 277.11, 103.84, 292.44, 150.72)}},
		{Truth: []Truth{box(5, 13.99, 2.87, 640, 421.52)}},
	}}
	f, err := s.Evaluate([][]Detection{
		{got(4, 0.236, 258.15, 41.29, 606.41, 285.07)},
		{got(3, 0.318, 61, 22.75, 565, 632.42), got(2, 0.726, 12.66, 3.32, 281.26, 275.23)},
		{got(4, 0.546, 87.87, 276.25, 384.29, 379.43), got(1, 0.3, 0, 3.66, 142.15, 316.06), got(0, 0.407, 296.55, 93.96, 314.97, 152.79), got(0, 0.611, 328.94, 97.05, 342.49, 122.98),
			got(0, 0.335, 356.62, 95.47, 372.33, 147.55), got(0, 0.805, 464.08, 105.09, 495.74, 146.99), got(0, 0.953, 276.11, 103.84, 291.44, 150.72)},
		{got(5, 0.699, 0, 2.87, 601, 421.52)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"AP": 0.706, "AP50": 0.901, "AP75": 0.846, "AP small": 0.689, "AP medium": 0.8, "AP large": 0.701,
		"AR 1": 0.592, "AR 10": 0.716, "AR 100": 0.716, "AR small": 0.767, "AR medium": 0.8, "AR large": 0.7}
	for name, x := range f.named() {
		if math.Abs(x-want[name]) > 5.1e-4 {
			t.Errorf("%s is %.4f, want %v", name, x, want[name])
		}
	}
	for c, x := range []float64{0.725, 0.8, 0.454, -1, 0.65, 0.9} {
		if math.Abs(f.Category[c]-x) > 5.1e-4 {
			t.Errorf("category %d has %.4f, want %v", c, f.Category[c], x)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                    "cannot unmarshal array",
		`{}`:                                    "no images: want a COCO file, an object with images, annotations and categories",
		`{"images":[{"id":1,"file_name":"a"}]}`: "no categories: want a COCO file, an object with images, annotations and categories",
		`{"images":[{"id":1,"file_name":"` + strings.Repeat("a", 5000) + `"}],"categories":[{"id":1}]}`:                                                            "image 0 has a file_name of 5000 bytes",
		`{"images":[{"file_name":"a"}],"categories":[{"id":1}]}`:                                                                                                   "image 0 has no id or no file_name",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"name":"x"}]}`:                                                                                        "category 0 has no id",
		`{"images":[{"id":1,"file_name":"a"},{"id":1,"file_name":"b"}],"categories":[{"id":1}]}`:                                                                   "two images have the id 1",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1},{"id":1}]}`:                                                                                   "two categories have the id 1",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1}],"annotations":[{"image_id":2,"category_id":1,"bbox":[1,2,3,4]}]}`:                            "annotation 0 is of image 2, which is not among the images",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1}],"annotations":[{"image_id":1,"category_id":7,"bbox":[1,2,3,4]}]}`:                            "annotation 0 is of category 7, which is not among the categories",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1}],"annotations":[{"image_id":1,"category_id":1,"bbox":[` + strings.Repeat("1,", 1e5) + `1]}]}`: "annotation 0 has the bbox of 100001 numbers, want left, top, width and height",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1}],"annotations":[{"image_id":1,"category_id":1,"bbox":[1,2,-3,4]}]}`:                           "annotation 0 has the bbox [1 2 -3 4], want left, top, width and height",
		`{"images":[{"id":1,"file_name":"a"}],"categories":[{"id":1}],"annotations":[{"image_id":1,"category_id":1,"bbox":[1,2,3,4],"iscrowd":"yes"}]}`:            `iscrowd is "yes", want 0 or 1`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A detection of 32 by 32 pixels is small wherever it is, though its edges are rounded.
func TestSizeAtTheBound(t *testing.T) {
	x := 0.0
	for ; ; x += 0.1 {
		if b := (Box{x, x, x + 32, x + 32}); b.Area() > 32*32 {
			break
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "found.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `[{"image_id":1,"category_id":1,"bbox":[%v,%v,32,32],"score":0.9},{"image_id":1,"category_id":1,"bbox":[200,200,10,10],"score":0.5}]`, x, x), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Read(strings.NewReader(`{"images":[{"id":1,"file_name":"a.png"}],"categories":[{"id":1,"name":"c"}],"annotations":[{"image_id":1,"category_id":1,"bbox":[200,200,10,10]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.LoadDetections(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Evaluate(found)
	if err != nil || f.APSmall != 0.5 {
		t.Errorf("AP small is %v, want 0.5 with a wrong box of 1024 pixels, %v", f.APSmall, err)
	}
}
