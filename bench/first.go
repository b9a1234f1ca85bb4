package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// firstRuns is the number of processes of each framework, started alternately.
const firstRuns = 15

//go:embed first.js
var firstScript string

// whole is a process that is timed from start to end.
type whole struct {
	name    string
	command func() *exec.Cmd
}

// compareFirst times whole processes, from start to end, that load o.first and run it once: graft, ONNX
// Runtime through Node, and Node with nothing to do.
func compareFirst(o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	threads := o.threads[len(o.threads)-1]
	commands := []whole{{"graft", func() *exec.Cmd {
		return exec.Command(self, "-child", "-first", o.first, "-threads", strconv.Itoa(threads))
	}}}
	if o.ort != "" {
		commands = append(commands,
			whole{"onnxruntime", func() *exec.Cmd {
				return exec.Command("node", "-e", firstScript, "--", o.ort, o.first, strconv.Itoa(threads))
			}},
			whole{"node alone", func() *exec.Cmd { return exec.Command("node", "-e", "0") }})
	}
	times := make([][]float64, len(commands))
	for range firstRuns {
		for i, c := range commands {
			cmd := o.equip(c.command())
			start := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w\n%s", c.name, err, out)
			}
			times[i] = append(times[i], ms(time.Since(start)))
		}
	}
	for i, c := range commands {
		fmt.Printf("{\"framework\":%q,\"first_result_ms\":%.1f,\"threads\":%d,\"processes\":%d}\n", c.name, median(times[i]), threads, firstRuns)
	}
	return nil
}

// first loads a model and runs it once on zeros, symbolic dimensions being 1.
func first(o options) error {
	runtime.GOMAXPROCS(o.threads[0])
	g, err := onnxio.Load(o.first)
	if err != nil {
		return err
	}
	var xs []*tensor.Dense
	for _, in := range g.Inputs() {
		t := in.Type()
		shape := make([]int, len(t.Shape))
		for i, d := range t.Shape {
			shape[i] = 1
			if d.Known() {
				shape[i] = d.Size
			}
		}
		xs = append(xs, dtype.New(t.DType, shape...))
	}
	_, err = g.Run(context.Background(), xs...)
	return err
}
