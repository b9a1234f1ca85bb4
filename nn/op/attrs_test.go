package op

import (
	"fmt"
	"testing"
)

type probeConfig struct {
	Axis  int     `onnx:"axis,default=1"`
	Alpha float32 `onnx:"alpha,since=7"`
	Size  []int   `onnx:"size,required"`
}

func (probeConfig) Operator() Name { return Name{Name: "Probe"} }

type typeConfig struct {
	To DType `onnx:"to"`
}

func (typeConfig) Operator() Name { return Name{Name: "Probe"} }

// TestAttributes checks defaults, versions, and unknown or missing attributes.
func TestAttributes(t *testing.T) {
	o := probe(func(o *Op) { o.Attrs = probeConfig{} })
	size := []int64{2}
	for _, c := range []struct {
		version    int
		attrs      map[string]any
		want, text string
	}{
		{7, map[string]any{"size": size}, "{1 0 [2]}", ""},
		{7, map[string]any{"size": size, "axis": int64(0), "alpha": float32(2)}, "{0 2 [2]}", ""},
		{1, map[string]any{"size": size, "consumed_inputs": size}, "{1 0 [2]}", ""},
		{5, map[string]any{"size": size, "consumed_inputs": size}, "{1 0 [2]}", ""},
		{6, map[string]any{"size": size, "consumed_inputs": size}, "", "attribute consumed_inputs is unknown in version 6"},
		{6, map[string]any{"size": size, "alpha": float32(2)}, "", "attribute alpha does not exist in version 6"},
		{7, map[string]any{"axis": int64(2)}, "", "attribute size is missing"},
		{7, map[string]any{"size": size, "axes": size}, "", "attribute axes is unknown in version 7"},
		{7, map[string]any{"size": size, "axis": "1"}, "", "attribute axis: "},
	} {
		cfg, err := o.Decode(c.version, c.attrs)
		wants(t, fmt.Sprint(c.attrs), err, c.text)
		if c.text == "" && fmt.Sprint(cfg) != c.want {
			t.Errorf("%v: got %v, want %s", c.attrs, cfg, c.want)
		}
	}
	if got := Fill(probeConfig{Alpha: 3}); fmt.Sprint(got) != "{1 3 []}" {
		t.Errorf("defaults: %v", got)
	}
	if got := Fill(probeConfig{Axis: 2}); fmt.Sprint(got) != "{2 0 []}" {
		t.Errorf("what is given stays: %v", got)
	}
	if got := Fill(Plain("Probe")); got != Plain("Probe") {
		t.Errorf("a name has no defaults: %v", got)
	}
	for n, want := range map[int64]string{0: "", 1<<31 - 1: "", -1: "-1 is out of range", 1 << 31: "2147483648 is out of range"} {
		typed := probe(func(o *Op) { o.Attrs = typeConfig{} })
		cfg, err := typed.Decode(7, map[string]any{"to": n})
		wants(t, fmt.Sprint("type ", n), err, want)
		if want == "" && cfg.(typeConfig).To != DType(n) {
			t.Errorf("type %d is read as %v", n, cfg)
		}
	}
	wants(t, "alpha", Available(6, probeConfig{Alpha: 3}), "attribute alpha needs version 7, the graph has version 6")
	wants(t, "alpha", Available(7, probeConfig{Alpha: 3}), "")
	wants(t, "alpha", Available(6, probeConfig{}), "")
	if got := fmt.Sprint(Encode(6, probeConfig{Axis: 1, Alpha: 3, Size: []int{2}}), Encode(7, probeConfig{Axis: 3, Alpha: 3})); got != "[{size [2]}] [{axis 3} {alpha 3}]" {
		t.Errorf("written as %s", got)
	}
	set := NewSet([]*Op{o})
	_, err := set.Complete(Plain("Probe"))
	wants(t, "bare", err, "Probe has required attributes: give its configuration")
	_, err = set.Complete(Plain("Absent"))
	wants(t, "absent", err, `there is no operator "Absent"`)
	if got, err := set.Complete(probeConfig{}); err != nil || fmt.Sprint(got) != "{1 0 []}" {
		t.Errorf("completed to %v, %v", got, err)
	}
	if o.declares("beta") || !o.declares("axis") || probe(nil).declares("axis") {
		t.Error("declared attributes")
	}
}
