package boxes

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// TestReader reads one box, left 10, top 20, right 50, bottom 100 of an image of 200 by 100 that was stretched to 100 by 100, in the
// forms that detectors give it in.
func TestReader(t *testing.T) {
	two := []Category{{1, "cat"}, {2, "dog"}}
	stretched := data.Placement{Width: 100, Height: 100, ScaleX: 0.5, ScaleY: 1}
	floats := func(name string, shape []int, v ...float64) Output {
		return Output{Name: name, Shape: shape, Values: v}
	}
	whole := func(name string, shape []int, v ...float64) Output { return Output{name, shape, v, true} }
	// Three candidates: the box, another that overlaps it, one far away of the other class; columns x, y, w, h and scores.
	columns := [][]float64{{15, 15.5, 75}, {60, 60, 30}, {20, 20, 10}, {80, 80, 10}, {0.9, 0.8, 0}, {0, 0, 0.4}}
	flat := func(rows [][]float64, turned bool) (v []float64) {
		if !turned {
			return slices.Concat(rows...)
		}
		for i := range rows[0] {
			for _, r := range rows {
				v = append(v, r[i])
			}
		}
		return v
	}
	padded := make([][]float64, len(columns)) // more candidates than columns
	for i, c := range columns {
		padded[i] = append(slices.Clone(c), make([]float64, 9)...)
	}
	five := slices.Insert(slices.Clone(padded), 4, append([]float64{1, 1, 1}, make([]float64, 9)...))
	for name, x := range map[string]struct {
		out    []Output
		reader Decoder
		at     data.Placement
		how    string
		boxes  int
	}{
		"torchvision":       {out: []Output{floats("boxes", []int{1, 4}, 5, 20, 25, 100), whole("labels", []int{1}, 2), floats("scores", []int{1}, 0.9)}, how: "xyxy in pixels of the input, classes are the ids of the categories", boxes: 1},
		"from zero":         {out: []Output{floats("boxes", []int{2, 4}, 5, 20, 25, 100, 70, 25, 80, 35), whole("labels", []int{2}, 1, 0), floats("scores", []int{2}, 0.9, 0.4)}, how: "xyxy in pixels of the input, the first category is class 0", boxes: 2},
		"TensorFlow's zoo":  {out: []Output{floats("detection_boxes:0", []int{1, 2, 4}, 0.2, 0.05, 1, 0.25, 0, 0, 1, 1), floats("detection_classes:0", []int{1, 2}, 2, 1), floats("detection_scores:0", []int{1, 2}, 0.9, 0.5), floats("num_detections:0", []int{1}, 1)}, how: "yxyx in fractions of the input, classes are the ids of the categories", boxes: 1},
		"rows of six":       {out: []Output{floats("output0", []int{1, 2, 6}, 5, 20, 25, 100, 0.9, 1, 70, 25, 80, 35, 0.4, 0)}, how: "xyxy in pixels of the input, the first category is class 0", boxes: 2},
		"YOLO":              {out: []Output{floats("output0", []int{1, 6, 12}, flat(padded, false)...)}, how: "cxcywh in pixels of the input, the first category is class 0", boxes: 2, reader: Decoder{First: new(int), Categories: []Category{{1, "dog"}, {2, "cat"}}}},
		"YOLO, five":        {out: []Output{floats("output", []int{1, 12, 7}, flat(five, true)...)}, how: "cxcywh in pixels of the input, classes by the model's names", boxes: 2, reader: Decoder{Names: []string{"Dog", "CAT"}}},
		"candidates":        {out: []Output{floats("scores", []int{1, 3, 3}, 0.1, 0, 0.9, 0.2, 0, 0.8, 0.6, 0.4, 0), floats("boxes", []int{1, 3, 4}, 0.05, 0.2, 0.25, 1, 0.055, 0.2, 0.255, 1, 0.7, 0.25, 0.8, 0.35)}, how: "xyxy in fractions of the input, class 0 is the background", boxes: 2},
		"queries":           {out: []Output{floats("pred_logits", []int{1, 2, 3}, -9, 5, 0, 3, -9, 2), floats("pred_boxes", []int{1, 2, 4}, 0.15, 0.6, 0.2, 0.8, 0.75, 0.3, 0.1, 0.1)}, how: "cxcywh in fractions of the input, the first category is class 0", boxes: 2},
		"letterbox":         {out: []Output{floats("boxes", []int{1, 4}, 5, 35, 25, 75), whole("labels", []int{1}, 2), floats("scores", []int{1}, 0.9)}, at: data.Placement{Width: 100, Height: 100, ScaleX: 0.5, ScaleY: 0.5, Top: 25}, how: "xyxy in pixels of the input, classes are the ids of the categories", boxes: 1},
		"order that is set": {out: []Output{floats("boxes", []int{1, 4}, 5, 20, 20, 80), whole("labels", []int{1}, 2), floats("scores", []int{1}, 0.9)}, reader: Decoder{Order: "xywh"}, how: "xywh in pixels of the input, classes are the ids of the categories", boxes: 1},
	} {
		r, at := x.reader, x.at
		if r.Categories == nil {
			r.Categories = two
		}
		if at.Width == 0 {
			at = stretched
		}
		if err := r.Add(x.out, at); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found, how, err := r.Detections()
		if err != nil || how != x.how || len(found) != 1 || len(found[0]) != x.boxes {
			t.Errorf("%s: %v, %s, %v; want %d boxes, %s", name, found, how, err, x.boxes, x.how)
			continue
		}
		d := found[0][0]
		got, want := []float64{d.X0, d.Y0, d.X1, d.Y1}, []float64{10, 20, 50, 100}
		for i, v := range got {
			if math.Abs(v-want[i]) > 1e-9 {
				t.Errorf("%s: %v, want %v", name, got, want)
				break
			}
		}
		if r.Categories[d.Category].Name != "dog" {
			t.Errorf("%s: category %d", name, d.Category)
		}
	}
}

