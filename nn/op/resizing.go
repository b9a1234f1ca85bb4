package op

// Resizing is a call around which sizes change: channels leave or join, and what the call says about lengths must follow,
// in its attributes and in integer inputs that spell lengths out. The trait Resize reads it and sets Config and Set.
type Resizing struct {
	Call    *Call                     // as it was, all shapes with numbers
	In, Out []Resized                 // of inputs and outputs
	Ints    func(i int) ([]int, bool) // integer input i as it is by now, what it is computed from having followed; false: not known

	Config Config        // the new configuration; nil: as it was
	Set    map[int][]int // what integer inputs must hold; an absent input is added
	First  map[int]int   // axes of inputs whose first index is to stand for all of them, which must be equal
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

// Changed is the first axis of input 0 whose length changes, -1 where none does.
func (r *Resizing) Changed() int {
	if len(r.In) == 0 {
		return -1
	}
	for i := range min(len(r.In[0].Old), len(r.In[0].New)) {
		if r.In[0].Old[i] != r.In[0].New[i] {
			return i
		}
	}
	return -1
}

// Put notes what integer input i must hold.
func (r *Resizing) Put(i int, x []int) {
	if r.Set == nil {
		r.Set = map[int][]int{}
	}
	r.Set[i] = x
}

// KeepFirst notes that the first index of an axis of input i is to stand for all.
func (r *Resizing) KeepFirst(i, axis int) {
	if r.First == nil {
		r.First = map[int]int{}
	}
	r.First[i] = axis
}
