package onnxio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Stripped describes the data of a tensor that were removed from a file to make it small.
type Stripped struct {
	Average  float64 // of the elements
	Variance float64 // of the population
}

// StrippedError is the error of reading a tensor whose data were stripped.
type StrippedError struct {
	DType dtype.DType // of the tensor
	Shape []int       // of the tensor
	Stripped
}

// Error describes the tensor and how its data can be restored.
func (e *StrippedError) Error() string {
	return fmt.Sprintf("data of %v%v were stripped (average %g, variance %g): run graft unstrip on the file to fill them",
		e.DType, e.Shape, e.Average, e.Variance)
}

// parseStripped reads the entry in place of stripped data: the location of an external tensor is
// JSON of type "stripped". It may contain Python's Infinity and NaN, which are not valid JSON.
func parseStripped(p *onnxpb.TensorProto) (Stripped, bool) {
	if p.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
		return Stripped{}, false
	}
	for _, kv := range p.ExternalData {
		if kv.GetKey() != "location" || !strings.HasPrefix(kv.GetValue(), "{") {
			continue
		}
		quoted := strings.NewReplacer("-Infinity", `"-Inf"`, "Infinity", `"Inf"`, "NaN", `"NaN"`).Replace(kv.GetValue())
		var e struct {
			Type              string
			Average, Variance pythonFloat
		}
		if json.Unmarshal([]byte(quoted), &e) == nil && e.Type == "stripped" {
			return Stripped{float64(e.Average), float64(e.Variance)}, true
		}
	}
	return Stripped{}, false
}

// pythonFloat is a JSON number, or a string for a number that JSON lacks.
type pythonFloat float64

// UnmarshalJSON reads a number, "Inf", "-Inf" or "NaN".
func (f *pythonFloat) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*f = pythonFloat(v)
	return err
}

// stripTensor removes the data of p if it has more than threshold elements and they are numbers
// stored in p itself. It reports whether it did so.
func stripTensor(p *onnxpb.TensorProto, threshold int) (bool, error) {
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		return false, nil
	}
	dt, shape, err := tensorType(p)
	if err != nil {
		return false, err
	}
	if n, err := dtype.Count(shape); err != nil || n <= threshold || !dt.IsNumeric() && dt != dtype.Bool || dt.IsComplex() {
		return false, err
	}
	if len(p.RawData) > 0 && inBlocks(dt) {
		return stripSection(p, section{bytes.NewReader(p.RawData), 0, int64(len(p.RawData)), tensorRawData}, threshold)
	}
	v, err := decodeTensor(p, nil)
	if err != nil {
		return false, err
	}
	elems, err := float64s(v)
	if err != nil {
		return false, tensorError(p, "%w", err)
	}
	length, err := storedBytes(dt, len(elems))
	if err != nil {
		return false, tensorError(p, "%w", err)
	}
	setStripped(p, moments(elems), length)
	return true, nil
}

// inBlocks reports whether the moments of a type's elements are computed from blocks of their bytes.
func inBlocks(dt dtype.DType) bool {
	return (dt.IsNumeric() || dt == dtype.Bool) && dt.Bits() >= 8 && !dt.IsComplex()
}

// float64s returns the elements of a tensor of numbers.
func float64s(v dtype.Value) ([]float64, error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return nil, fmt.Errorf("want numbers, got a %T", v)
	}
	return dtype.Float64s(d)
}

// setStripped replaces the data, of length bytes, by an entry with their moments.
func setStripped(p *onnxpb.TensorProto, s Stripped, length int64) {
	clearData(p)
	p.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
	p.ExternalData = []*onnxpb.StringStringEntryProto{
		entry("location", fmt.Sprintf(`{"type": "stripped", "average": %s, "variance": %s}`, pythonNumber(s.Average), pythonNumber(s.Variance))),
		entry("length", strconv.FormatInt(length, 10)),
	}
}

// clearData empties every field that holds elements.
func clearData(p *onnxpb.TensorProto) {
	p.RawData, p.FloatData, p.DoubleData = nil, nil, nil
	p.Int32Data, p.Int64Data, p.Uint64Data, p.StringData = nil, nil, nil, nil
}

