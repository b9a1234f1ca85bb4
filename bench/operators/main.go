// Command operators times single operators for compare.py: each line of its input names a model with one input and
// one output of rank 0, and optionally some of its parameters; the answer is the time in milliseconds of a run, and
// of a run with the gradients with respect to the input and those parameters, each the minimum of all tries, or 0
// for what is not supported.
//
//	operators [-threads 1]
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

func main() {
	threads := flag.Int("threads", 1, "number of threads")
	profiled := flag.Duration("seconds", 40*time.Millisecond, "how long to measure each")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		forward, both, err := measure(words[0], words[1:], *profiled)
		if err != nil {
			fmt.Fprintln(os.Stderr, lines.Text(), err)
		}
		fmt.Println(forward, both)
	}
}

// measure times one model, and its gradients by its input and some parameters.
func measure(file string, params []string, seconds time.Duration) (forward, both float64, err error) {
	g, err := onnxio.Load(file)
	if err != nil {
		return 0, 0, err
	}
	input, output := g.Inputs()[0], g.Outputs()[0]
	x, err := random(input)
	if err != nil {
		return 0, 0, err
	}
	ctx := context.Background()
	if forward, err = best(seconds, func() error { _, err := g.Run(ctx, x); return err }); err != nil {
		return 0, 0, err
	}
	wrt := append([]string{input.Name()}, params...)
	both, err = best(seconds, func() error {
		_, err := g.Grad(ctx, nn.Feed{input.Name(): x}, output.Name(), wrt...)
		return err
	})
	return forward, both, err
}

// random returns a value for v with normally distributed elements.
func random(v *nn.Value) (*tensor.Dense, error) {
	var shape []int
	n := 1
	for _, d := range v.Type().Shape {
		if d.Size <= 0 {
			return nil, fmt.Errorf("the shape %v is not fixed", v.Type())
		}
		shape = append(shape, d.Size)
		n *= d.Size
	}
	r, x := rand.New(rand.NewPCG(1, 2)), make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x)), nil
}

// best returns the least number of milliseconds that f took.
func best(seconds time.Duration, f func() error) (float64, error) {
	least := math.Inf(1)
	for start, n := time.Now(), 0; n < 3 || time.Since(start) < seconds; n++ {
		t := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		least = min(least, float64(time.Since(t).Nanoseconds())/1e6)
	}
	return least, nil
}
