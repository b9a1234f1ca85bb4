// Command steps checks exported training steps: it writes the step of each model, trains with it in
// ONNX Runtime and with graft's trainer on the same batches, and prints a row of a table.
//
//	python3 bench/steps/torchvision_export.py NETS
//	go run ./bench/steps -ort $HOME/.cache/graft/ort -torch NETS/torch.json NETS/*.onnx
//
// Batches have 3 and 5 samples alternately, sizes that no export used. "loss" and "weights" are the
// largest differences between the two runs, relative for values above 1; beside each is the difference
// that float32 allows: that between two runs of the trainer whose initial weights differ by one
// rounding. Milliseconds are those of the fastest of several steps with four samples.
//
//	go run ./bench/steps -ort $HOME/.cache/graft/ort -turns 30 NETS/*.onnx
//
// prints comparable times: three persistent processes run one step after the other, the given number of times;
// medians, and the first and third quartile. All run the same step: forward, loss, backward, clipping of the
// gradients' norm, SGD with momentum.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
)

// options are the flags.
type options struct {
	ort, torch, level string
	steps, repeats    int
	turns             int
	python            string
	threads           int
	rate              float64
}

func main() {
	var o options
	flag.StringVar(&o.ort, "ort", "", "folder whose node_modules holds onnxruntime-node")
	flag.StringVar(&o.torch, "torch", "", "JSON file of PyTorch's milliseconds by model")
	flag.StringVar(&o.level, "level", "all", "ONNX Runtime's graph optimization: disabled, basic, extended, all")
	flag.IntVar(&o.steps, "steps", 20, "steps of a run")
	flag.IntVar(&o.repeats, "repeats", 8, "steps that are timed")
	flag.IntVar(&o.threads, "threads", 2, "threads of ONNX Runtime")
	flag.Float64Var(&o.rate, "lr", 1e-3, "learning rate of SGD with momentum 0.9 and a clipped norm")
	flag.IntVar(&o.turns, "turns", 0, "print times alone: of so many steps of graft, ONNX Runtime and PyTorch by turns")
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "Python with torch and torchvision, for -turns")
	flag.Parse()
	if o.turns > 0 {
		if err := printTurns(context.Background(), o, flag.Args()); err != nil {
			log.Fatal(err)
		}
		return
	}
	torch := map[string]float64{}
	if o.torch != "" {
		b, err := os.ReadFile(o.torch)
		if err == nil {
			err = json.Unmarshal(b, &torch)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("| model | parameters | nodes | loss, float32's error | weights, float32's error | graft, ms | ONNX Runtime, ms | PyTorch, ms |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	failed := false
	for _, file := range flag.Args() {
		name := modelName(file)
		r, err := measure(context.Background(), file, o)
		if err != nil {
			fmt.Printf("| %s | | | %v |\n", name, err)
			failed = true
			continue
		}
		pytorch := ""
		if ms, ok := torch[name]; ok {
			pytorch = figure(ms)
		}
		note := ""
		if !r.follows() {
			note, failed = " **differs**", true
		}
		fmt.Printf("| %s | %d | %d | %.1e, %.1e | %.1e, %.1e%s | %s | %s | %s |\n", name, r.parameters, r.nodes, r.loss.got, r.loss.rounding,
			r.weights.got, r.weights.rounding, note, figure(r.graft), figure(r.runtime), pytorch)
	}
	if failed {
		os.Exit(1)
	}
}

// modelName is that of the file, or of its folder where all files are called alike.
func modelName(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".onnx")
	if name == "model" {
		name = filepath.Base(filepath.Dir(file))
	}
	return name
}

func figure(ms float64) string {
	if ms < 10 {
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}
