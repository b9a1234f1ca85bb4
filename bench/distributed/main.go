// Command distributed computes how training scales over several nodes: it measures, in a step of one
// of them, when the gradients are ready, and adds the time that a network takes to sum them. With
// -check it measures some of the results, with a communicator that sleeps for that time.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"time"

	"github.com/graft-ml/graft/internal/localcomm"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// speeds are the measured networks: each rank's batch, and the latency of a message over Ethernet and
// over a faster interconnect.
var speeds = []struct {
	name string
	localcomm.Network
}{
	{"1 Gbit/s", localcomm.Network{Latency: 50 * time.Microsecond, Bandwidth: 1e9 / 8}},
	{"10 Gbit/s", localcomm.Network{Latency: 30 * time.Microsecond, Bandwidth: 10e9 / 8}},
	{"100 Gbit/s", localcomm.Network{Latency: 5 * time.Microsecond, Bandwidth: 100e9 / 8}},
}

func main() {
	steps := flag.Int("steps", 20, "steps that are measured; the fastest counts")
	check := flag.Bool("check", false, "measure some figures with a communicator that sleeps")
	half := flag.Bool("bfloat16", false, "gradients are sent in 16 bits")
	only := flag.String("only", "", "one of the networks")
	flag.Parse()
	log.SetFlags(0)
	for _, m := range models {
		if *only != "" && m.name != *only {
			continue
		}
		if err := m.show(*steps, *check, *half); err != nil {
			log.Fatal(m.name, ": ", err)
		}
	}
}

// show prints a table for a network.
func (m model) show(steps int, check, half bool) error {
	r := &recorder{Communicator: localcomm.Mirror(2)}
	took, err := m.measure(steps, false, nil, r)
	if err != nil {
		return err
	}
	alone, traced, sums := took[0], took[1], r.fastest
	bytes := 0.0
	for _, s := range sums {
		bytes += s.bytes
	}
	factor := 1.0
	if half {
		factor = 0.5
	}
	fmt.Printf("%s, %d samples on each node: %.1f MB of gradients in %d buckets, a step of one process takes %v\n", m.name, m.batch, bytes/1e6, len(sums), alone.Round(time.Millisecond))
	fmt.Printf("buckets are ready at (share of the step):")
	for _, s := range sums {
		fmt.Printf(" %.2f", s.ready.Seconds()/traced.Seconds())
	}
	fmt.Printf("\n%-12s", "nodes")
	nodes := []int{2, 4, 8, 16, 32, 64}
	for _, n := range nodes {
		fmt.Printf("%14d", n)
	}
	fmt.Println()
	for _, v := range speeds {
		fmt.Printf("%-12s", v.name)
		for _, n := range nodes {
			took, hidden := project(sums, traced, n, v.Network, factor)
			fmt.Printf("%7.0f%% (%2.0f%%)", 100*alone.Seconds()/took.Seconds(), 100*hidden)
		}
		fmt.Println()
		if !check {
			continue
		}
		for _, n := range []int{4, 16} {
			took, _ := project(sums, traced, n, v.Network, factor)
			slept, err := m.measure(max(3, steps/4), half, &localcomm.Delayed{Communicator: localcomm.Mirror(n), Network: v.Network})
			if err != nil {
				return err
			}
			fmt.Printf("  %d nodes: %v computed, %v measured with a network that sleeps\n", n, took.Round(time.Millisecond), slept[0].Round(time.Millisecond))
		}
	}
	return nil
}

// project returns how long a step takes on n nodes, and the share of the communication that the backward pass hides: a bucket is summed
// when it is ready and the one before is done; the parameters are updated when all are.
func project(sums []sum, step time.Duration, n int, v localcomm.Network, factor float64) (took time.Duration, hidden float64) {
	var end, all time.Duration
	last := sums[len(sums)-1].ready
	for i, s := range sums {
		t := v.AllReduce(n, s.bytes*factor)
		if i == len(sums)-1 {
			t += v.AllReduce(n, 8*100) // the step's status
		}
		all += t
		end = max(end, s.ready) + t
	}
	exposed := max(0, end-last)
	return step + exposed, 1 - exposed.Seconds()/all.Seconds()
}

// sum is a reduction in a step: when it begins, and how much is summed.
type sum struct {
	ready time.Duration
	bytes float64
}

// recorder notes when reductions begin.
type recorder struct {
	localcomm.Communicator
	begin   time.Time
	now     []sum
	fastest []sum
}

func (r *recorder) AllReduce(x []float32) error {
	r.now = append(r.now, sum{time.Since(r.begin), 4 * float64(len(x))})
	return r.Communicator.AllReduce(x)
}

// measure returns the time of the fastest step with each of some communicators, alternately: other
// load on the machine makes steps slower.
func (m model) measure(steps int, half bool, list ...train.Communicator) ([]time.Duration, error) {
	best, trainers := make([]time.Duration, len(list)), make([]*train.Trainer, len(list))
	for i, c := range list {
		g := nn.New(m.name)
		if err := g.Edit(m.build); err != nil {
			return nil, err
		}
		config := train.Config{Rule: optim.SGD{LR: 1e-4, Momentum: 0.9}, Communicator: c, Log: train.Quiet}
		if half {
			config.ReduceIn = dtype.BFloat16
		}
		var err error
		if trainers[i], err = train.New(g, config); err != nil {
			return nil, err
		}
	}
	b := m.sample()
	for n := range steps + 2 {
		for i, t := range trainers {
			begin := time.Now()
			r, records := list[i].(*recorder)
			if records {
				r.begin, r.now = begin, nil
			}
			if _, err := t.Step(context.Background(), b); err != nil {
				return nil, err
			}
			took := time.Since(begin)
			if n < 2 || best[i] > 0 && took >= best[i] { // the first lowers the graph, the second's buckets are in a new order
				continue
			}
			if best[i] = took; records {
				r.fastest = r.now
			}
		}
	}
	return best, nil
}

// sample returns a batch of noise.
func (m model) sample() data.Sample {
	x, y := dtype.New(m.input, append([]int{m.batch}, m.shape...)...), dtype.New(dtype.Int64, m.batch)
	r := rand.New(rand.NewPCG(1, 2))
	if m.input == dtype.Int64 {
		for i := range dtype.Slice[int64](x) {
			dtype.Slice[int64](x)[i] = int64(r.IntN(1000))
		}
	} else {
		for i := range dtype.Slice[float32](x) {
			dtype.Slice[float32](x)[i] = float32(r.NormFloat64())
		}
	}
	for i := range dtype.Slice[int64](y) {
		dtype.Slice[int64](y)[i] = int64(r.IntN(10))
	}
	return data.Sample{X: []*tensor.Dense{x}, Y: []*tensor.Dense{y}}
}
