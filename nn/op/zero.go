package op

// ZeroInputs reports whether the slices of input i along the axes that correspond to an axis of the output are zero, and
// whether there are such axes. An absent input is zero.
type ZeroInputs func(i int) (zero, tied bool)

// known returns in or, if that is nil, a function for inputs of which nothing is known.
func (in ZeroInputs) known() ZeroInputs {
	if in == nil {
		return func(int) (zero, tied bool) { return false, false }
	}
	return in
}

// ZeroFirst is a Traits.Zero for operators whose result is zero if input 0 is.
func ZeroFirst(_ *Call, in ZeroInputs) bool {
	in = in.known()
	z, _ := in(0)
	return z
}

// ZeroAny is a Traits.Zero for products: one factor must be zero.
func ZeroAny(c *Call, in ZeroInputs) bool {
	if c == nil {
		return false
	}
	in = in.known()
	for i := range c.In {
		if z, _ := in(i); z {
			return true
		}
	}
	return false
}

// ZeroAll is a Traits.Zero for sums: every term must be zero.
func ZeroAll(c *Call, in ZeroInputs) bool {
	if c == nil {
		return false
	}
	in = in.known()
	for i := range c.In {
		if z, _ := in(i); !z {
			return false
		}
	}
	return true
}

// ZeroParts is a Traits.Zero for Concat: every input that overlaps the slice must be zero.
func ZeroParts(c *Call, in ZeroInputs) bool {
	if c == nil {
		return false
	}
	in = in.known()
	for i := range c.In {
		if z, tied := in(i); tied && !z {
			return false
		}
	}
	return true
}

// ZeroAffine is a Traits.Zero for normalizations: scale and bias, inputs 1 and 2, must be zero.
func ZeroAffine(_ *Call, in ZeroInputs) bool {
	in = in.known()
	scale, _ := in(1)
	bias, _ := in(2)
	return scale && bias
}

// ZeroLayer is a Traits.Zero for data times weight plus bias, inputs 0 to 2: the bias and one of the factors must be
// zero.
func ZeroLayer(_ *Call, in ZeroInputs) bool {
	in = in.known()
	data, tied := in(0) // depthwise: data and weight have the axis
	weight, also := in(1)
	bias, _ := in(2)
	return bias && (tied && data || also && weight)
}
