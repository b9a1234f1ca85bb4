package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// stepModel writes the model that docs/export-step.md speaks of: four numbers, three classes.
func stepModel(t *testing.T) {
	t.Helper()
	g := nn.New("net")
	err := g.Edit(func(e *nn.Edit) {
		e.Output("scores", e.Apply(nn.Sequential{layers.Linear{Out: 16}, layers.ReLU{}, layers.Linear{Out: 3}}, e.Input("x", "float32[N,4]")))
	})
	if err == nil {
		err = onnxio.Save("model.onnx", g)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestExportStepPage runs the command and both programs of docs/export-step.md as they stand there.
func TestExportStepPage(t *testing.T) {
	oracle.ORT(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "export-step.md"))
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	ort := os.Getenv("GRAFT_ORT")
	if ort == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		ort = filepath.Join(home, ".cache", "graft", "ort")
	}
	t.Setenv("GRAFT_ORT", ort)
	t.Setenv("NODE_PATH", filepath.Join(ort, "node_modules"))
	t.Setenv("ORT_JS", filepath.Join(here, "..", "..", "internal", "oracle", "ort.js"))
	t.Setenv("PYTHONPATH", filepath.Join(here, "testdata"))
	t.Chdir(t.TempDir())
	stepModel(t)
	largest(t, "samples.npz", 200)
	for line := range strings.SplitSeq(string(page), "\n") {
		if args, ok := strings.CutPrefix(line, "$ graft "); ok {
			if out, err := command(strings.Fields(args)...); err != nil || out == "" {
				t.Fatalf("%s: %q, %v", line, out, err)
			}
		}
	}
	for language, run := range map[string][]string{"js": {"node", "program"}, "python": {"/usr/bin/python3", "program"}} {
		t.Run(language, func(t *testing.T) {
			code := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(page)
			if code == nil {
				t.Fatal("the page has no program")
			}
			if language == "python" && exec.Command(run[0], "-c", "import numpy, onnx").Run() != nil {
				t.Skip("Python has no numpy, or no onnx")
			}
			if err := os.WriteFile("program", code[1], 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(run[0], run[1:]...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			var i int
			var first, last float64
			fmt.Sscan(lines[0], &i, &first)
			fmt.Sscan(lines[len(lines)-1], &i, &last)
			if len(lines) != 100 || i != 99 || !(last < first/2) {
				t.Errorf("%d steps, the loss goes from %v to %v", len(lines), first, last)
			}
		})
	}
}

// TestExportStep: what the command prints, and that a refusal leaves no file.
func TestExportStep(t *testing.T) {
	t.Chdir(t.TempDir())
	stepModel(t)
	out, err := command("export-step", "model.onnx", "--optimizer", "sgd", "--momentum", "0.9", "-o", "step.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"nodes of operator set", "input   x float32[N,4]", "input   target int64[N]", "input   step int64[]", "input   rate float32[]", "4 parameters, 4 states and 0 statistics", "step.start.onnx: their initial values"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	out, err = command("export-step", "model.onnx", "--json", "--accumulate", "2", "-o", "json.onnx")
	if err != nil {
		t.Fatal(err)
	}
	var answer stepAnswer
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Step != "json.onnx" || answer.Start != "json.start.onnx" || answer.Nodes == 0 || len(answer.Variables) != 17 || !answer.Free || answer.Variables[0].Next != answer.Variables[0].Name+".next" {
		t.Errorf("%+v", answer)
	}
	for args, want := range map[string]string{
		"model.onnx":                                             "missing -o FILE, the file to write the model to",
		"model.onnx -o no.onnx --loss lost":                      "--loss lost: want one of",
		"model.onnx -o no.onnx --optimizer best":                 "--optimizer best: want one of",
		"model.onnx -o no.onnx --momentum 0.9":                   "--momentum is for sgd and rmsprop, adamw has its own",
		"model.onnx -o no.onnx --clip -1":                        "--clip -1: want 0 or more",
		"model.onnx -o no.onnx --accumulate 0":                   "--accumulate 0: want 1 or more",
		"model.onnx -o no.onnx --lr -1":                          "--lr -1: want 0 or more",
		"model.onnx -o no.onnx --freeze lost":                    "--freeze lost: ",
		"model.onnx -o no.onnx --freeze *":                       "no trainable parameter",
		"model.onnx -o no.onnx --target int64[N,":                "int64[N,",
		"model.onnx -o no.onnx --opset 9":                        "operator set",
		"model.onnx -o no.onnx --loss mse --label-smoothing 0.1": "--label-smoothing and --class-axis are for cross-entropy, not mse",
	} {
		_, err := command(append([]string{"export-step"}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("export-step %s: %v, want %s", args, err, want)
		}
	}
	for _, name := range []string{"no.onnx", "no.start.onnx"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written by a command that failed", name)
		}
	}
}