// moments returns the average and the population variance of elems.
func moments(elems []float64) (s Stripped) {
	n := float64(len(elems))
	for _, v := range elems {
		s.Average += v
	}
	s.Average /= n
	for _, v := range elems {
		away := v - s.Average
		s.Variance += away * away
	}
	s.Variance /= n
	return s
}

// pythonNumber prints a number as Python's json does.
func pythonNumber(v float64) string {
	switch {
	case v != v:
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// unstripLimit limits the memory that unstripping allocates, in bytes, since a small file may declare tensors of any size.
const unstripLimit = 1 << 34

// unstripTensor fills a stripped tensor with random numbers of the stored average and variance. It reports whether p was
// stripped.
func unstripTensor(p *onnxpb.TensorProto, r *rand.Rand) (bool, error) {
	s, ok := parseStripped(p)
	if !ok {
		return false, nil
	}
	dt, shape, err := tensorType(p)
	if err != nil {
		return false, err
	}
	n, err := dtype.Count(shape)
	if err != nil {
		return false, tensorError(p, "%w", err)
	}
	size, err := storedBytes(dt, n)
	if err != nil || size > unstripLimit {
		return false, tensorError(p, "%v%v is too large to fill", dt, shape)
	}
	if !dt.IsNumeric() && dt != dtype.Bool {
		return false, tensorError(p, "cannot fill a tensor of %v", dt)
	}
	// A moment that overflowed the element type carries no information.
	if math.IsInf(s.Average, 0) || s.Average != s.Average {
		s.Average = 0
	}
	if math.IsInf(s.Variance, 0) || !(s.Variance >= 0) {
		s.Variance = 1
	}
	draw := s.normal
	switch {
	case dt == dtype.Bool:
		draw = s.bit
	case dt.IsInteger():
		draw = s.integer(dt)
	}
	const block = 1 << 16
	data := make([]byte, 0, size)
	for at := 0; at < n; at += block {
		drawn := dtype.New(dtype.Float64, min(block, n-at))
		for i := range dtype.Slice[float64](drawn) {
			dtype.Slice[float64](drawn)[i] = draw(r)
		}
		d, err := dtype.ConvertTo(dt, drawn)
		if err != nil {
			return false, tensorError(p, "%w", err)
		}
		data = append(data, rawData(d, dt)...)
	}
	p.RawData = data
	p.ExternalData, p.DataLocation = nil, onnxpb.TensorProto_DEFAULT.Enum()
	return true, nil
}

// normal draws from a normal distribution.
func (s Stripped) normal(r *rand.Rand) float64 {
	return s.Average + math.Sqrt(s.Variance)*r.NormFloat64()
}

// integer returns a source of integers, which may be indices and should stay within the range of the data. It draws from the
// uniform distribution with the given moments, whose range is that of the data if they are all integers of a range. If that
// range extends below zero, which is unlikely for data of an index type, it draws from two values: 0 and the ratio of the mean
// square to the mean, which is the smallest possible maximum of non-negative numbers with these moments.
func (s Stripped) integer(dt dtype.DType) func(*rand.Rand) float64 {
	half := math.Sqrt(3 * s.Variance)
	if s.Average > 0 && s.Average-half < -0.5 && (dt == dtype.Int64 || dt.IsUnsigned()) {
		top := math.Floor(s.Average + s.Variance/s.Average + 1e-6)
		return func(r *rand.Rand) float64 {
			if r.Float64()*top < s.Average {
				return top
			}
			return 0
		}
	}
	low, high := 0.0, math.Ldexp(1, dt.Bits())-1
	if dt.IsSigned() {
		low, high = -math.Ldexp(1, dt.Bits()-1), math.Ldexp(1, dt.Bits()-1)-1
	}
	return func(r *rand.Rand) float64 {
		return min(max(math.Round(s.Average+half*(2*r.Float64()-1)), low), high)
	}
}

// bit draws 1 with the average as its probability, otherwise 0.
func (s Stripped) bit(r *rand.Rand) float64 {
	if r.Float64() < s.Average {
		return 1
	}
	return 0
}
