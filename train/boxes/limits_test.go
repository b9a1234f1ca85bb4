package boxes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// TestBoxes checks areas and intersections of boxes computed by hand.
func TestBoxes(t *testing.T) {
	a := Box{0, 0, 2, 1}
	for _, c := range []struct {
		b             Box
		area, overlap float64
		iou           float64
	}{
		{Box{0, 0, 1, 1}, 1, 1, 0.5}, {Box{1, 0, 3, 1}, 2, 1, 1. / 3}, {Box{2, 0, 3, 1}, 1, 0, 0}, {Box{0, 1, 2, 2}, 2, 0, 0}, {Box{0, 0.5, 2, 1.5}, 2, 1, 1. / 3}, {Box{1, 1, 0, 2}, 0, 0, 0}, {Box{1, 0.5, 1, 0.5}, 0, 0, 0}, {a, 2, 2, 1},
	} {
		if c.b.Area() != c.area || a.overlap(c.b) != c.overlap || math.Abs(a.IoU(c.b)-c.iou) > 1e-12 || a.IoU(c.b) != c.b.IoU(a) {
			t.Errorf("%v has area %v, overlap %v, IoU %v", c.b, c.b.Area(), a.overlap(c.b), a.IoU(c.b))
		}
	}
}

// A detection that overlaps an object by the threshold exactly has found it; of two that it overlaps alike it takes the later.
func TestMatches(t *testing.T) {
	object := func(x0, x1 float64) Truth { return Truth{Box: Box{x0, 0, x1, 1}, Area: x1 - x0} }
	crowd := object(0, 100)
	crowd.Crowd = true
	found := func(score, x0, x1 float64) Detection { return Detection{Box: Box{x0, 0, x1, 1}, Score: score} }
	all := [2]float64{0, 1e10}
	for name, c := range map[string]struct {
		truth   []Truth
		guess   []Detection
		limit   float64
		area    [2]float64
		want    string
		objects int
	}{
		"exactly":                     {[]Truth{object(0, 1)}, []Detection{found(0.9, 0, 2)}, 0.5, all, "[{0.9 true}]", 1},
		"just below":                  {[]Truth{object(0, 1)}, []Detection{found(0.9, 0, 2.01)}, 0.5, all, "[{0.9 false}]", 1},
		"the same, at 1":              {[]Truth{object(0, 1)}, []Detection{found(0.9, 0, 1)}, 1, all, "[{0.9 true}]", 1},
		"two alike, the later first":  {[]Truth{object(0, 1), object(2, 3)}, []Detection{found(0.9, 0, 3), found(0.8, 0, 1)}, 0.3, all, "[{0.9 true} {0.8 true}]", 2},
		"twice":                       {[]Truth{object(0, 1)}, []Detection{found(0.9, 0, 1), found(0.8, 0, 1)}, 0.5, all, "[{0.9 true} {0.8 false}]", 1},
		"the better one":              {[]Truth{object(0, 2), object(0, 1)}, []Detection{found(0.9, 0, 1)}, 0.5, all, "[{0.9 true}]", 2},
		"in a crowd":                  {[]Truth{crowd}, []Detection{found(0.9, 3, 4), found(0.8, 5, 6), found(0.7, 99.5, 101)}, 0.5, all, "[{0.7 false}]", 0},
		"before a crowd":              {[]Truth{crowd, object(3, 5)}, []Detection{found(0.9, 3, 4)}, 0.5, all, "[{0.9 true}]", 1},
		"an object of another size":   {[]Truth{object(0, 10)}, []Detection{found(0.9, 0, 10)}, 0.5, [2]float64{0, 5}, "[]", 0},
		"at the end of the sizes":     {[]Truth{object(0, 5)}, []Detection{found(0.9, 0, 5)}, 0.5, [2]float64{0, 5}, "[{0.9 true}]", 1},
		"at the beginning":            {[]Truth{object(0, 5)}, []Detection{found(0.9, 0, 5)}, 0.5, [2]float64{5, 9}, "[{0.9 true}]", 1},
		"nothing, of another size":    {[]Truth{object(0, 1)}, []Detection{found(0.9, 20, 40), found(0.8, 20, 21)}, 0.5, [2]float64{0, 5}, "[{0.8 false}]", 1},
		"nothing is there, and found": {nil, []Detection{found(0.9, 20, 21)}, 0.5, all, "[{0.9 false}]", 0},
	} {
		list, n := matches(c.truth, c.guess, c.limit, c.area)
		if got := fmt.Sprint(list); got != c.want || n != c.objects {
			t.Errorf("%s: %s of %d objects, want %s of %d", name, got, n, c.want, c.objects)
		}
	}
	// Half of the recalls have precision 1, the others that of two in three.
	p, r := averagePrecision([][]Truth{{object(0, 1), object(2, 3)}}, [][]Detection{{found(0.9, 0, 1), found(0.8, 5, 6), found(0.7, 2, 3)}}, 0.5, all, 100)
	if want := (51 + 50*2./3) / 101; math.Abs(p-want) > 1e-12 || r != 1 {
		t.Errorf("precision %v, recall %v, want %v and 1", p, r, want)
	}
	if p, r := averagePrecision([][]Truth{{object(0, 1)}}, [][]Detection{nil}, 0.5, all, 100); p != 0 || r != 0 {
		t.Errorf("of nothing: precision %v, recall %v", p, r)
	}
	if p, r := averagePrecision([][]Truth{{object(0, 1)}}, [][]Detection{{found(0.9, 5, 6), found(0.8, 0, 1)}}, 0.5, all, 1); p != 0 || r != 0 {
		t.Errorf("of the first alone: precision %v, recall %v", p, r)
	}
	if p, r := averagePrecision([][]Truth{nil}, [][]Detection{{found(0.9, 5, 6)}}, 0.5, all, 1); p != -1 || r != -1 {
		t.Errorf("without objects: precision %v, recall %v", p, r)
	}
	set := &GroundTruth{Categories: make([]Category, 2), Images: []Image{{File: "a.png"}}}
	for d, want := range map[Detection]string{{Category: 2}: "a detection of category 2", {Category: -1}: "a detection of category -1", {Category: 1, Score: math.NaN()}: "with the score NaN", {Category: 1}: "", {}: ""} {
		if _, err := set.Evaluate([][]Detection{{d}}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", d, err, want)
		}
	}
	if _, err := set.Evaluate(nil); err == nil {
		t.Error("no image for one")
	}
}