func TestReaderRefuses(t *testing.T) {
	floats := func(name string, shape ...int) Output {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return Output{Name: name, Shape: shape, Values: make([]float64, n)}
	}
	for want, out := range map[string][]Output{
		"the model gives scores [10]: want boxes [N,4] beside scores [N] and classes [N], or scores [N,classes]; or one output of candidates": {floats("scores", 1, 10)},
		"the model gives boxes [7 4], y [5]: there is no score for each of 7 boxes":                                                           {floats("boxes", 7, 4), floats("y", 5)},
		"the output y is [9 30]: want 4 or 5 numbers and a score for each of 2 categories":                                                    {floats("y", 1, 9, 30)},
		"the model has scores for 7 classes, there are 2 categories with ids up to 12":                                                        {floats("boxes", 1, 5, 4), floats("scores", 1, 5, 7)},
	} {
		r := Decoder{Categories: []Category{{1, "a"}, {12, "b"}}}
		if err := r.Add(out, data.Placement{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestReaderRaw refuses offsets from anchors and heads of several scales, which would be averagePrecision as boxes that nobody meant; the boxes that
// TensorFlow's zoo gives beside the chosen ones are no such heads, and neither are a few bad ones among many.
func TestReaderRaw(t *testing.T) {
	outputs := func(inverted int) []Output {
		b, s := Output{Name: "boxes", Shape: []int{1, 100, 4}}, Output{Name: "scores", Shape: []int{1, 100, 2}}
		for i := range 100 {
			size := 5.0
			if i < inverted {
				size = -1
			}
			x := float64(10 * i)
			b.Values, s.Values = append(b.Values, x, 1, x+size, 1+size), append(s.Values, 0.5, 0.5)
		}
		return []Output{b, s}
	}
	zeros := func(name string, shape ...int) Output {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return Output{Name: name, Shape: shape, Values: make([]float64, n)}
	}
	zoo := []Output{zeros("detection_boxes", 1, 10, 4), zeros("detection_classes", 1, 10), zeros("detection_scores", 1, 10), zeros("raw_detection_boxes", 1, 50, 4)}
	for name, x := range map[string]struct {
		out   []Output
		order string
		want  string
	}{
		"corners":         {outputs(0), "", ""},
		"a few":           {outputs(9), "", ""},
		"corners, raw":    {outputs(60), "xyxy", "read as xyxy, 60 of 100 boxes have a negative size"},
		"zoo":             {zoo, "", ""},
		"scales":          {[]Output{zeros("cls_8", 1, 16, 1), zeros("cls_16", 1, 4, 1), zeros("bbox_8", 1, 16, 4), zeros("bbox_16", 1, 4, 4)}, "", "boxes of several scales, bbox_8 [16 4], bbox_16 [4 4]"},
		"center and size": {outputs(0), "cxcywh", ""},
	} {
		r := Decoder{Categories: []Category{{1, "face"}}, Order: x.order}
		err := r.Add(x.out, data.Placement{Width: 1000, Height: 1000, ScaleX: 1, ScaleY: 1})
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	b := outputs(0) // offsets around 0
	for i := range b[0].Values {
		b[0].Values[i] = float64(i%7 - 3)
	}
	r := Decoder{Categories: []Category{{1, "face"}}}
	if err := r.Add(b, data.Placement{}); err == nil || !strings.Contains(err.Error(), "still to be decoded") {
		t.Errorf("offsets: %v", err)
	}
}
