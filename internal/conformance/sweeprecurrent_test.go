package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// recurrentSweeps: layers over sequences.
var recurrentSweeps = map[string]func(r *draw) trial{
	"LSTM": func(r *draw) trial { return recurrent(r, "LSTM", 4) },
	"GRU":  func(r *draw) trial { return recurrent(r, "GRU", 3) },
	"RNN":  func(r *draw) trial { return recurrent(r, "RNN", 1) },
}

func recurrent(r *draw, name string, gates int) trial {
	steps, batch, width, hidden := r.between(1, 5), r.between(1, 3), r.between(1, 4), r.between(1, 4)
	direction := pick(r, "forward", "reverse", "bidirectional")
	dirs := 1
	if direction == "bidirectional" {
		dirs = 2
	}
	attrs := map[string]any{"hidden_size": hidden, "direction": direction}
	in := append(fed(r.floats(steps, batch, width)), argument{r.floats(dirs, gates*hidden, width), r.flag()}, argument{r.floats(dirs, gates*hidden, hidden), r.flag()})
	in = append(in, make([]argument, 5)...)
	if r.flag() {
		in[3] = argument{r.floats(dirs, 2*gates*hidden), r.flag()}
	}
	if r.flag() {
		in[4] = argument{value: r.numbers(dtype.Int32, 1, steps, batch)}
	}
	if r.flag() {
		in[5] = argument{value: r.floats(dirs, batch, hidden)}
	}
	if name == "LSTM" && r.flag() {
		in[6] = argument{value: r.floats(dirs, batch, hidden)}
	}
	if name == "LSTM" && r.flag() {
		in[7] = argument{value: r.floats(dirs, 3*hidden)}
	}
	count := 8
	if name != "LSTM" {
		count = 6
	}
	for count > 3 && in[count-1].value == nil {
		count--
	}
	if r.rarely(3) {
		attrs["clip"] = 0.5
	}
	if name == "LSTM" && r.rarely(4) {
		attrs["input_forget"] = 1
	}
	if name == "GRU" && r.flag() {
		attrs["linear_before_reset"] = 1
	}
	if r.rarely(3) {
		var f []string
		var alpha, beta []float32
		functions := map[string]int{"LSTM": 3, "GRU": 2, "RNN": 1}[name]
		for i := range dirs * functions {
			a := pick(r, "Tanh", "Sigmoid", "HardSigmoid", "ScaledTanh", "Softsign")
			if i%functions > 0 { // gates without bounds make numbers without bounds
				a = pick(r, a, "Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "Elu") // Softplus overflows in ONNX Runtime
			}
			f = append(f, a)
			switch a { // each takes from the lists what it has
			case "HardSigmoid", "Affine", "ScaledTanh":
				beta = append(beta, r.Float32())
				fallthrough
			case "LeakyRelu", "ThresholdedRelu", "Elu":
				alpha = append(alpha, r.Float32())
			}
		}
		attrs["activations"] = f
		if len(alpha) > 0 {
			attrs["activation_alpha"] = alpha
		}
		if len(beta) > 0 {
			attrs["activation_beta"] = beta
		}
	}
	outputs := 2
	if name == "LSTM" {
		outputs = 3
	}
	return trial{op: name, opset: pick(r, 7, 14, 22), attrs: attrs, in: in[:count], out: r.between(1, outputs), rtol: 1e-3, atol: 1e-4}
}
