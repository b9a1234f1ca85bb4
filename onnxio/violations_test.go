package onnxio

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestViolations changes a valid model against ONNX's specification. What would leave open which numbers are meant is refused, what does not is
// read.
func TestViolations(t *testing.T) {
	const (
		model = `ir_version: 8 opset_import { version: 17 } opset_import { domain: "own" version: 1 }
			functions { name: "F" domain: "own" input: "a" output: "b" opset_import { version: 17 } node { op_type: "Softmax" input: "a" output: "b" } }
			graph { name: "g" input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 2 } } } } }
			initializer { name: "w" data_type: 1 dims: 2 float_data: 1 float_data: 2 }
			sparse_initializer { values { name: "s" data_type: 1 dims: 2 float_data: 5 float_data: 7 } indices { data_type: 7 dims: 2 int64_data: 0 int64_data: 3 } dims: 2 dims: 2 }
			node { name: "add" op_type: "Add" input: "x" input: "w" output: "h" }
			node { name: "mul" op_type: "MatMul" input: "h" input: "s" output: "m" }
			node { name: "call" op_type: "F" domain: "own" input: "m" output: "y" }
			output { name: "y" } }`
		data     = `float_data: 1 float_data: 2 }`
		external = `data_location: EXTERNAL external_data { key: "location" value: "`
		declared = `initializer { name: "w"`
	)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "w.bin"), make([]byte, 16), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"nothing":                          {"", "", ""},
		"operator set 0":                   {"version: 17", "version: 0", `operator set "" has version 0, which is out of range`},
		"operator set without version":     {"opset_import { version: 17 } opset", `opset_import { } opset`, `operator set "" has version 0, which is out of range`},
		"operator set 99":                  {"version: 17", "version: 99", `operator set "" has version 99, which is newer than`},
		"operator set 99 of ai.onnx.ml":    {"opset_import { version: 17 }", `opset_import { version: 17 } opset_import { domain: "ai.onnx.ml" version: 99 }`, `operator set "ai.onnx.ml" has version 99, which is newer than`},
		"operator set 99 of another":       {`domain: "own" version: 1`, `domain: "own" version: 99`, ""},
		"two versions":                     {"opset_import { version: 17 }", `opset_import { version: 17 } opset_import { domain: "ai.onnx" version: 12 }`, `operator set "" is imported twice, with versions 17 and 12`},
		"one version twice":                {"opset_import { version: 17 }", `opset_import { version: 17 } opset_import { domain: "ai.onnx" version: 17 }`, ""},
		"no operator set":                  {`opset_import { version: 17 } opset_import { domain: "own" version: 1 }`, "", "the model imports no operator set, as files of format 8 must"},
		"domain that is not imported":      {`opset_import { version: 17 } opset`, "opset", `Add add: no operator set of domain "" is imported`},
		"its own domain not imported":      {`opset_import { domain: "own" version: 1 }`, "", ""},
		"function of operator set 99":      {`"b" opset_import { version: 17 }`, `"b" opset_import { version: 99 }`, `F call: function own.F: operator set "" has version 99`},
		"function of two versions":         {`"b" opset_import { version: 17 }`, `"b" opset_import { version: 17 } opset_import { version: 12 }`, `F call: function own.F: operator set "" is imported twice`},
		"function without operator set":    {`"b" opset_import { version: 17 }`, `"b"`, `Softmax b: no operator set of domain "" is imported`},
		"two functions":                    {"functions {", `functions { name: "F" domain: "own" input: "a" output: "b" opset_import { version: 17 } node { op_type: "Neg" input: "a" output: "b" } } functions {`, "function own.F is defined twice"},
		"two functions, one overloaded":    {"functions {", `functions { name: "F" domain: "own" overload: "o" input: "a" output: "b" opset_import { version: 17 } node { op_type: "Neg" input: "a" output: "b" } } functions {`, ""},
		"attribute of a call twice":        {`domain: "own" input: "m"`, `domain: "own" attribute { name: "k" type: INT i: 1 } attribute { name: "k" type: INT i: 2 } input: "m"`, "F call: attribute k is given twice"},
		"sparse element twice":             {"int64_data: 0 int64_data: 3", "int64_data: 3 int64_data: 3", `input s: sparse tensor "s": has two values for element 3`},
		"sparse element twice, in 2-D":     {"dims: 2 int64_data: 0 int64_data: 3", "dims: 2 dims: 2 int64_data: 1 int64_data: 0 int64_data: 1 int64_data: 0", `input s: sparse tensor "s": has two values for element 2`},
		"sparse elements in another order": {"int64_data: 0 int64_data: 3", "int64_data: 3 int64_data: 0", ""},
		"sparse element outside":           {"int64_data: 0 int64_data: 3", "int64_data: 0 int64_data: 4", `input s: sparse tensor "s": index 4 is outside of shape [2 2]`},
		"external":                         {data, external + `w.bin" } }`, ""},
		"external, ./":                     {data, external + `./w.bin" } }`, ""},
		"external, with data":              {data, external + `w.bin" } ` + data, `input w: tensor "w": data are in float_data, and in another file, "w.bin"`},
		"external, two files":              {data, external + `w.bin" } external_data { key: "location" value: "v.bin" } }`, `input w: tensor "w": external data: location is given twice`},
		"external, two offsets":            {data, external + `w.bin" } external_data { key: "offset" value: "0" } external_data { key: "offset" value: "4" } }`, `external data: offset is given twice`},
		"external, drive":                  {data, external + `C:\\w.bin" } }`, `external data: "C:\\w.bin" is not a path inside the model's folder`},
		"external, backslashes":            {data, external + `..\\w.bin" } }`, `external data: "..\\w.bin" is not a path inside`},
		"external, server":                 {data, external + `\\\\server\\w.bin" } }`, `is not a path inside`},
		"external, above":                  {data, external + `../w.bin" } }`, `external data: "../w.bin" is not a path inside`},
		"external, absolute":               {data, external + `/w.bin" } }`, `external data: "/w.bin" is not a path inside`},
		"external, device of Windows":      {data, external + `NUL" } }`, `external data: `},
		"initializer of another type":      {declared, `input { name: "w" type { tensor_type { elem_type: 7 } } } ` + declared, "input w: is declared as int64"},
		"initializer of another shape":     {declared, `input { name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } } ` + declared, "input w: is declared as float32[3], but its initializer is float32 of shape [2]"},
		"initializer of another rank":      {declared, `input { name: "w" type { tensor_type { elem_type: 1 shape { } } } } ` + declared, "input w: is declared as float32[], but its initializer is float32 of shape [2]"},
		"initializer of a symbol":          {declared, `input { name: "w" type { tensor_type { elem_type: 1 shape { dim { dim_param: "N" } } } } } ` + declared, ""},
		"map of floats":                    {declared, `input { name: "k" type { map_type { key_type: 1 } } } ` + declared, "input k: keys of a map are integers or strings, not float32"},
		"map of unknown keys":              {declared, `input { name: "k" type { map_type { key_type: 99 } } } ` + declared, "input k: keys of a map are integers or strings"},
		"nodes in another order":           {`node { name: "add" op_type: "Add" input: "x" input: "w" output: "h" }`, `node { name: "n" op_type: "Neg" input: "m" output: "n" } node { name: "add" op_type: "Add" input: "x" input: "w" output: "h" }`, ""},
		"a name for two nodes":             {`name: "mul"`, `name: "add"`, ""},
		"a value of two nodes":             {`output { name: "y" }`, `node { name: "again" op_type: "Neg" input: "x" output: "h" } output { name: "y" }`, `Neg again: two values are named "h"`},
		"a node's result is the input":     {`output { name: "y" }`, `node { name: "again" op_type: "Neg" input: "h" output: "x" } output { name: "y" }`, `Neg again: two values are named "x"`},
		"cycle":                            {`input: "x" input: "w"`, `input: "y" input: "w"`, "the graph has a cycle"},
		"data of another field":            {data, "double_data: 1 double_data: 2 }", `tensor "w": shape [2] of float32 takes 2 stored numbers, found 0`},
		"negative dimension":               {"dims: 2 float_data: 1", "dims: -2 float_data: 1", `shape [-2] has a negative dimension`},
		"unknown element type":             {"data_type: 1 dims: 2 float_data: 1", "data_type: 99 dims: 2 float_data: 1", "unknown element type 99"},
		"text in raw_data":                 {declared, `initializer { name: "t" data_type: 8 dims: 2 raw_data: "ab" } ` + declared, "shape [2] takes 2 strings, found 0"},
		"initializer twice":                {declared, `initializer { name: "w" data_type: 1 dims: 2 ` + data + declared, `two values are named "w"`},
		"dense and sparse initializer":     {declared, `initializer { name: "s" data_type: 1 dims: 2 ` + data + declared, `two values are named "s"`},
	} {
		if !strings.Contains(model, c.old) {
			t.Fatalf("%s: the model has no %s", name, c.old)
		}
		path := filepath.Join(dir, "model.onnx")
		if err := os.WriteFile(path, fullModel(t, strings.Replace(model, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := Load(path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && !strings.Contains(c.new, "EXTERNAL") {
			var b bytes.Buffer
			if err := Write(&b, g); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if _, err := Read(&b); err != nil {
				t.Errorf("%s: written and read: %v", name, err)
			}
		}
	}
}
