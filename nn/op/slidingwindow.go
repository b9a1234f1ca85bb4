package op

// Window is the geometry of a window that slides over the spatial axes of a value [batch, channels, spatial…]. Slices
// have one element for each spatial axis.
type Window struct {
	Weight     int    // the input whose axes from 2 on are the window's; 0: the window is an attribute
	Kernel     []int  // its size in elements; Call.Window takes it from the weight, nil if the weight's shape is unknown
	Strides    []int  // nil: ones
	Dilations  []int  // nil: ones
	Pads       []int  // padding at the beginning of each axis, then at the end of each; nil: none
	AutoPad    string // ONNX's auto_pad; if it is SAME_UPPER, SAME_LOWER or VALID, Pads is ignored
	Transposed bool   // the window is written rather than read, as in ConvTranspose

	OutputPadding []int // of a transposed window: padding at the end of the output; nil: none
	OutputLengths bool  // attributes give the lengths of the output, from which padding follows

	// With returns the call's configuration with another window size and padding.
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
