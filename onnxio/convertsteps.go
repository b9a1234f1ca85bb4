package onnxio

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// versionSteps are the versions of ONNX's change log at which an operator is spelled or means
// something else, ascending. What is not listed only gained element types or attributes.
var versionSteps = map[string][]step{
	"Add": {broadcasting}, "Sub": {broadcasting}, "Mul": {broadcasting}, "Div": {broadcasting}, "Pow": {broadcasting, {12, unchanged, oneType}},
	"And": {broadcasting}, "Or": {broadcasting}, "Xor": {broadcasting}, "Equal": {broadcasting}, "Greater": {broadcasting}, "Less": {broadcasting},
	"Sum": {{8, unchanged, equalShapes}}, "Mean": {{8, unchanged, equalShapes}}, "Max": {{8, unchanged, equalShapes}}, "Min": {{8, unchanged, equalShapes}},
	"PRelu":              {{7, oneSlope, oneSlope}},
	"Gemm":               {{7, gemmUp, gemmDown}, {11, unchanged, withC}},
	"BatchNormalization": {{7, testMode(false), testMode(true)}, {9, spatial, unchanged}, {14, oneOutput, oneOutput}},
	"Dropout":            {{7, testMode(false), testMode(true)}, {10, oneOutput, oneOutput}, {12, ratioToInput, ratioToAttribute}},
	"GroupNormalization": {{21, groupUp, groupDown}},
	"Softmax":            {{13, softmaxUp, softmaxDown}}, "LogSoftmax": {{13, softmaxUp, softmaxDown}}, "Hardmax": {{13, softmaxUp, softmaxDown}},

	"Clip":    {{11, boundsToInputs, boundsToAttributes}},
	"Pad":     {{2, nil, nil}, {11, padsToInputs, padsToAttributes}, {18, unchanged, allAxes}, {19, unchanged, withoutMode("Mode", "wrap")}},
	"Slice":   {{10, rangesToInputs, rangesToAttributes}},
	"TopK":    {{10, kToInput, kToAttribute}, {11, unchanged, largestOnly}},
	"Split":   {{2, nil, nil}, {13, toInput("Split"), toAttribute("Split")}, {18, countParts, lengthsOfParts}},
	"Squeeze": {axesAt(13)}, "Unsqueeze": {axesAt(13)}, "ReduceSum": {axesAt(13)},
	"ReduceMean": {axesAt(18)}, "ReduceMax": {axesAt(18)}, "ReduceMin": {axesAt(18)}, "ReduceProd": {axesAt(18)},
	"ReduceL1": {axesAt(18)}, "ReduceL2": {axesAt(18)}, "ReduceLogSum": {axesAt(18)}, "ReduceLogSumExp": {axesAt(18)}, "ReduceSumSquare": {axesAt(18)},
	"Reshape":  {{5, toInput("Shape"), toAttribute("Shape")}},
	"DFT":      {{20, axisToInput, axisToAttribute}},
	"Constant": {{11, unchanged, plainConstant}, {12, unchanged, plainConstant}},

	"Upsample":        {{7, nil, nil}, {9, scalesToInput, scalesToAttribute}, {10, upsampleToResize, unchanged}},
	"Resize":          {{10, unchanged, resizeToUpsample}, {11, resizeUp, resizeDown}, {13, unchanged, emptyInputs}, {19, unchanged, withoutMode("Coordinates", "half_pixel_symmetric")}},
	"GridSample":      {{20, gridModes("bilinear", "linear", "bicubic", "cubic"), gridModes("linear", "bilinear", "cubic", "bicubic")}},
	"RoiAlign":        {{16, oldRegions, oldRegionsOnly}},
	"MaxPool":         {{8, unchanged, oneOutput}},
	"Scatter":         {{11, renamed, unchanged}},
	"ScatterElements": {{11, unchanged, renamed}, {18, unchanged, withoutMode("Reduction", "max", "min")}},
	"ScatterND":       {{18, unchanged, withoutMode("Reduction", "max", "min")}},
	"Shape":           {{15, unchanged, wholeShape}},
	"CastLike":        {{15, unchanged, castLikeToCast}},
	"Scan":            {{9, nil, nil}},

	"QuantizeLinear":   {{13, unchanged, oneScale}, {21, unchanged, zeroPoint}, {23, unchanged, quantizedAs}},
	"DequantizeLinear": {{13, unchanged, oneScale}, {23, unchanged, quantizedAs}},

	"Attention":          {{24, unchanged, withoutLengths}},
	"OptionalGetElement": {{18, unchanged, optionalsOnly}}, "OptionalHasElement": {{18, unchanged, optionalsOnly}},
}

