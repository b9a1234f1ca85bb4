//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

// TestRanksAreParts checks that one process with micro-batches writes the same model and metrics, to
// the byte, as that number of ranks.
func TestRanksAreParts(t *testing.T) {
	in := folder(t)
	size := fmt.Sprint(glyph.Size * glyph.Size)
	alone(t, "new", "mlp", "--input", size, "--hidden", "32", "--classes", "10", "--dropout", "0.3", "-o", in("dropout.onnx"))
	alone(t, "new", "mlp", "--input", size, "--hidden", "32,16", "--classes", "10", "--dropout", "0", "-o", in("deep.onnx"))
	alone(t, "new", "cnn", "--input", fmt.Sprintf("1,%d,%[1]d", glyph.Size), "--width", "4", "--classes", "3", "-o", in("cnn.onnx"))
	if _, err := glyph.WriteFolder(in("letters"), "ABC", 25, 1); err != nil {
		t.Fatal(err)
	}
	digits := []string{in("mlp.onnx"), "--data", in("digits.npz")}
	model := func(name string) []string { return []string{in(name), "--data", in("digits.npz")} }
	letters := []string{in("cnn.onnx"), "--data", in("letters"), "--policy", "manual"}
	settings := []struct {
		name string
		on   []string
		more string
	}{
		{"sgd", digits, "--optimizer sgd --lr 0.05 --momentum 0.9"},
		{"adamw", digits, "--optimizer adamw --lr 0.005 --weight-decay 0.1"},
		{"lion", digits, "--optimizer lion --lr 0.001"},
		{"adafactor", digits, "--optimizer adafactor"},
		{"clipped", digits, "--optimizer sgd --lr 0.1 --clip-norm 0.2"},
		{"average", digits, "--lr 0.005 --ema 0.9"},
		{"schedule", digits, "--lr 0.005 --schedule cosine --warmup 0.2"},
		{"smoothing", digits, "--lr 0.005 --label-smoothing 0.1"},
		{"weights", digits, "--lr 0.005 --class-weights auto"},
		{"balanced", digits, "--lr 0.005 --balanced"},
		{"mixup", digits, "--lr 0.005 --mixup 0.2"},
		{"groups", digits, "--lr 0.005 --lr-group *bias*=0.02"},
		{"frozen", model("deep.onnx"), "--lr 0.005 --freeze hidden1*"},
		{"ragged", digits, "--lr 0.005 --batch 60 --val 0.3"},
		{"in order", digits, "--lr 0.005 --no-shuffle --seed 3"},
		{"dropout", model("dropout.onnx"), "--optimizer sgd --lr 0.05"},
		{"normalized", letters, "--optimizer sgd --lr 0.01"},
		{"cutmix", letters, "--lr 0.001 --cutmix 1"},
		{"policy", model("deep.onnx"), "--policy from-scratch"},
	}
	if len(settings) != 19 {
		t.Fatal(len(settings))
	}
	train := func(i int, name string, more ...string) []string {
		s := settings[i]
		args := append(append([]string{"train"}, s.on...), strings.Fields(s.more)...)
		if !slices.Contains(args, "--batch") {
			args = append(args, "--batch", "32")
		}
		return append(append(args, "--epochs", "2", "-o", in(name+".onnx")), more...)
	}
	for i, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			mpitest.Each(t, []int{2, 4}, func(t *testing.T, l mpitest.Launcher, n int) {
				if l.Library == "MPICH" && i%6 != 0 {
					return // its sums are the same: a few do
				}
				name, parts := fmt.Sprint(s.name, l.Name, n), fmt.Sprint(s.name, "-parts", n)
				if _, err := os.Stat(in(parts + ".onnx")); err != nil {
					batch := 32
					if strings.Contains(s.more, "--batch 60") {
						batch = 60
					}
					alone(t, train(i, parts, "--micro-batch", fmt.Sprint(batch/n))...)
				}
				out := l.Succeed(t, n, train(i, name), variables...)
				if d := difference(t, in(parts+".onnx"), in(name+".onnx")); d != 0 {
					t.Errorf("parameters differ by %g from those of %d parts:\n%s", d, n, out)
				}
				if !same(t, in(parts+".onnx"), in(name+".onnx")) {
					t.Error("the models differ")
				}
				if a, b := figures(t, in(parts+".run")), figures(t, in(name+".run")); a != b {
					t.Errorf("figures of parts\n%sof ranks\n%s", a, b)
				}
			})
		})
	}
}

// figures returns a run's history without times.
func figures(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "history.csv"))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(b), "\n")
	at := slices.Index(strings.Split(head, ","), "seconds")
	if at < 0 {
		return string(b)
	}
	return head + "\n" + regexp.MustCompile(fmt.Sprintf(`(?m)^((?:[^,\n]*,){%d})[^,\n]*`, at)).ReplaceAllString(rest, "$1")
}
