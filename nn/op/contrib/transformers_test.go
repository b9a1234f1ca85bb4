package contrib_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// The golden files: of ONNX Runtime, and for the trials apart of testdata/reference.py.
const (
	transformersGolden = "testdata/transformers.json"
	referenceGolden    = "testdata/reference.json"
)

// stored is an output as the golden file has it.
type stored struct {
	DType string    `json:"dtype"`
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

func (x stored) dense() (dtype.Value, error) {
	if x.DType == "" {
		return nil, nil
	}
	t, err := dtype.Parse(x.DType)
	if err != nil {
		return nil, err
	}
	return dtype.FromFloats(t, x.Data, x.Shape...)
}

func trials() []trial {
	return slices.Concat(embedTrials(), rotaryTrials(), attentionTrials(), quantizedAttentionTrials(), multiHeadTrials(), decoderTrials(), groupQueryTrials(), cacheTrials(), blockTrials(), transformTrials())
}

func readStored(t *testing.T) map[string][]stored {
	t.Helper()
	all := map[string][]stored{}
	for _, file := range []string{transformersGolden, referenceGolden} {
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &all)
		}
		if err != nil && !*update {
			t.Fatal(err)
		}
	}
	return all
}

func writeStored(t *testing.T, file string, golden map[string][]stored) {
	t.Helper()
	b, err := json.Marshal(golden)
	if err == nil {
		b = []byte(strings.ReplaceAll(string(b), `}],"`, "}],\n\""))
		err = os.WriteFile(file, append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTransformers takes every trial through the checks of operators, with the values that ONNX Runtime computed where it can.
func TestTransformers(t *testing.T) {
	golden := readStored(t)
	for _, u := range trials() {
		u.Ops = set(t)
		want := golden[u.Name]
		if len(want) == 0 && !*update {
			t.Errorf("%s has no expected values: go test -update", u.Name)
		}
		for _, w := range want {
			v, err := w.dense()
			if err != nil {
				t.Fatal(err)
			}
			u.Want = append(u.Want, v)
		}
		if len(want) > 0 && u.Tol == 0 {
			u.Tol = 2e-5
		}
		optest.Run(t, u.Case)
	}
}

// TestTransformersInRuntime compares with ONNX Runtime itself, and with -update writes what it computes to the golden file.
func TestTransformersInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	golden := map[string][]stored{}
	for _, u := range trials() {
		if u.apart != "" {
			continue
		}
		t.Run(u.Name, func(t *testing.T) { golden[u.Name] = inRuntime(t, ort, u) })
	}
	if *update {
		writeStored(t, transformersGolden, golden)
	}
}

// TestTransformersInReference compares the trials apart with the formulas of testdata/reference.py, and with -update writes
// what these give to the golden file.
func TestTransformersInReference(t *testing.T) {
	type question struct {
		Name, Operator string
		Config         op.Config
		In             []*stored
		Outputs        int
	}
	var list []question
	byName := map[string]trial{}
	for _, u := range trials() {
		if u.apart == "" {
			continue
		}
		u.Ops = set(t)
		byName[u.Name] = u
		q := question{Name: u.Name, Operator: u.Config.Operator().Name, Config: u.Config, Outputs: max(u.Outputs, 1)}
		for _, v := range u.In {
			var x *stored
			if v != nil {
				x = storedOf(t, v)
			}
			q.In = append(q.In, x)
		}
		list = append(list, q)
	}
	file := filepath.Join(t.TempDir(), "questions.json")
	b, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(file, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	golden := map[string][]stored{}
	if err := json.Unmarshal(oracle.Torch(t, "testdata/reference.py", file), &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden {
		got, err := optest.Forward(byName[name].Case)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, w := range want {
			v, err := w.dense()
			if err != nil {
				t.Fatal(err)
			}
			if v == nil || slices.Contains(byName[name].Skip, i) {
				want[i] = stored{}
			} else if err := optest.Compare(got[i], v, 2e-5); err != nil {
				t.Errorf("%s: output %d: %v", name, i, err)
			}
		}
	}
	if *update {
		writeStored(t, referenceGolden, golden)
	}
}

func storedOf(t *testing.T, v dtype.Value) *stored {
	t.Helper()
	d := v.(*tensor.Dense)
	x, err := dtype.Float64s(d)
	if err != nil {
		t.Fatal(err)
	}
	return &stored{dtype.Of(d.Dtype()).String(), append([]int{}, d.Shape()...), x}
}

func inRuntime(t *testing.T, ort *oracle.Runtime, u trial) (list []stored) {
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, trialGraph(t, u)); err != nil {
		t.Fatal(err)
	}
	feed, given := nn.Feed{}, map[string]oracle.Tensor{}
	for i, v := range u.In {
		if v != nil && !slices.Contains(u.params, i) {
			name, d := fmt.Sprintf("x%d", i), v.(*tensor.Dense)
			feed[name], given[name] = v, oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
		}
	}
	want, err := ort.RunFile(file, given)
	if err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Eval(t.Context(), feed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range max(u.Outputs, 1) {
		w, ok := want[fmt.Sprintf("y%d", i)]
		if !ok {
			list = append(list, stored{})
			continue
		}
		d := got[fmt.Sprintf("y%d", i)].(*tensor.Dense)
		if err := oracle.Close(oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}, w, max(1e-4, u.Tol), max(1e-5, u.Tol)); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
		x, err := w.Float64s()
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range x { // as short as float32 has it
			fmt.Sscan(fmt.Sprint(float32(v)), &x[k])
		}
		list = append(list, stored{w.DType, w.Shape, x})
	}
	return list
}
