package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/step"
	"github.com/spf13/cobra"
)

// Runtime runs models instead of graft's engine.
type Runtime interface {
	train.Runtime
	Load(g *nn.Graph) (step.Program, error)
}

// RuntimeSettings are the settings of a runtime.
type RuntimeSettings struct {
	Provider string // execution provider; "": CPU
	Device   int    // index of the device
	Threads  int    // 0: the runtime's default
}

// runtimeFlags are the flags that select a runtime.
type runtimeFlags struct {
	process *process
	name    string
	RuntimeSettings
}

// ownEngine is the name of graft's own engine.
const ownEngine = "graft"

func (r *runtimeFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.name, "runtime", ownEngine, "runtime: graft (its own engine), or ort (ONNX Runtime; needs the command graft-ort)")
	f.StringVar(&r.Provider, "provider", "cpu", "with --runtime ort: execution provider: cpu, cuda, tensorrt, rocm, coreml, …")
	f.IntVar(&r.Device, "device", 0, "with --runtime ort: device number")
	f.IntVar(&r.Threads, "runtime-threads", 0, "with --runtime ort: CPU threads; 0: all cores")
}

// open makes the runtime; nil stands for graft's engine.
func (r *runtimeFlags) open(cmd *cobra.Command) (Runtime, error) {
	name := strings.ToLower(r.name)
	if name == ownEngine {
		for _, flag := range []string{"provider", "device", "runtime-threads"} {
			if cmd.Flags().Changed(flag) {
				return nil, fmt.Errorf("--%s is for --runtime ort", flag)
			}
		}
		return nil, nil
	}
	for flag, n := range map[string]int{"device": r.Device, "runtime-threads": r.Threads} {
		if n < 0 {
			return nil, fmt.Errorf("--%s %d: want 0 or more", flag, n)
		}
	}
	if open := r.process.Runtimes[name]; open != nil {
		return open(r.RuntimeSettings)
	}
	if name == "ort" {
		return nil, errors.New("--runtime ort needs the command graft-ort, which loads ONNX Runtime: run go install ./cmd/graft-ort in the folder ort")
	}
	names := append([]string{ownEngine}, slices.Sorted(maps.Keys(r.process.Runtimes))...)
	return nil, fmt.Errorf("--runtime %s: want %s", r.name, strings.Join(names, " or "))
}

// evalIn computes named values of a graph in a runtime, including intermediate ones.
func evalIn(ctx context.Context, rt Runtime, g *nn.Graph, feed nn.Feed, names []string) (nn.Feed, error) {
	fork, _ := g.Fork()
	err := fork.Edit(func(e *nn.Edit) {
		first := e.Outputs()
		for _, name := range names {
			v := e.Value(name)
			if e.Err() == nil && !slices.Contains(e.Outputs(), v) {
				e.Output(name, v)
			}
		}
		for _, v := range first {
			if e.Err() == nil && !slices.Contains(names, v.Name()) {
				e.RemoveOutput(v.Name())
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, v := range fork.Inputs() {
		if feed[v.Name()] == nil {
			return nil, fmt.Errorf("input %s has no value; the model has the inputs %v", v.Name(), ports(fork.Inputs()))
		}
	}
	c := computer{runtime: rt, g: fork}
	defer c.close()
	return c.eval(ctx, feed)
}

// computer computes the outputs of a graph, which is loaded once, in a runtime or, if that is nil, in graft's engine.
type computer struct {
	runtime Runtime
	g       *nn.Graph
	program step.Program
}

func (c *computer) eval(ctx context.Context, feed nn.Feed) (nn.Feed, error) {
	if c.runtime == nil {
		var names []string
		for _, v := range c.g.Outputs() {
			names = append(names, v.Name())
		}
		return c.g.Eval(ctx, feed, names...)
	}
	if c.program == nil {
		p, err := c.runtime.Load(c.g)
		if err != nil {
			return nil, err
		}
		c.program = p
	}
	out, _, err := c.program.Run(ctx, feed, nil, nil)
	return out, err
}

// evaluator returns an evaluator that runs the computer.
func (c *computer) evaluator() train.Evaluator {
	if c.runtime == nil {
		return train.Evaluator{}
	}
	return train.Evaluator{Run: c.eval}
}

// close closes the program; results are copies and stay valid.
func (c *computer) close() {
	if c.program != nil {
		_ = c.program.Close()
	}
}
