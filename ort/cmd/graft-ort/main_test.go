package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/cmd/graft/demo"
	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/ort"
)

// TestMain runs the command itself in the processes that tests start.
func TestMain(m *testing.M) {
	if os.Getenv("GRAFT_ORT_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// library makes GRAFT_ORT name ONNX Runtime, or skips the test.
func library(t *testing.T) {
	t.Helper()
	if os.Getenv("GRAFT_ORT") == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("GRAFT_ORT", filepath.Join(home, ".cache", "graft", "ort"))
	}
	if _, err := (ort.Runtime{}).Open(); err != nil {
		if os.Getenv("GRAFT_ORACLES") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func graft(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "GRAFT_ORT_MAIN=1")
	out, err := c.CombinedOutput()
	return string(out), err
}

// data returns a model of digits and images of letters.
func data(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "digits.onnx"), demo.Model(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := glyph.WriteFolder(filepath.Join(dir, "letters"), "ABC", 60, 1); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The same command trains the same with either runtime, by the policy and by hand, and the model runs the same in both.
func TestTrain(t *testing.T) {
	library(t)
	dir := data(t)
	loss := regexp.MustCompile(`"loss":([0-9.e-]+)`)
	for name, args := range map[string][]string{
		"manual": {"--policy", "manual", "--epochs", "3", "--lr", "0.001"},
		"auto":   {"--epochs", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			var losses [2][]float64
			for i, runtime := range []string{"graft", "ort"} {
				out, err := graft(t, dir, append([]string{"train", "digits.onnx", "--data", "letters", "--json", "--seed", "2", "--runtime", runtime, "-o", name + runtime + ".onnx"}, args...)...)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, m := range loss.FindAllStringSubmatch(out, -1) {
					x, err := strconv.ParseFloat(m[1], 64)
					if err != nil {
						t.Fatal(err)
					}
					losses[i] = append(losses[i], x)
				}
			}
			if len(losses[0]) == 0 || len(losses[0]) != len(losses[1]) {
				t.Fatalf("%v", losses)
			}
			for i, x := range losses[0] {
				if d := losses[1][i] - x; d > 0.01 || d < -0.01 {
					t.Errorf("loss %v, with the engine %v", losses[1][i], x)
				}
			}
		})
	}
}

// TestAnswers checks that eval, predict and lr-find print the same with either runtime.
func TestAnswers(t *testing.T) {
	library(t)
	dir := data(t)
	if out, err := graft(t, dir, "train", "digits.onnx", "--data", "letters", "--epochs", "1", "--seed", "2", "-o", "letters.onnx"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{"eval letters.onnx --data letters --per-class", "predict letters.onnx letters/A", "lr-find letters.onnx --data letters --steps 12"} {
		var answers [2]string
		for i, runtime := range []string{"graft", "ort"} {
			out, err := graft(t, dir, append(strings.Fields(line), "--runtime", runtime)...)
			if err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			answers[i] = out
		}
		if len(answers[0]) < 20 || answers[0] != answers[1] {
			t.Errorf("%s\n%s\nwith the engine\n%s", line, answers[1], answers[0])
		}
	}
}

func TestMistakes(t *testing.T) {
	library(t)
	dir := data(t)
	for line, want := range map[string]string{
		"run digits.onnx --runtime tflite":                              "--runtime tflite: want graft or ort",
		"run digits.onnx --provider cuda":                               "--provider is for --runtime ort",
		"run digits.onnx --runtime ort --provider gpu":                  `ort: provider "gpu": want one of coreml, cpu, cuda`,
		"run digits.onnx --runtime ort --device -1":                     "--device -1: want 0 or more",
		"run digits.onnx --runtime ort":                                 "missing --input NAME=FILE for the inputs [image float32[N,1,28,28]]",
		"run digits.onnx --runtime ort --testcase d":                    "leave out --runtime",
		"train digits.onnx --data letters --as-stored --runtime ort":    "leave out --runtime",
		"train digits.onnx --data letters --runtime ort --provider qnn": "has no provider QNN, it has ",
		"eval digits.onnx --data letters --runtime tflite":              "--runtime tflite: want graft or ort",
		"lr-find digits.onnx --data letters --device 1":                 "--device is for --runtime ort",
		"predict digits.onnx letters --runtime ort --explain cam -o d":  "--explain needs gradients, which graft's own engine computes: leave out --runtime",
		"train digits.onnx --data letters --runtime-threads 2":          "--runtime-threads is for --runtime ort",
	} {
		out, err := graft(t, dir, strings.Fields(line)...)
		if err == nil || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %v %s, want %s", line, err, out, want)
		}
	}
}
