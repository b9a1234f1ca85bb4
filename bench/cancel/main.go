// Command cancel measures how soon operators end when their context does. For each line of cases.txt it runs a model of one operator, then its
// gradients, each once to the end and several times with a context that ends at a random moment, and prints the longest processor time from that
// moment to the return of the call.
//
//	cancel [-times 5] [-only Conv] [-least 100ms]
//
// Built with the tag gaps it also takes the longest processor time between two checks of the context in the run to the end, and prints
// the functions that made the later check, and with -stacks what ran between the two.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
)

//go:embed cases.txt
var cases string

func main() {
	times := flag.Int("times", 5, "contexts that end, for each run")
	only := flag.String("only", "", "only the cases that match this regular expression")
	least := flag.Duration("least", 0, "print only what takes longer")
	file := flag.String("cases", "", "a file to read instead of cases.txt")
	others := flag.Bool("calls", false, "measure calls of loading, saving, training and so on instead of cases.txt")
	flag.Parse()
	if *file != "" {
		b, err := os.ReadFile(*file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		cases = string(b)
	}
	runtime.GOMAXPROCS(1) // processor time is that of one thread
	nn.LimitMemory(6 << 30)
	pattern, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if *others {
		for _, c := range calls {
			if !pattern.MatchString(c.name) {
				continue
			}
			if err := measureCall(c, trial{times: *times, least: *least, rand: rand.New(rand.NewPCG(1, 1))}); err != nil {
				fmt.Println("failed:", c.name, err)
			}
			debug.FreeOSMemory()
		}
		return
	}
	for line := range strings.Lines(cases) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || !pattern.MatchString(line) {
			continue
		}
		if err := measure(line, *times, *least); err != nil {
			fmt.Println("failed:", line, err)
		}
		debug.FreeOSMemory()
	}
}

// measure measures a line's model, and its gradients if it has any.
func measure(line string, times int, least time.Duration) error {
	g, in, err := load(line)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 1))
	tried := trial{line: line, times: times, least: least, rand: r}
	if err := tried.run("run", func(ctx context.Context) error {
		g.Trim() // lowers it again
		_, err := g.Eval(ctx, in.feed)
		return err
	}); err != nil {
		return err
	}
	loss := addLoss(g)
	if loss == "" || len(in.wrt) == 0 {
		return nil
	}
	return tried.run("gradient", func(ctx context.Context) error {
		g.Trim()
		_, err := g.Grad(ctx, in.feed, loss, in.wrt...)
		return err
	})
}

// load returns the model of a line, and what to feed to it.
func load(line string) (*nn.Graph, *builder, error) {
	m, in, err := parse(line)
	if err != nil {
		return nil, nil, err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, nil, err
	}
	g, err := onnxio.Read(bytes.NewReader(b))
	return g, in, err
}

// addLoss adds the sum of all outputs of floating-point numbers; it returns "" if there are none.
func addLoss(g *nn.Graph) string {
	const name = "the loss"
	err := g.Edit(func(e *nn.Edit) {
		no := false
		var loss *nn.Value
		for _, v := range slices.Clone(e.Outputs()) {
			if t := v.Type(); t.Kind != op.Tensor || t.DType != dtype.Float32 && t.DType != dtype.Float64 {
				continue
			}
			x := e.Node(std.ReduceSumConfig{KeepDims: &no}, v).Out(0)
			if loss != nil {
				x = e.Node(op.Plain("Add"), loss, x).Out(0)
			}
			loss = x
		}
		if loss == nil {
			e.Fail(errors.New("no numbers"))
			return
		}
		e.Output(name, loss)
	})
	if err != nil {
		return ""
	}
	return name
}

type trial struct {
	line  string
	times int
	least time.Duration
	rand  *rand.Rand
}

// run runs f to its end, and then with contexts that end before.
func (t trial) run(what string, f func(ctx context.Context) error) error {
	begin := spent()
	longest, where, err := longestGap(f)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	total := spent() - begin
	for range t.times {
		took, err := canceled(f, time.Duration(t.rand.Float64()*float64(total)))
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		longest = max(longest, took)
	}
	if longest >= t.least {
		fmt.Printf("%-8s %6d ms of %6d ms  %s%s\n", what, longest.Milliseconds(), total.Milliseconds(), t.line, where)
	}
	return nil
}

// canceled runs f with a context that ends after some processor time, and returns how much more f took.
func canceled(f func(ctx context.Context) error, after time.Duration) (time.Duration, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begin, end := spent(), time.Duration(0)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil && spent()-begin < after {
			time.Sleep(time.Millisecond)
		}
		end = spent()
		cancel()
	}()
	err := f(ctx)
	returned := spent()
	cancel() // it may have been faster than the first time
	<-ended
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, context.Canceled) {
		return 0, err
	}
	return returned - end, nil
}
