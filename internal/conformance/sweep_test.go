package conformance_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

var (
	sweepTrials = flag.Int("sweep", 25, "random models of each operator that are compared with ONNX Runtime")
	sweepSeed   = flag.Uint64("sweepseed", 1, "seed of the random models")
)

// trial is a model of one node.
type trial struct {
	domain, op string
	family     string // in a network: the name of the family
	opset      int
	there      string // domain in which ONNX Runtime has the operator, if another one
	attrs      map[string]any
	in         []argument
	from       map[int]string // in a network: inputs that are outputs of earlier nodes, by name
	out        int            // how many outputs, 0: one
	inner      bool           // in a network: its outputs are not the network's
	rtol, atol float64        // 0: 1e-4 and 1e-5
}

// argument is an input of the node: absent, fed, or an initializer.
type argument struct {
	value    dtype.Value // nil: absent
	constant bool
}

// sweeps are the random models of operators, by a name for each family.
var sweeps = []map[string]func(r *draw) trial{
	arithmeticSweeps, windowSweeps, resizeSweeps, movementSweeps, indexSweeps, reductionSweeps, recurrentSweeps,
	quantizedSweeps, detectionSweeps, normalizationSweeps, spectralSweeps, oldSweeps, classicalSweeps, vectorSweeps, boundSweeps, newSweeps,
}

// ordinary are families whose special numbers are not compared. Overflow and infinities depend on the order of a sum or on
// its width; ONNX Runtime skips NaN in maxima and rounds large int64 remainders; ONNX leaves NaN as an integer open.
var ordinary = map[string]bool{
	"ArgMax": true, "ArgMin": true, "old ArgMax": true, "Cast": true, "Clip": true, "Mod": true, "Gemm": true, "Einsum": true, "Det": true, "RoiAlign": true,
	"NegativeLogLikelihoodLoss": true, "SoftmaxCrossEntropyLoss": true, "MatMul": true, "Conv": true, "ConvTranspose": true, "DeformConv": true,
	"GlobalAveragePool": true, "GlobalMaxPool": true, "GridSample": true, "AffineGrid": true, "MaxRoiPool": true, "Resize": true, "Upsample": true,
	"LogSoftmax": true, "ReduceLogSumExp": true, "ReduceMax": true, "ReduceMin": true, "GRU": true, "LSTM": true, "RNN": true, "DynamicQuantizeLinear": true,
	"QuantizeLinear": true, "Attention": true, "BatchNormalization": true, "GroupNormalization": true, "InstanceNormalization": true, "LRN": true,
	"LayerNormalization": true, "LpNormalization": true, "MeanVarianceNormalization": true, "RotaryEmbedding": true, "DFT": true, "STFT": true,
	"LinearClassifier": true, "LinearRegressor": true, "Normalizer": true, "Scaler": true, "SVMClassifier": true, "SVMRegressor": true, "LinearAttention": true, "CausalConvWithState": true,
}

// TestSweep compares random models of single operators with ONNX Runtime. What ONNX Runtime
// refuses (types without a kernel, mostly) must only not panic.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of random models")
	}
	ort := oracle.ORT(t)
	for _, family := range sweeps {
		for _, name := range slices.Sorted(maps.Keys(family)) {
			t.Run(name, func(t *testing.T) { sweep(t, ort, name, family[name]) })
		}
	}
}

func sweep(t *testing.T, ort *oracle.Runtime, name string, make func(r *draw) trial) {
	compared, refused := 0, ""
	for i := range *sweepTrials {
		r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, uint64(i))), special: i%4 == 3 && !ordinary[name]}
		c := make(r)
		model := c.model(t, r)
		feed, in := network{c}.feeds()
		theirs := model
		if c.there != "" {
			moved := c
			moved.domain, moved.opset = c.there, 1
			theirs = moved.model(t, r)
		}
		want, ortErr := ort.Run(theirs, in)
		got, err := evaluate(t, model, feed)
		if ortErr != nil {
			refused = ortErr.Error()
			if testing.Verbose() {
				t.Logf("%d: ONNX Runtime refuses %s: %v; graft: %v", i, c, ortErr, err)
			}
			continue
		}
		compared++
		if err != nil {
			t.Errorf("%d: %s: %v", i, c, err)
			continue
		}
		for k := range max(c.out, 1) {
			w, ok := want[outputName(k)]
			if !ok {
				continue
			}
			g := packValue(got[outputName(k)])
			if strings.Contains(w.DType, "int") && c.atol < 1 && slices.Equal(g.Shape, w.Shape) && !bytes.Equal(g.Data, w.Data) {
				t.Errorf("%d: %s: output %d: integers differ", i, c, k)
			}
			if err := oracle.Close(g, w, cmpOr(c.rtol, 1e-4), cmpOr(c.atol, 1e-5)); err != nil {
				t.Errorf("%d: %s: output %d: %v", i, c, k, err)
			}
		}
	}
	t.Logf("%d of %d models compared", compared, *sweepTrials)
	if compared*4 < *sweepTrials {
		t.Errorf("%s: ONNX Runtime ran only %d of %d models: %s", name, compared, *sweepTrials, refused)
	}
}

func cmpOr(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}

// evaluate loads and runs a model; a panic is a failure.
func evaluate(t *testing.T, model []byte, feed nn.Feed) (out nn.Feed, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	g, err := onnxio.Read(bytes.NewReader(model))
	if err != nil {
		return nil, err
	}
	return g.Eval(t.Context(), feed)
}

func packValue(v dtype.Value) oracle.Tensor {
	switch v := v.(type) {
	case *dtype.Strings:
		return oracle.Tensor{DType: "string", Shape: append([]int{}, v.Dims...), Strings: v.Elems}
	case *tensor.Dense:
		return oracle.Tensor{DType: dtype.Of(v.Dtype()).String(), Shape: append([]int{}, v.Shape()...), Data: dtype.Bytes(v)}
	}
	return oracle.Tensor{DType: fmt.Sprintf("%T", v)}
}

func inputName(i int) string  { return fmt.Sprintf("x%d", i) }
func outputName(i int) string { return fmt.Sprintf("y%d", i) }

// stride is more than the inputs or outputs of any node: those of node n of a network have the numbers from n·stride on.
const stride = 32

// String describes the trial so that it can be built again by hand.
func (c trial) String() string {
	s := fmt.Sprintf("%s-%d(", c.op, c.opset)
	for i, a := range c.in {
		switch {
		case c.from[i] != "":
			s += c.from[i] + " "
		case a.constant:
			s += "constant "
		}
		switch {
		case a.value == nil:
			s += "-, "
		case a.value.Size() == 0:
			s += fmt.Sprintf("%v%v, ", a.value.Dtype(), a.value.Shape())
		case dtype.DTypeOf(a.value) == dtype.String:
			s += fmt.Sprintf("string%v=%q, ", a.value.Shape(), a.value.Data())
		case a.value.Size() <= 8:
			s += fmt.Sprintf("%v%v=%v, ", a.value.Dtype(), a.value.Shape(), a.value.Data())
		default:
			s += fmt.Sprintf("%v%v, ", a.value.Dtype(), a.value.Shape())
		}
	}
	for _, k := range slices.Sorted(maps.Keys(c.attrs)) {
		s += fmt.Sprintf("%s=%v ", k, c.attrs[k])
	}
	return s + ")"
}
