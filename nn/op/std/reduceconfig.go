package std

import "github.com/graft-ml/graft/nn/op"

// The reductions share their attributes: the axes (all when absent), an input from version 13
// (ReduceSum) or 18 (the others) on; whether reduced axes stay with length 1, the default; and
// whether an empty list of axes means none instead of all.

// reduceAttrs are the attributes that the configurations of reductions share.
type reduceAttrs struct {
	Axes              []int `onnx:"axes,until=17"`                 // to reduce, from −rank to rank−1; nil: all; later an input
	KeepDims          *bool `onnx:"keepdims,nil=true"`             // keep reduced axes, with length 1; nil: true
	NoopWithEmptyAxes bool  `onnx:"noop_with_empty_axes,since=18"` // without axes reduce none instead of all
}

// ReduceSumConfig has the attributes of ReduceSum.
type ReduceSumConfig struct {
	Axes              []int `onnx:"axes,until=12"`                 // to reduce, from −rank to rank−1; nil: all; later an input
	KeepDims          *bool `onnx:"keepdims,nil=true"`             // keep reduced axes, with length 1; nil: true
	NoopWithEmptyAxes bool  `onnx:"noop_with_empty_axes,since=13"` // without axes reduce none instead of all
}

// Operator makes ReduceSumConfig a Config.
func (ReduceSumConfig) Operator() op.Name { return op.Name{Name: "ReduceSum"} }

// ReduceMeanConfig has the attributes of ReduceMean: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig, but
// axes are an input from version 18 on.
type ReduceMeanConfig reduceAttrs

// Operator makes ReduceMeanConfig a Config.
func (ReduceMeanConfig) Operator() op.Name { return op.Name{Name: "ReduceMean"} }

// ReduceMaxConfig has the attributes of ReduceMax: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig, but
// axes are an input from version 18 on.
type ReduceMaxConfig reduceAttrs

// Operator makes ReduceMaxConfig a Config.
func (ReduceMaxConfig) Operator() op.Name { return op.Name{Name: "ReduceMax"} }

// ReduceMinConfig has the attributes of ReduceMin: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig, but
// axes are an input from version 18 on.
type ReduceMinConfig reduceAttrs

// Operator makes ReduceMinConfig a Config.
func (ReduceMinConfig) Operator() op.Name { return op.Name{Name: "ReduceMin"} }

// ReduceProdConfig has the attributes of ReduceProd: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig, but
// axes are an input from version 18 on.
type ReduceProdConfig reduceAttrs

// Operator makes ReduceProdConfig a Config.
func (ReduceProdConfig) Operator() op.Name { return op.Name{Name: "ReduceProd"} }

// ReduceL1Config has the attributes of ReduceL1: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig, but axes
// are an input from version 18 on.
type ReduceL1Config reduceAttrs

// Operator makes ReduceL1Config a Config.
func (ReduceL1Config) Operator() op.Name { return op.Name{Name: "ReduceL1"} }

// ReduceL2Config has the attributes of ReduceL2: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig, but axes
// are an input from version 18 on.
type ReduceL2Config reduceAttrs

// Operator makes ReduceL2Config a Config.
func (ReduceL2Config) Operator() op.Name { return op.Name{Name: "ReduceL2"} }

// ReduceLogSumConfig has the attributes of ReduceLogSum: Axes, KeepDims and NoopWithEmptyAxes, as in ReduceSumConfig,
// but axes are an input from version 18 on.
type ReduceLogSumConfig reduceAttrs

// Operator makes ReduceLogSumConfig a Config.
func (ReduceLogSumConfig) Operator() op.Name { return op.Name{Name: "ReduceLogSum"} }

// ReduceLogSumExpConfig has the attributes of ReduceLogSumExp: Axes, KeepDims and NoopWithEmptyAxes, as in
// ReduceSumConfig, but axes are an input from version 18 on.
type ReduceLogSumExpConfig reduceAttrs

// Operator makes ReduceLogSumExpConfig a Config.
func (ReduceLogSumExpConfig) Operator() op.Name { return op.Name{Name: "ReduceLogSumExp"} }

// ReduceSumSquareConfig has the attributes of ReduceSumSquare: Axes, KeepDims and NoopWithEmptyAxes, as in
// ReduceSumConfig, but axes are an input from version 18 on.
type ReduceSumSquareConfig reduceAttrs

// Operator makes ReduceSumSquareConfig a Config.
func (ReduceSumSquareConfig) Operator() op.Name { return op.Name{Name: "ReduceSumSquare"} }

// reduceAttrsOf brings the configurations of all reductions to one type.
func reduceAttrsOf(c op.Config) reduceAttrs {
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
