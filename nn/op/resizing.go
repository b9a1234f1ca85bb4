package op

// Resizing is a call around which sizes change: channels leave or join, and what the call says about lengths must follow,
// in its attributes and in integer inputs that spell lengths out. The trait Resize reads it and sets Config and Set.
type Resizing struct {
	Call    *Call                     // as it was, all shapes with numbers
	In, Out []Resized                 // of inputs and outputs
	Ints    func(i int) ([]int, bool) // integer input i as it is by now, what it is computed from having followed; false: not known

	Config Config        // the new configuration; nil: as it was
	Set    map[int][]int // what integer inputs must hold; an absent input is added
}

// Resized is a value whose axes change.
type Resized struct {
	Old, New []int   // lengths before and after; nil where they are not known
	Kept     [][]int // by axis: the old index of each one after, −1 for a new one; nil: none leaves or joins
}

// KeptOn are the old indices of those that the axis has after; nil: nothing changes there.
func (r Resized) KeptOn(axis int) []int {
	if axis < 0 || axis >= len(r.Kept) {
		return nil
	}
	return r.Kept[axis]
}

// set notes what integer input i must hold.
func (r *Resizing) set(i int, x []int) {
	if r.Set == nil {
		r.Set = map[int][]int{}
	}
	r.Set[i] = x
}

// group is the number of groups that lets inner channels of a weight, axis 1, meet the channels of x.
func (x Resized) group(w Resized, old int) int {
	if len(x.New) < 2 || len(w.New) < 2 {
		return old
	}
	return x.New[1] / max(w.New[1], 1)
}

// resizeShape makes a shape that integer input i spells out, or the last axes of it, the one that output 0 must have; ones
// stay where they stand for any length.
func resizeShape(i int, ones bool) func(r *Resizing) error {
	return func(r *Resizing) error {
		now, ok := r.Ints(i)
		want := r.Out[0].New
		if !ok || want == nil || len(now) > len(want) {
			return nil
		}
		next := append([]int(nil), want[len(want)-len(now):]...)
		for k, x := range now {
			if x == 1 && ones {
				next[k] = 1
			}
		}
		r.set(i, next)
		return nil
	}
}

// resizing are the traits with how the operator follows a change of sizes, and the input that spells out its shape, if any.
func (t Traits) resizing(shape int, f func(r *Resizing) error) Traits {
	t.ShapeInput, t.Resize = shape, f
	return t
}