func unchanged(*conversion) error { return nil }

// get is a field of the configuration, zero where it has none of that name.
func get[T any](c *conversion, field string) (v T) {
	if f := reflect.ValueOf(c.config).FieldByName(field); f.IsValid() {
		v, _ = f.Interface().(T)
	}
	return v
}

// set changes a field of the configuration.
func (c *conversion) set(field string, value any) {
	v := reflect.New(reflect.TypeOf(c.config)).Elem()
	v.Set(reflect.ValueOf(c.config))
	f := v.FieldByName(field)
	if value == nil {
		f.SetZero()
	} else {
		f.Set(reflect.ValueOf(value))
	}
	c.config = v.Interface().(op.Config)
}

// dropNeutral leaves out attributes that say what holds without them.
func (c *conversion) dropNeutral() {
	v := reflect.ValueOf(c.config)
	if v.Kind() != reflect.Struct {
		return
	}
	if d := v.FieldByName("Dilations"); d.IsValid() && !slices.ContainsFunc(get[[]int](c, "Dilations"), func(n int) bool { return n != 1 }) {
		c.set("Dilations", nil)
	}
	if d := v.FieldByName("Saturate"); d.IsValid() {
		if t := c.node.Out(0).Type().DType; !t.IsFloat() || t.Bits() != 8 {
			c.set("Saturate", nil)
		}
	}
}

// countAxesFromFront: before version 11 axes are not negative.
func (c *conversion) countAxesFromFront() error {
	v := reflect.ValueOf(c.config)
	if v.Kind() != reflect.Struct || slices.Contains([]string{"TopK", "OneHot", "LpNormalization"}, c.config.Operator().Name) {
		return nil
	}
	fix := func(list []int) ([]int, error) {
		out := slices.Clone(list)
		for i, a := range out {
			if a >= 0 {
				continue
			}
			rank, err := c.rank(0)
			if err != nil {
				return nil, err
			}
			if c.config.Operator().Name == "Unsqueeze" {
				rank += len(list)
			}
			out[i] = a + rank
		}
		return out, nil
	}
	for _, name := range []string{"Axis", "Axes"} {
		f := v.FieldByName(name)
		if !f.IsValid() || f.IsZero() {
			continue
		}
		switch x := f.Interface().(type) {
		case int:
			list, err := fix([]int{x})
			if err != nil {
				return err
			}
			c.set(name, list[0])
		case *int:
			list, err := fix([]int{*x})
			if err != nil {
				return err
			}
			c.set(name, &list[0])
		case []int:
			list, err := fix(x)
			if err != nil {
				return err
			}
			c.set(name, list)
		}
	}
	return nil
}

// toInput lets input 1 say what an attribute said, toAttribute the other way round.
func toInput(field string) func(*conversion) error {
	return func(c *conversion) error {
		v := get[[]int](c, field)
		c.set(field, nil)
		if v == nil {
			return nil
		}
		return c.addInts(1, field, v...)
	}
}

func toAttribute(field string) func(*conversion) error {
	return func(c *conversion) error {
		v, err := c.ints(1)
		if err != nil {
			return err
		}
		if len(v) > 0 || field == "Shape" {
			c.set(field, append([]int{}, v...))
		}
		c.drop(1)
		return nil
	}
}

// axesAt is the version at which the attribute axes became input 1.
func axesAt(version int) step {
	up := func(c *conversion) error {
		if len(get[[]int](c, "Axes")) == 0 { // of a reduction: all
			c.set("Axes", nil)
			return nil
		}
		return toInput("Axes")(c)
	}
	return step{version, up, func(c *conversion) error {
		v, err := c.ints(1)
		if err != nil {
			return err
		}
		if get[bool](c, "NoopWithEmptyAxes") {
			if len(v) == 0 {
				return errors.New("it reduces no axes, there no axes mean all")
			}
			c.set("NoopWithEmptyAxes", false)
		}
		return toAttribute("Axes")(c)
	}}
}

