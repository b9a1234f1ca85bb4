package std_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

const (
	inBody = "computes a subgraph: the tests of package nn run models that hold it"
	drawn  = "draws random numbers of its own: random_test.go checks their distribution"
)

// noGolden are operators without expected values, and why.
var noGolden = map[string]string{
	"If": inBody, "Loop": inBody, "Scan": inBody, "SequenceMap": inBody, "ai.onnx.preview.FlexAttention": inBody,
	"ai.onnx.preview.Gradient": inBody, "ai.onnx.preview.training.Gradient": inBody,
	"Bernoulli": drawn, "Multinomial": drawn, "RandomNormal": drawn, "RandomNormalLike": drawn, "RandomUniform": drawn, "RandomUniformLike": drawn,
	"ImageDecoder": "decodes files: package imagefile compares them with other decoders",
}

// unneeded are attributes and element types that no case needs, and why.
var unneeded = map[string]string{
	"Constant a refusal":           "movement_test.go: none and two values",
	"OptionalHasElement a refusal": "takes everything",
	"SequenceEmpty a refusal":      "there is nothing to refuse",
	"Optional attribute type":      "a type is not an attribute that files of cases hold: sequence_test.go",
	"ConvInteger a gradient":       "integers",
	"MatMulInteger a gradient":     "integers",
}

// TestEveryOperatorIsTested lists what an operator's cases in testdata/golden lack: an expected value for a class of
// element types that an input takes, an attribute away from its default, a gradient, a refusal.
func TestEveryOperatorIsTested(t *testing.T) {
	fsys, used := os.DirFS("testdata/golden"), map[string]bool{}
	for _, o := range std.Operators().List() {
		if o.Domain == op.Internal {
			continue
		}
		cases, err := optest.Golden(fsys, o.String()+".jsonl", std.Operators())
		reason, excepted := noGolden[o.String()]
		switch {
		case excepted && err == nil:
			t.Errorf("%v has expected values, although: %s", o, reason)
		case excepted:
		case err != nil:
			t.Errorf("%v has no expected values: %v", o, err)
		default:
			for _, m := range lacking(o, cases) {
				key := o.String() + " " + m
				if used[key] = true; unneeded[key] == "" {
					t.Errorf("%v lacks %s", o, m)
				}
			}
		}
	}
	for key, reason := range unneeded {
		if !used[key] {
			t.Errorf("%s is there, although: %s", key, reason)
		}
	}
}

func lacking(o *op.Op, cases []optest.Case) []string {
	list := append(lackingTypes(o, cases), lackingAttributes(o, cases)...)
	if (o.Grad != nil || o.Lower != nil) && o.NoGrad == "" && o.GradMissing == "" && !slices.ContainsFunc(cases, differentiated) {
		list = append(list, "a gradient")
	}
	said, err := os.ReadFile(filepath.Join("testdata", "declared", o.String()+".txt"))
	if err != nil || !strings.Contains(string(said), "\trefused: ") {
		list = append(list, "a refusal")
	}
	return list
}

func differentiated(c optest.Case) bool {
	return c.NoGrad == "" && slices.ContainsFunc(c.In, func(v dtype.Value) bool {
		return v != nil && (dtype.DTypeOf(v) == dtype.Float32 || dtype.DTypeOf(v) == dtype.Float64)
	})
}

// lackingTypes names the classes of element types of an input that no case has there.
func lackingTypes(o *op.Op, cases []optest.Case) []string {
	met := map[string]bool{}
	for _, c := range cases {
		for i, v := range c.In {
			if s, ok := op.At(o.In.List(), i); ok && v != nil {
				met[s.Type+" "+class(dtype.DTypeOf(v))] = true
			}
		}
	}
	var list []string
	for _, s := range o.In.List() {
		if _, err := dtype.Parse(s.Type); err == nil || s.Type == "any" {
			continue
		}
		allowed := o.Where[s.Type]
		if allowed == nil {
			allowed = slices.Concat(op.Numeric(), []dtype.DType{dtype.Bool})
			if o.Strings != nil || o.Func != nil {
				allowed = append(allowed, dtype.String)
			}
		}
		for _, t := range allowed {
			if m := s.Type + " " + class(t); !met[m] {
				met[m] = true
				list = append(list, fmt.Sprintf("%s of %s", class(t), s.Type))
			}
		}
	}
	return list
}

// class returns what kernels tell apart: each float by itself, integers by sign, the small types together.
func class(t dtype.DType) string {
	switch {
	case t.IsFloat() && t.Bits() < 16:
		return "a small float"
	case t.IsInteger() && t.Bits() < 8:
		return "a small integer"
	case t.IsSigned():
		return "a signed integer"
	case t.IsUnsigned():
		return "an unsigned integer"
	}
	return t.String()
}

func lackingAttributes(o *op.Op, cases []optest.Case) []string {
	met := map[string]bool{}
	for _, c := range cases {
		for _, a := range op.Encode(c.Version, c.Config) {
			met[a.Name] = true
		}
	}
	var list []string
	t := reflect.TypeOf(o.Attrs)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("onnx"), ",")
		if name != "" && !met[name] {
			list = append(list, "attribute "+name)
		}
	}
	return list
}
