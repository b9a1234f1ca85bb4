package op

// ZeroInputs reports of input i whether its slices are zero along the axes that an axis of the output is tied to, and
// whether any are tied. An input that is absent is zero.
type ZeroInputs func(i int) (zero, tied bool)

// known is in, or where that is nil, inputs of which nothing is known.
func (in ZeroInputs) known() ZeroInputs {
	if in == nil {
		return func(int) (zero, tied bool) { return false, false }
	}
	return in
}

// ZeroFirst is the rule of operators whose result is zero where input 0 is.
func ZeroFirst(_ *Call, in ZeroInputs) bool {
	in = in.known()
	z, _ := in(0)
	return z
}

// ZeroAny is the rule of products: one factor suffices.
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

// ZeroAll is the rule of sums: every term has to be zero.
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

// ZeroParts is the rule of Concat: every part that reaches the axis has to be zero.
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

// ZeroAffine is the rule of normalizations: scale and bias, inputs 1 and 2, have to be zero.
func ZeroAffine(_ *Call, in ZeroInputs) bool {
	in = in.known()
	scale, _ := in(1)
	bias, _ := in(2)
	return scale && bias
}

// ZeroLayer is the rule of data times weight plus bias, inputs 0 to 2: the bias has to be zero and one factor.
func ZeroLayer(_ *Call, in ZeroInputs) bool {
	in = in.known()
	data, tied := in(0) // depthwise: data and weight reach the axis
	weight, also := in(1)
	bias, _ := in(2)
	return bias && (tied && data || also && weight)
}
