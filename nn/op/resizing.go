package op

// Resizing is a call whose inputs or outputs change their shapes, since channels are removed or added.
// Lengths in the call's attributes or integer inputs must follow. Traits.Resize reads it and sets
// Config and Set.
type Resizing struct {
	Call    *Call                     // before the change, with concrete shapes
	In, Out []Resized                 // of inputs and outputs
	Ints    func(i int) ([]int, bool) // returns the current value of integer input i, after the values it depends on have changed; false: unknown

	Config Config        // the new configuration; nil: unchanged
	Set    map[int][]int // new values of integer inputs; an input that is absent is added
	First  map[int]int   // axes of inputs to be reduced to their first index; all indices must be equal
}

// Resized is a value whose shape changes.
type Resized struct {
	Old, New []int   // shape before and after; nil if not known
	Kept     [][]int // by axis: for each index after the change the one before, −1 for a new one; nil: the axis does not change
}

// KeptOn returns Kept for an axis, nil if the axis does not change.
func (r Resized) KeptOn(axis int) []int {
	if axis < 0 || axis >= len(r.Kept) {
		return nil
	}
	return r.Kept[axis]
}

// Changed returns the first axis of input 0 whose length changes, -1 if there is none.
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

// Put sets the new value of integer input i.
func (r *Resizing) Put(i int, x []int) {
	if r.Set == nil {
		r.Set = map[int][]int{}
	}
	r.Set[i] = x
}

// KeepFirst reduces an axis of input i to its first index.
func (r *Resizing) KeepFirst(i, axis int) {
	if r.First == nil {
		r.First = map[int]int{}
	}
	r.First[i] = axis
}
