package op

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// TestSets checks sets with operators added and replaced, and the union of two sets.
func TestSets(t *testing.T) {
	with := func(s Set, list ...*Op) Set {
		t.Helper()
		n, err := s.With(list...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	name := Name{Name: "Probe"}
	first, second := probe(nil), probe(nil)
	other := probe(func(o *Op) { o.Name = "Other" })
	var none Set
	if !none.IsZero() || NewSet(nil).IsZero() {
		t.Error("a set holds operators that every set has, the zero one none")
	}
	one := with(none, first)
	if one.Find("", "Probe") != first || one.Find(Internal, "GradientMark") == nil || one.Replaced(name) || !none.IsZero() {
		t.Errorf("an operator added to nothing: %v, replaced %v", one.Find("", "Probe"), one.Replaced(name))
	}
	if with(one, first).Replaced(name) {
		t.Error("an operator replaces itself")
	}
	two := with(one, second)
	if !two.Replaced(name) || one.Replaced(name) || two.Find("", "Probe") != second || one.Find("", "Probe") != first {
		t.Error("an operator takes another's place in the new set alone")
	}
	if three := with(two, other); !three.Replaced(name) || three.Replaced(Name{Name: "Other"}) || three.Find("ai.onnx", "Probe") != second {
		t.Error("what was replaced stays so when another operator is added")
	}
	if s, err := one.With(other, nil); err == nil || s.Find("", "Other") != nil {
		t.Error("a set takes a part of a list that is refused")
	}

	union := with(none, other).Union(two)
	if union.Find("", "Probe") != second || union.Find("", "Other") != other || !union.Replaced(name) {
		t.Error("a union lacks an operator, or forgets that it was replaced")
	}
	if union := one.Union(two); union.Find("", "Probe") != first || union.Replaced(name) {
		t.Error("in a union the operators of the first set stay")
	}
	if one.Union(none).Find("", "Probe") != first {
		t.Error("a union with nothing")
	}
	again := with(with(none, other), probe(func(o *Op) { o.Name = "Other" }))
	if u := two.Union(again); !u.Replaced(name) || !u.Replaced(Name{Name: "Other"}) || two.Replaced(Name{Name: "Other"}) {
		t.Error("a union forgets what was replaced in either set")
	}
	every := probe(func(o *Op) { o.Domain, o.Name = "my", "*" })
	if s := with(one, every); s.Find("my", "Any") != every || s.Find("", "Any") != nil || s.Find("", "Probe") != first {
		t.Error("an operator that answers for the unknown names of its domain")
	}
}

type versionedConfig struct {
	Old  int  `onnx:"old,until=6"`
	New  int  `onnx:"new,since=7,default=2"`
	Flag *int `onnx:"flag"`
}

func (versionedConfig) Operator() Name { return Name{Name: "Probe"} }

// numberConfig is a configuration that is not a struct.
type numberConfig int

func (numberConfig) Operator() Name { return Name{Name: "Probe"} }

// TestVersionedAttributes checks attributes that exist in a range of versions only.
func TestVersionedAttributes(t *testing.T) {
	o := probe(func(o *Op) { o.Attrs = versionedConfig{} })
	for _, c := range []struct {
		version int
		name    string
		want    string
	}{
		{1, "old", ""}, {6, "old", ""}, {7, "old", "attribute old does not exist in version 7"},
		{1, "new", "attribute new does not exist in version 1"}, {7, "new", ""}, {8, "new", ""},
	} {
		_, err := o.Decode(c.version, map[string]any{c.name: int64(3)})
		wants(t, fmt.Sprint(c.version, c.name), err, c.want)
	}
	for _, c := range []struct {
		version int
		config  Config
		want    string
	}{
		{6, versionedConfig{Old: 1}, ""}, {7, versionedConfig{Old: 1}, "Probe: attribute old ended with version 6, the graph has version 7"},
		{6, versionedConfig{New: 3}, "Probe: attribute new needs version 7, the graph has version 6"}, {7, versionedConfig{New: 3}, ""},
		{6, versionedConfig{New: 2}, ""}, // what the operator did before it had the attribute
		{6, Plain("Probe"), ""}, {6, numberConfig(1), ""},
	} {
		wants(t, fmt.Sprint(c.version, c.config), Available(c.version, c.config), c.want)
	}
}

// TestKeys checks that equal configurations have equal keys, that different ones do not, and that
// those that cannot be compared have none.
func TestKeys(t *testing.T) {
	zero, also, one := 0, 0, 1
	keys := map[string]Config{}
	for _, c := range []Config{
		versionedConfig{}, versionedConfig{Old: 1}, versionedConfig{New: 1}, versionedConfig{Flag: &zero}, versionedConfig{Flag: &one},
		Plain("Probe"), Name{"my", "Probe"}, bodyConfig{}, probeConfig{Size: []int{1}}, probeConfig{Size: []int{2}},
	} {
		k := key(c)
		if was := keys[k]; was != nil || k == "" && c != Plain("Probe") {
			t.Errorf("%v has key %q, like %v", c, k, was)
		}
		keys[k] = c
	}
	if key(versionedConfig{Flag: &zero}) != key(versionedConfig{Flag: &also}) {
		t.Error("the key depends on where a number is stored")
	}
	if k := key(bodyConfig{Then: aBody{}}); k != "" {
		t.Errorf("a subgraph has key %q", k)
	}
	if k := key(numberConfig(1)); k != "" {
		t.Errorf("a number has key %q", k)
	}
}

// TestNoCall checks configurations of which no call can be made.
func TestNoCall(t *testing.T) {
	s := NewSet([]*Op{probe(func(o *Op) { o.Attrs = versionedConfig{} })})
	for _, c := range []struct {
		config Config
		want   string
	}{
		{nil, "an operator is nil"}, {(*Op)(nil), "an operator is nil"}, {Plain(""), "an operator has no name"}, {Plain("Absent"), `there is no operator "Absent"`},
		{bodyConfig{}, "Probe has attributes of type op.versionedConfig, not op.bodyConfig"}, {versionedConfig{}, ""},
	} {
		call, err := s.NewCall(c.config, Shaped(dtype.Float32, 2))
		wants(t, fmt.Sprint(c.config), err, c.want)
		if c.want == "" && (call.Outputs != 1 || call.Version != 7 || len(call.Known) != 1 || call.Context() == nil) {
			t.Errorf("%v: call of %d outputs at version %d", c.config, call.Outputs, call.Version)
		}
	}
	var versions []int
	o := probe(func(o *Op) {
		o.Infer = func(c *Call) ([]Type, error) { versions = append(versions, c.Version); return c.In[:1], nil }
	})
	for _, v := range []int{0, 1, 7} {
		out, err := NewSet([]*Op{o}).Compute(1, o, v, dtype.New(dtype.Float32, 2), nil)
		if err != nil || len(out) != 1 || !out[0].(*tensor.Dense).Shape().Eq(tensor.Shape{2}) {
			t.Errorf("computed %v, %v", out, err)
		}
	}
	if fmt.Sprint(versions) != "[7 1 7]" {
		t.Errorf("computed at versions %v, want 7, 1, 7", versions)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if (&Call{Ctx: ctx}).Context() != ctx {
		t.Error("a call has another context than its own")
	}
}
