package op

// The reductions share their attributes: the axes (all when absent), an input from version 13
// (ReduceSum) or 18 (the others) on; whether reduced axes stay with length 1, the default; and
// whether an empty list of axes means none instead of all.

// reduceAttrs is what the configurations of the reductions are made of.
type reduceAttrs struct {
	Axes              []int `onnx:"axes,until=17"`
	KeepDims          *bool `onnx:"keepdims"` // nil: true
	NoopWithEmptyAxes bool  `onnx:"noop_with_empty_axes,since=18"`
}

// ReduceSumConfig has the attributes of ReduceSum.
type ReduceSumConfig struct {
	Axes              []int `onnx:"axes,until=12"`
	KeepDims          *bool `onnx:"keepdims"` // nil: true
	NoopWithEmptyAxes bool  `onnx:"noop_with_empty_axes,since=13"`
}

// Op makes ReduceSumConfig a Config.
func (ReduceSumConfig) Op() *Op { return standard("", "ReduceSum") }

// ReduceMeanConfig has the attributes of ReduceMean.
type ReduceMeanConfig reduceAttrs

// Op makes ReduceMeanConfig a Config.
func (ReduceMeanConfig) Op() *Op { return standard("", "ReduceMean") }

// ReduceMaxConfig has the attributes of ReduceMax.
type ReduceMaxConfig reduceAttrs

// Op makes ReduceMaxConfig a Config.
func (ReduceMaxConfig) Op() *Op { return standard("", "ReduceMax") }

// ReduceMinConfig has the attributes of ReduceMin.
type ReduceMinConfig reduceAttrs

// Op makes ReduceMinConfig a Config.
func (ReduceMinConfig) Op() *Op { return standard("", "ReduceMin") }

// ReduceProdConfig has the attributes of ReduceProd.
type ReduceProdConfig reduceAttrs

// Op makes ReduceProdConfig a Config.
func (ReduceProdConfig) Op() *Op { return standard("", "ReduceProd") }

// ReduceL1Config has the attributes of ReduceL1.
type ReduceL1Config reduceAttrs

// Op makes ReduceL1Config a Config.
func (ReduceL1Config) Op() *Op { return standard("", "ReduceL1") }

// ReduceL2Config has the attributes of ReduceL2.
type ReduceL2Config reduceAttrs

// Op makes ReduceL2Config a Config.
func (ReduceL2Config) Op() *Op { return standard("", "ReduceL2") }

// ReduceLogSumConfig has the attributes of ReduceLogSum.
type ReduceLogSumConfig reduceAttrs

// Op makes ReduceLogSumConfig a Config.
func (ReduceLogSumConfig) Op() *Op { return standard("", "ReduceLogSum") }

// ReduceLogSumExpConfig has the attributes of ReduceLogSumExp.
type ReduceLogSumExpConfig reduceAttrs

// Op makes ReduceLogSumExpConfig a Config.
func (ReduceLogSumExpConfig) Op() *Op { return standard("", "ReduceLogSumExp") }

// ReduceSumSquareConfig has the attributes of ReduceSumSquare.
type ReduceSumSquareConfig reduceAttrs

// Op makes ReduceSumSquareConfig a Config.
func (ReduceSumSquareConfig) Op() *Op { return standard("", "ReduceSumSquare") }

// reduceAttrsOf brings the configurations of all reductions to one type.
func reduceAttrsOf(c Config) reduceAttrs {
	switch c := c.(type) {
	case ReduceSumConfig:
		return reduceAttrs(c)
	case ReduceMeanConfig:
		return reduceAttrs(c)
	case ReduceMaxConfig:
		return reduceAttrs(c)
	case ReduceMinConfig:
		return reduceAttrs(c)
	case ReduceProdConfig:
		return reduceAttrs(c)
	case ReduceL1Config:
		return reduceAttrs(c)
	case ReduceL2Config:
		return reduceAttrs(c)
	case ReduceLogSumConfig:
		return reduceAttrs(c)
	case ReduceLogSumExpConfig:
		return reduceAttrs(c)
	case ReduceSumSquareConfig:
		return reduceAttrs(c)
	}
	return reduceAttrs{}
}