// TestShapesAndOrders checks shapes of outputs, and the meaning of the four numbers of a box.
func TestShapesAndOrders(t *testing.T) {
	for _, c := range []struct {
		o    Output
		want string
	}{
		{Output{Shape: []int{1, 1, 5, 4}}, "[5 4]"}, {Output{Shape: []int{1, 4}}, "[1 4]"}, {Output{Shape: []int{1, 1, 4}}, "[1 4]"}, {Output{Shape: []int{1, 4}, Name: "Scores"}, "[4]"}, {Output{Shape: []int{1, 4}, Integer: true}, "[4]"},
		{Output{Shape: []int{1, 3}}, "[3]"}, {Output{Shape: []int{1}}, "[1]"}, {Output{Shape: []int{2, 1, 4}}, "[2 1 4]"}, {Output{}, "[]"},
	} {
		if c.o.squeeze(); fmt.Sprint(c.o.Shape) != c.want {
			t.Errorf("%v, want %s", c.o.Shape, c.want)
		}
	}
	head := func(name string, n int) Output { return Output{Name: name, Shape: []int{n, 4}} }
	for _, c := range []struct {
		out  []Output
		fail bool
	}{
		{[]Output{head("a", 3)}, false}, {[]Output{head("a", 3), head("b", 3)}, false}, {[]Output{head("a", 3), head("b", 5)}, true}, {[]Output{head("a", 3), head("b", 3), head("c", 5)}, true},
		{[]Output{head("a", 3), head("scores", 5)}, false}, {[]Output{head("a", 3), {Shape: []int{5, 4}, Integer: true}}, false}, {[]Output{head("a", 3), {Shape: []int{5, 5}}}, false}, {nil, false},
	} {
		if err := scales(c.out); (err != nil) != c.fail {
			t.Errorf("%v: %v", c.out, err)
		}
	}
	upright, inverted := []float64{1, 2, 3, 4}, []float64{5, 5, 2, 9}
	list := func(wrong, all int) (v []float64) {
		for i := range all {
			if i < wrong {
				v = append(v, inverted...)
			} else {
				v = append(v, upright...)
			}
		}
		return v
	}
	for _, c := range []struct {
		o    Output
		set  string
		want string
	}{
		{Output{Values: list(0, 3)}, "", "xyxy"}, {Output{Values: list(1, 10)}, "", "xyxy"}, {Output{Values: list(2, 19)}, "", "cxcywh"}, {Output{Values: list(1, 1)}, "", "cxcywh"}, {Output{Values: []float64{3, 9, 4, 5}}, "", "cxcywh"},
		{Output{Values: []float64{3, 3, 3, 3}}, "", "xyxy"}, {Output{Name: "detection_boxes:0", Values: list(1, 1)}, "", "yxyx"}, {Output{Name: "Pred_Boxes", Values: list(0, 1)}, "", "cxcywh"}, {Output{Values: list(1, 1)}, "xywh", "xywh"}, {Output{}, "", ""},
	} {
		r := Decoder{Order: c.set}
		if r.orient(c.o, "xyxy"); r.Order != c.want {
			t.Errorf("%v: %q, want %q", c.o, r.Order, c.want)
		}
	}
	for order, want := range map[string]Box{"xyxy": {1, 2, 3, 4}, "yxyx": {2, 1, 4, 3}, "xywh": {1, 2, 4, 6}, "cxcywh": {-0.5, 0, 2.5, 4}} {
		r := Decoder{Order: order, classes: 3}
		if got := r.keep(nil, []float64{1, 2, 3, 4}, 2, 0.5); len(got) != 1 || got[0] != (Detection{Box: want, Category: 2, Score: 0.5}) {
			t.Errorf("%s: %v, want %v", order, got, want)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	r := Decoder{Categories: []Category{{ID: 1}, {ID: 5}}, unknown: -1}
	var got []Detection
	for _, c := range []struct {
		v     []float64
		score float64
		class int
		kept  bool
	}{
		{[]float64{1, 2, 3, 4}, 0.5, 1, true}, {[]float64{1, 2, 1, 2}, 0.5, 5, true}, {[]float64{1, 2, 3, 4}, 0, 1, false}, {[]float64{1, 2, 3, 4}, -1, 1, false}, {[]float64{1, 2, 3, 4}, nan, 1, false}, {[]float64{1, 2, nan, 4}, 1, 1, false}, {[]float64{1, 2, 3, inf}, 1, 1, false},
		{[]float64{3, 2, 1, 4}, 0.5, 1, false}, {[]float64{1, 4, 3, 2}, 0.5, 1, false},
	} {
		n := len(got)
		if got = r.keep(got, c.v, c.class, c.score); (len(got) > n) != c.kept {
			t.Errorf("%v with score %v is kept: %v", c.v, c.score, !c.kept)
		}
	}
	if r.upright != 2 || r.inverted != 2 || r.zero || r.unknown != -1 {
		t.Errorf("%d upright, %d inverted, zero %v, unknown %d", r.upright, r.inverted, r.zero, r.unknown)
	}
	r.keep(nil, upright, 0, 1)
	r.keep(nil, upright, 4, 1)
	r.keep(nil, upright, 3, 1)
	if !r.zero || r.unknown != 4 {
		t.Errorf("zero %v, unknown %d", r.zero, r.unknown)
	}
	for _, c := range []struct {
		upright, inverted int
		fail              bool
	}{{18, 2, false}, {18, 3, true}, {27, 3, false}, {26, 3, true}, {0, 0, false}} {
		if err := (&Decoder{upright: c.upright, inverted: c.inverted}).decoded(few); (err != nil) != c.fail {
			t.Errorf("%d of %d inverted: %v", c.inverted, c.upright+c.inverted, err)
		}
	}
}

// TestClassesOfDetectors checks which class is background, and how classes are mapped to categories.
func TestClassesOfDetectors(t *testing.T) {
	three := []Category{{ID: 2, Name: "cat"}, {ID: 5, Name: "dog"}, {ID: 9, Name: "cow"}}
	first := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		r      Decoder
		none   int
		places string // of the classes 0 to 9
		how    string
	}{
		"as many":            {Decoder{classes: 3}, -1, "0 1 2 . . . . . . .", "the first category is class 0"},
		"one more":           {Decoder{classes: 4}, 0, ". 0 1 2 . . . . . .", "class 0 is the background"},
		"one more, logits":   {Decoder{classes: 4, logits: true}, 3, "0 1 2 . . . . . . .", "the first category is class 0"},
		"by number":          {Decoder{classes: 10}, 0, ". . 0 . . 1 . . . 2", "classes are the ids of the categories"},
		"by number, logits":  {Decoder{classes: 11, logits: true}, 10, ". . 0 . . 1 . . . 2", "classes are the ids of the categories"},
		"first is told":      {Decoder{classes: 5, First: first(2)}, -1, ". . 0 1 2 . . . . .", "the first category is class 2"},
		"names":              {Decoder{classes: 2, Names: []string{"COW", "horse", "cat"}}, -1, "2 . 0 . . . . . . .", "classes by the model's names"},
		"numbers":            {Decoder{unknown: -1}, -1, ". . 0 . . 1 . . . 2", "classes are the ids of the categories"},
		"numbers from 0":     {Decoder{unknown: 1, zero: true}, -1, "0 1 2 . . . . . . .", "the first category is class 0"},
		"numbers, unknown 7": {Decoder{unknown: 7}, -1, ". . 0 . . 1 . . . 2", "classes are the ids of the categories, which lack 7"},
	} {
		c.r.Categories = three
		if c.r.classes > 0 {
			if none, err := c.r.background(); err != nil || none != c.none {
				t.Errorf("%s: class %d is none, %v, want %d", name, none, err, c.none)
			}
		}
		place, how := c.r.places()
		var got []string
		for class := range 10 {
			s := "."
			if k, ok := place(class); ok {
				s = fmt.Sprint(k)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.places || how != c.how {
			t.Errorf("%s: %s, %s", name, s, how)
		}
		if _, ok := place(-1); ok {
			t.Errorf("%s: class -1 is a category", name)
		}
	}
	for _, classes := range []int{2, 5, 9} {
		if _, err := (&Decoder{Categories: three, classes: classes}).background(); err == nil || err.Error() != fmt.Sprintf("boxes: the model has scores for %d classes, there are 3 categories with ids up to 9", classes) {
			t.Errorf("%d classes: %v", classes, err)
		}
	}
	p := []float64{0, math.Log(3), 0}
	probabilities(p, true)
	if q := []float64{0.2, 0.6, 0.2}; slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool { return math.Abs(p[i]-q[i]) > 1e-12 }) {
		t.Errorf("shares %v", p)
	}
	p = []float64{0, math.Log(3)}
	probabilities(p, false)
	if math.Abs(p[0]-0.5) > 1e-12 || math.Abs(p[1]-0.75) > 1e-12 {
		t.Errorf("probabilities %v", p)
	}
}

// TestSuppressed checks that boxes that overlap a higher-scoring one by more than the limit are
// dropped, and that at most 300 are kept.
func TestSuppressed(t *testing.T) {
	at := func(score, x0, x1 float64) Detection { return Detection{Box: Box{x0, 0, x1, 1}, Score: score} }
	got := suppressed([]Detection{at(0.5, 0, 1), at(0.9, 0, 2), at(0.7, 0, 1.5), at(0.6, 5, 6)}, 0.5)
	if fmt.Sprint(got) != fmt.Sprint([]Detection{at(0.9, 0, 2), at(0.6, 5, 6), at(0.5, 0, 1)}) {
		t.Errorf("%v", got)
	}
	var many []Detection
	for i := range most + 5 {
		many = append(many, at(float64(i), float64(2*i), float64(2*i+1)))
	}
	if got := suppressed(many, 0.5); len(got) != most || got[0].Score != most+4 || got[most-1].Score != 5 {
		t.Errorf("%d are kept, %v to %v", len(got), got[0], got[len(got)-1])
	}
}

// TestRowsOfOneOutput checks single outputs: rows of six columns are box, score and class of up to a
// thousand detections; otherwise they are candidates, in rows or columns.
func TestRowsOfOneOutput(t *testing.T) {
	two := []Category{{ID: 1}, {ID: 2}}
	rows := func(n, columns int, row ...float64) Output {
		o := Output{Name: "out", Shape: []int{n, columns}, Values: make([]float64, n*columns)}
		copy(o.Values, row)
		return o
	}
	for name, c := range map[string]struct {
		o    Output
		want string
		err  string
	}{
		"six of 1000":  {rows(1000, 6, 1, 2, 3, 4, 0.9, 1), "[{{1 2 3 4} 1 0.9}] xyxy", ""},
		"six of 1001":  {rows(1001, 6, 4, 4, 2, 2, 0.9, 0.8), "[{{3 3 5 5} 0 0.9} {{3 3 5 5} 1 0.8}] cxcywh", ""},
		"a score more": {rows(9, 7, 4, 4, 2, 2, 0.5, 0.9, 0.8), "[{{3 3 5 5} 0 0.45} {{3 3 5 5} 1 0.4}] cxcywh", ""},
		"columns":      {Output{Name: "out", Shape: []int{6, 7}, Values: []float64{4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0.9, 0, 0, 0, 0, 0, 0, 0.0005, 0, 0, 0, 0, 0, 0}}, "[{{3 3 5 5} 0 0.9}] cxcywh", ""},
		"eight":        {rows(9, 8), "", "boxes: the output out is [9 8]: want 4 or 5 numbers and a score for each of 2 categories"},
	} {
		r := Decoder{Categories: two}
		got, err := r.single(c.o)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var list []string
		for _, d := range got {
			list = append(list, fmt.Sprint("{", d.Box, " ", d.Category, " ", d.Score, "}"))
		}
		if s := fmt.Sprint(list, " ", r.Order); err != nil || s != c.want {
			t.Errorf("%s: %s, %v, want %s", name, s, err, c.want)
		}
	}
	names := Decoder{Categories: two, Names: []string{"a", "b", "c"}}
	if got, err := names.single(rows(9, 7, 4, 4, 2, 2, 0.9, 0.8, 0.7)); err != nil || len(got) != 3 {
		t.Errorf("three names: %v, %v", got, err)
	}
}

// TestPlacesOnImages checks how many boxes count, and their coordinates on the image.
func TestPlacesOnImages(t *testing.T) {
	for n, want := range map[float64]int{-1: 0, 0: 0, 1: 1, 3: 3, 7: 3} {
		r := Decoder{Categories: []Category{{ID: 1}}}
		out := []Output{{Name: "boxes", Shape: []int{3, 4}, Values: []float64{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}}, {Name: "classes", Shape: []int{3}, Values: []float64{1, 1, 1}}, {Name: "scores", Shape: []int{3}, Values: []float64{0.5, 0.5, 0.5}}, {Name: "num_detections", Shape: []int{1}, Values: []float64{n}}}
		if err := r.Add(out, data.Placement{ScaleX: 1, ScaleY: 1, Width: 10, Height: 10}); err != nil {
			t.Fatal(err)
		}
		if got, _, err := r.Detections(); err != nil || len(got[0]) != want {
			t.Errorf("%v count: %v, %v", n, got, err)
		}
	}
	for farthest, unit := range map[float64]string{2: "fractions", 2.5: "pixels"} {
		r := Decoder{Categories: []Category{{ID: 1}}}
		out := []Output{{Name: "boxes", Shape: []int{1, 4}, Values: []float64{0.25, 0.5, farthest, farthest}}, {Name: "classes", Shape: []int{1}, Values: []float64{1}}, {Name: "scores", Shape: []int{1}, Values: []float64{0.5}}}
		if err := r.Add(out, data.Placement{ScaleX: 2, ScaleY: 2, Width: 40, Height: 50, Left: 1, Top: 0}); err != nil {
			t.Fatal(err)
		}
		got, how, err := r.Detections()
		if err != nil || how != "xyxy in "+unit+" of the input, classes are the ids of the categories" {
			t.Fatal(how, err)
		}
		b := got[0][0].Box
		w, h := 1.0, 1.0
		if farthest <= 2 {
			w, h = 40, 50
		}
		v := out[0].Values
		if b != (Box{(v[0]*w - 1) / 2, v[1] * h / 2, (v[2]*w - 1) / 2, v[3] * h / 2}) {
			t.Errorf("the box is at %v", b)
		}
	}
}
