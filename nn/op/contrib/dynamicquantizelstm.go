package contrib

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// DynamicQuantizeLSTMConfig has the attributes of DynamicQuantizeLSTM, which are those of LSTM.
type DynamicQuantizeLSTMConfig struct {
	ActivationAlpha []float32 `onnx:"activation_alpha"`
	ActivationBeta  []float32 `onnx:"activation_beta"`
	Activations     []string  `onnx:"activations"`
	Clip            float32   `onnx:"clip"`
	Direction       string    `onnx:"direction,default=forward"`
	HiddenSize      int       `onnx:"hidden_size"`
	InputForget     bool      `onnx:"input_forget"`
}

// Operator names the operator.
func (DynamicQuantizeLSTMConfig) Operator() op.Name {
	return op.Name{Domain: Domain, Name: "DynamicQuantizeLSTM"}
}

// dynamicQuantizeLSTM rounds X once, with one scale for all time steps up to the end of the longest sequence, and the hidden
// states of the batch at each step. ONNX Runtime does so on one thread; on several, parts of the batch have scales of their
// own.
func dynamicQuantizeLSTM() *op.Op {
	return composed(op.Op{Name: "DynamicQuantizeLSTM", Cost: counted,
		Doc: "LSTM with quantized, transposed weights, X and hidden states are quantized with the scales that their values need. Gradients pass straight through the rounding.",
		In: "X float32, W T2, R T2, B? float32 weight, sequence_lens? int32, initial_h? float32, initial_c? float32, P? float32 weight, " +
			"W_scale float32, W_zero_point T2, R_scale float32, R_zero_point T2",
		Out: "Y? float32, Y_h? float32, Y_c? float32", Where: op.Where{"T2": bytes()}, Attrs: DynamicQuantizeLSTMConfig{},
		Pinned: "weights are integers with scales"},
		func(e *expression, in []value) []value {
			a := e.c.Config.(DynamicQuantizeLSTMConfig)
			cfg := std.DynamicLSTMConfig{ActivationAlpha: a.ActivationAlpha, ActivationBeta: a.ActivationBeta, Activations: a.Activations,
				Clip: a.Clip, Direction: a.Direction, HiddenSize: a.HiddenSize, InputForget: a.InputForget}
			e.axes(0, 3)
			x := e.reached(in[0], in[4])
			q := e.doN(3, op.Plain("DynamicQuantizeLinear"), x)
			x = e.do(std.FakeQuantizeConfig{To: dtype.Uint8}, x, q[1], q[2])
			out := e.doN(3, cfg, x, e.gates(in, 1, 8), e.gates(in, 2, 10), in[3], in[4], in[5], in[6], in[7])
			out[1], out[2] = e.begun(out[1], in[4]), e.begun(out[2], in[4])
			return out
		})
}

// begun is a last state [dirs, batch, hidden] with 0 for sequences of length 0; LSTM leaves them the initial state.
func (e *expression) begun(state, lengths value) value {
	if !lengths.there() || e.err != nil {
		return state
	}
	some := e.do(op.Plain("Greater"), lengths, e.constant(dtype.FromInts(dtype.Int32, []int{0})))
	return e.do(op.Plain("Where"), e.reshape(some, op.D(1), lengths.dim(0), op.D(1)), state, e.number(state, 0))
}

// axes refuses input i if it has another number of axes.
func (e *expression) axes(i, rank int) {
	if t := e.c.In[i]; e.err == nil && len(t.Shape) != rank {
		e.failf("input %s: want %d axes, got %v", e.c.InputName(i), rank, t)
	}
}

// reached is X [seq, batch, features] with 0 at the time steps that no sequence reaches.
func (e *expression) reached(x, lengths value) value {
	if !lengths.there() || e.err != nil {
		return x
	}
	drop := false
	longest := e.do(std.ReduceMaxConfig{KeepDims: &drop}, e.cast(lengths, dtype.Int64))
	times := e.do(op.Plain("Less"), e.counting(x.dim(0)), longest)
	return e.do(op.Plain("Where"), e.reshape(times, x.dim(0), op.D(1), op.D(1)), x, e.number(x, 0))
}

// gates returns the weights in input i [dirs, k, gates·hidden] as LSTM has them, [dirs, gates·hidden, k]. Input scale, and the
// zero point after it, have a number for each direction or for each of its columns.
func (e *expression) gates(in []value, i, scale int) value {
	e.axes(i, 3)
	w := in[i]
	column := func(k int) value {
		v, dirs, width := in[k], w.dim(0), w.dim(2)
		switch {
		case e.err != nil:
			return value{}
		case fits(v.typ.Shape, []op.Dim{dirs}):
			width = op.D(1)
		case !fits(v.typ.Shape, []op.Dim{dirs, width}):
			e.failf("input %s: want [%v] or [%v,%v], got %v", e.c.InputName(k), dirs, dirs, width, v.typ)
			return value{}
		}
		return e.reshape(v, dirs, op.D(1), width)
	}
	w = e.mul(e.centered(w, column(scale+1), dtype.Float32), column(scale))
	return e.do(std.TransposeConfig{Perm: []int{0, 2, 1}}, w)
}
