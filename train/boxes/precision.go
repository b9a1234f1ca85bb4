package boxes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Detection is a detected box.
type Detection struct {
	Box
	Category int     // index in Set.Categories
	Score    float64 // confidence
	FileArea float64 // width times height in the results file, before their conversion to edges with rounding; 0: the area of Box
}

// area returns the area that decides the size range of a detection.
func (d Detection) area() float64 {
	if d.FileArea > 0 {
		return d.FileArea
	}
	return d.Area()
}

// Figures are COCO's twelve metrics; −1 if there is nothing to evaluate. AP is the precision averaged over 101 recalls
// from 0 to 1, over the categories and, unless named otherwise, over IoU thresholds from 0.5 to 0.95 in steps of 0.05;
// AR is the largest recall, averaged in the same way. Objects are small below 32² pixels and large from 96² pixels.
type Figures struct {
	AP, AP50, AP75             float64   // with at most 100 boxes per image and category
	APSmall, APMedium, APLarge float64   // AP by the area of the objects
	AR1, AR10, AR100           float64   // with at most that many boxes
	ARSmall, ARMedium, ARLarge float64   // AR100 by the area of the objects
	Category                   []float64 // AP of each category
	Category50                 []float64 // AP50 of each category
}

// recalls is the number of recalls at which precision is read; lowest and highest are the IoU thresholds. Computing with variables
// rounds as in NumPy, which matters if a recall equals one of the steps.
const recalls = 101

var lowest, highest, step = 0.5, 0.95, 0.01

// areas are the size ranges: all, small, medium, large.
var areas = [4][2]float64{{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}

// counts are the maximum numbers of boxes per image and category that are evaluated.
var counts = [3]int{1, 10, 100}

// Evaluate evaluates detections, one list for each image of the set.
func (s *GroundTruth) Evaluate(found [][]Detection) (Figures, error) {
	if len(found) != len(s.Images) {
		return Figures{}, fmt.Errorf("boxes: detections of %d images for a set of %d", len(found), len(s.Images))
	}
	k := len(s.Categories)
	truth, guess := make([][][]Truth, k), make([][][]Detection, k) // by category and image
	for c := range k {
		truth[c], guess[c] = make([][]Truth, len(found)), make([][]Detection, len(found))
	}
	for i, p := range s.Images {
		for _, t := range p.Truth {
			truth[t.Category][i] = append(truth[t.Category][i], t)
		}
		for _, d := range found[i] {
			if d.Category < 0 || d.Category >= k || math.IsNaN(d.Score) {
				return Figures{}, fmt.Errorf("boxes: image %s: a detection of category %d with the score %v, there are %d categories", p.File, d.Category, d.Score, k)
			}
			guess[d.Category][i] = append(guess[d.Category][i], d)
		}
	}
	var f Figures
	var all [4]means // by area
	var few [2]means // with fewer boxes
	var at50, at75 mean
	for c := range k {
		for i := range guess[c] {
			slices.SortStableFunc(guess[c][i], func(a, b Detection) int { return cmp.Compare(b.Score, a.Score) })
			guess[c][i] = guess[c][i][:min(len(guess[c][i]), counts[2])]
		}
		var own, own50 mean
		for a, area := range areas {
			for t := range 10 {
				limit := lowest + float64(t)*((highest-lowest)/9)
				p, r := averagePrecision(truth[c], guess[c], limit, area, counts[2])
				all[a].precision.add(p)
				all[a].recall.add(r)
				if a > 0 {
					continue
				}
				own.add(p)
				if t == 0 {
					at50.add(p)
					own50.add(p)
				}
				if t == 5 {
					at75.add(p)
				}
				for n := range few {
					_, r := averagePrecision(truth[c], guess[c], limit, area, counts[n])
					few[n].recall.add(r)
				}
			}
		}
		f.Category, f.Category50 = append(f.Category, own.value()), append(f.Category50, own50.value())
	}
	f.AP, f.AP50, f.AP75 = all[0].precision.value(), at50.value(), at75.value()
	f.APSmall, f.APMedium, f.APLarge = all[1].precision.value(), all[2].precision.value(), all[3].precision.value()
	f.AR1, f.AR10, f.AR100 = few[0].recall.value(), few[1].recall.value(), all[0].recall.value()
	f.ARSmall, f.ARMedium, f.ARLarge = all[1].recall.value(), all[2].recall.value(), all[3].recall.value()
	return f, nil
}

type means struct{ precision, recall mean }

// mean averages values, except those below 0, which stand for nothing to evaluate.
type mean struct{ sum, n float64 }

func (m *mean) add(x float64) {
	if x >= 0 {
		m.sum, m.n = m.sum+x, m.n+1
	}
}

func (m mean) value() float64 {
	if m.n == 0 {
		return -1
	}
	return m.sum / m.n
}

// averagePrecision returns the mean precision and the largest recall of one category at one threshold, −1 if there is no object of that size.
func averagePrecision(truth [][]Truth, guess [][]Detection, limit float64, area [2]float64, most int) (precision, recall float64) {
	var list []match
	objects := 0
	for i := range truth {
		got, n := matches(truth[i], guess[i][:min(len(guess[i]), most)], limit, area)
		list, objects = append(list, got...), objects+n
	}
	if objects == 0 {
		return -1, -1
	}
	slices.SortStableFunc(list, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	right, reached := 0, make([]float64, 0, len(list)) // the recall after each detection
	exact := make([]float64, 0, len(list))
	for i, m := range list {
		if m.right {
			right++
		}
		reached, exact = append(reached, float64(right)/float64(objects)), append(exact, float64(right)/float64(i+1))
	}
	for i := len(exact) - 2; i >= 0; i-- { // a later detection may be more precise
		exact[i] = max(exact[i], exact[i+1])
	}
	sum := 0.0
	for k := range recalls {
		if at, _ := slices.BinarySearch(reached, float64(k)*step); at < len(exact) {
			sum += exact[at]
		}
	}
	if len(reached) > 0 {
		recall = reached[len(reached)-1]
	}
	return sum / recalls, recall
}

// match is a detection that is counted as right or wrong.
type match struct {
	score float64
	right bool
}

// matches assigns to each detection, in descending order of score, the unassigned object with the largest IoU of at least limit.
// Crowds and objects outside the size range are ignored and assigned last; detections assigned to them, and unassigned ones outside
// the size range, are ignored, too. n is the number of objects that are not ignored.
func matches(truth []Truth, guess []Detection, limit float64, area [2]float64) (list []match, n int) {
	out := func(a float64) bool { return a < area[0] || a > area[1] }
	passed := make([]bool, len(truth))
	for i, t := range truth {
		if passed[i] = t.Crowd || out(t.Area); !passed[i] {
			n++
		}
	}
	taken := make([]bool, len(truth))
	for _, d := range guess {
		best, at := min(limit, 1-1e-10), -1
		for _, second := range []bool{false, true} {
			if at >= 0 {
				break
			}
			for i, t := range truth {
				if passed[i] != second || taken[i] && !t.Crowd {
					continue
				}
				o := d.IoU(t.Box)
				if t.Crowd && d.Area() > 0 {
					o = d.overlap(t.Box) / d.Area()
				}
				if o >= best {
					best, at = o, i
				}
			}
		}
		if at >= 0 {
			taken[at] = true
		}
		if at >= 0 && passed[at] || at < 0 && out(d.area()) {
			continue
		}
		list = append(list, match{d.Score, at >= 0})
	}
	return list, n
}
