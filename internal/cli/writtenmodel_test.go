package cli

import (
	"encoding/json"
	"testing"
)

// Commands that write a model describe it in one JSON document if asked to.
func TestWrittenModelJSON(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args, model, input, output string
	}{
		{"new cnn --input 3,8,8 --classes 2 --width 4 --depth 1 -o cnn.onnx", "cnn.onnx", "x", "scores"},
		{"extract cnn.onnx --to flatten1 -o body.onnx", "body.onnx", "x", "flatten1"},
		{"extract cnn.onnx --from flatten1 -o head.onnx", "head.onnx", "flatten1", "scores"},
		{"join body.onnx head.onnx -o joined.onnx", "joined.onnx", "x", "scores"},
	} {
		out, err := in(dir, c.args+" --json")
		var got struct {
			Model           string
			Nodes, Params   int
			Inputs, Outputs []struct{ Name, Type string }
		}
		if err == nil {
			err = json.Unmarshal([]byte(out), &got)
		}
		if err != nil || got.Nodes == 0 || len(got.Inputs) != 1 || got.Inputs[0].Name != c.input || len(got.Outputs) != 1 || got.Outputs[0].Name != c.output || got.Outputs[0].Type == "" {
			t.Errorf("%s: %s, %v", c.args, out, err)
		}
	}
}
