package op

// Window is the geometry of a window that slides over the spatial axes of a value [batch, channels, spatial…], with one
// entry for each spatial axis.
type Window struct {
	Weight     int    // the input whose axes 2 and following are the window's; 0: the window is an attribute
	Kernel     []int  // its size, in elements; Call.Window fills in that of a weight, nil where its shape is not known
	Strides    []int  // nil: ones
	Dilations  []int  // nil: ones
	Pads       []int  // what is added at the beginnings of the axes, then at their ends; nil: nothing
	AutoPad    string // ONNX's auto_pad; where it is SAME_UPPER, SAME_LOWER or VALID, Pads do not count
	Transposed bool   // the window is written rather than read: ConvTranspose

	OutputPadding []int // what a transposed one adds at the ends of its output; nil: nothing
	OutputLengths bool  // attributes give the lengths of the output, and padding follows from them

	// With is the call's configuration with another size and another padding.
	With func(kernel, pads []int, autoPad string) Config
}

// Window returns the window that the call slides over input 0, nil if its operator has none.
func (c *Call) Window() *Window {
	if c == nil || c.Op == nil || c.Op.Traits.Window == nil {
		return nil
	}
	w := c.Op.Traits.Window(c)
	if w != nil && w.Weight > 0 {
		w.Kernel = nil
		if c.Has(w.Weight) && c.In[w.Weight].Static() && len(c.In[w.Weight].Shape) > 2 {
			w.Kernel = c.In[w.Weight].Sizes()[2:]
		}
	}
	return w
}

// Draws reports whether the call draws random numbers, see Traits.Draws.
func (c *Call) Draws() bool {
	if c.Op == nil {
		return false
	}
	if f := c.Op.Traits.Draws; f != nil {
		return f(c)
	}
	return c.Op.Random
}