// testMode: before version 7 an attribute told evaluation from training.
func testMode(on bool) func(*conversion) error {
	return func(c *conversion) error {
		if !on && !get[bool](c, "IsTest") && c.config.Operator().Name == "Dropout" {
			return errors.New("it trains")
		}
		c.set("IsTest", on)
		return oneOutput(c)
	}
}

// oneOutput refuses what has a further output: it changed.
func oneOutput(c *conversion) error {
	for _, name := range c.out[1:] {
		if name != "" {
			return fmt.Errorf("output %s is another there", name)
		}
	}
	c.out = c.out[:1]
	return nil
}

// withoutMode refuses words that an attribute may have only from the version on.
func withoutMode(field string, words ...string) func(*conversion) error {
	return func(c *conversion) error {
		if word := get[string](c, field); slices.Contains(words, word) {
			return fmt.Errorf("%q is not known there", word)
		}
		return nil
	}
}

// oneType: before version 12 both operands have the same type.
func oneType(c *conversion) error {
	if a, b := c.dtype(0), c.dtype(1); a != b {
		return fmt.Errorf("%v and %v do not go together there", a, b)
	}
	return nil
}

func optionalsOnly(c *conversion) error {
	if v := c.value(0); v == nil || v.Type().Kind != op.Optional {
		return errors.New("it takes optionals only there")
	}
	return nil
}

// withoutLengths: before version 24 all keys of the cache count.
func withoutLengths(c *conversion) error {
	if c.has(6) {
		return fmt.Errorf("input %s is not known there", c.in[6])
	}
	return nil
}

func gridModes(names ...string) func(*conversion) error {
	return func(c *conversion) error {
		for i := 0; i < len(names); i += 2 {
			if get[string](c, "Mode") == names[i] {
				c.set("Mode", names[i+1])
				break
			}
		}
		return nil
	}
}

// oldRegions: before version 16 regions were not moved by half a pixel.
func oldRegions(c *conversion) error {
	c.set("Coordinates", "output_half_pixel")
	return nil
}

func oldRegionsOnly(c *conversion) error {
	if word := get[string](c, "Coordinates"); word != "output_half_pixel" {
		return fmt.Errorf("coordinates %q are not known there", word)
	}
	c.set("Coordinates", "half_pixel") // the default of a version that does not have the attribute
	return nil
}

// renamed: Scatter became ScatterElements.
func renamed(c *conversion) error {
	switch cfg := c.config.(type) {
	case op.ScatterConfig:
		c.config = op.Fill(op.ScatterElementsConfig{Axis: cfg.Axis})
	case op.ScatterElementsConfig:
		if cfg.Reduction != "none" {
			return fmt.Errorf("it cannot reduce by %q there", cfg.Reduction)
		}
		c.config = op.ScatterConfig{Axis: cfg.Axis}
	}
	return nil
}

// wholeShape: before version 15 Shape gives all dimensions.
func wholeShape(c *conversion) error {
	start, end := get[int](c, "Start"), get[*int](c, "End")
	if start == 0 && end == nil {
		return nil
	}
	c.set("Start", 0)
	c.set("End", nil)
	last := math.MaxInt32
	if end != nil {
		last = *end
	}
	if c.opsets[""] < 10 {
		return c.behind(op.SliceConfig{Starts: []int{start}, Ends: []int{last}, Axes: []int{0}})
	}
	var names [2]string
	for i, n := range []int{start, last} {
		d, err := dtype.FromInts(dtype.Int64, []int{n}, 1)
		if names[i], err = c.addConstant("range", d, err); err != nil {
			return err
		}
	}
	return c.behind(op.SliceConfig{}, names[:]...)
}

func castLikeToCast(c *conversion) error {
	v := c.value(1)
	if v == nil || v.Type().DType == dtype.Undefined {
		return errors.New("the type of its second input is not known")
	}
	c.config = op.Fill(op.CastConfig{To: v.Type().DType})
	c.drop(1)
	return nil
}

// plainConstant writes a constant as a tensor.
func plainConstant(c *conversion) error {
	cfg := c.config.(op.ConstantConfig)
	if cfg.Value != nil {
		return nil
	}
	v := c.node.Out(0).Known().Value
	if v == nil {
		return errors.New("it is no tensor")
	}
	c.config = op.ConstantConfig{Value: v}
	return nil
}
