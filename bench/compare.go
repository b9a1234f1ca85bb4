package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cell is one place of the table.
type cell struct {
	name    string
	threads int
}

// framework is somebody who can be measured: a command that prints a result line.
type framework struct {
	name    string
	command func(c cell) *exec.Cmd
}

// compare runs all frameworks alternately, round after round, and prints the results.
func compare(o options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, c := range o.cases {
		r, err := line(o.equip(exec.Command(self, "-child", "-check", "-dir", o.dir, "-cases", c, "-threads", "2")), o.patience)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: output within %.1g of PyTorch's, losses of ten steps within %.1g of float64\n", c, r.OutputErr, r.LossErr)
	}
	all := map[string]map[cell][]result{}
	fs := frameworks(self, o)
	for round := range o.rounds {
		for _, name := range o.cases {
			for _, t := range o.threads {
				c := cell{name, t}
				for i := range fs {
					f := fs[(i+round)%len(fs)] // nobody is always the one that comes after another
					cmd := f.command(c)
					if cmd == nil {
						continue
					}
					r, err := line(o.equip(cmd), o.patience)
					if err != nil && f.name != "graft" && f.name != "base" {
						fmt.Fprintf(os.Stderr, "round %d %s/%d %s fails: %.300v\n", round+1, name, t, f.name, err)
						continue // a peer's failure is its own
					}
					if err != nil {
						return err
					}
					if all[f.name] == nil {
						all[f.name] = map[cell][]result{}
					}
					r.Framework, r.Case, r.Threads = f.name, c.name, c.threads
					all[f.name][c] = append(all[f.name][c], *r)
					fmt.Fprintf(os.Stderr, "round %d %s/%d %-20s train %8.2f infer %8.2f ms (CPU %.2f, %.2f), others' CPU %.0f%%\n", round+1, name, t, f.name, r.Train, r.Infer, r.TrainCPU, r.InferCPU, 100*r.Others)
				}
			}
		}
	}
	return report(o, fs, all)
}

// frameworks lists graft and the peers that are there.
func frameworks(self string, o options) []framework {
	common := func(c cell) []string {
		return []string{"--cases", c.name, "--threads", strconv.Itoa(c.threads), "--reps", strconv.Itoa(o.reps)}
	}
	seconds := fmt.Sprint(o.budget.Seconds())
	graft := func(program string, more ...string) func(c cell) *exec.Cmd {
		return func(c cell) *exec.Cmd {
			args := append([]string{"-child", "-dir", o.dir, "-budget", o.budget.String(), "-profile", o.profile, "-only", o.only}, common(c)...)
			return exec.Command(program, append(args, more...)...)
		}
	}
	list := []framework{{"graft", graft(self, fmt.Sprint("-data=", o.data))}}
	if o.base != "" {
		list = append(list, framework{"base", graft(o.base)})
	}
	if o.peers == "" {
		return list
	}
	script := cmp.Or(o.torch, filepath.Join(o.peers, "torch_anchor.py"))
	// The scripts repeat a run while others are busy; here every framework gets the same rounds.
	once := []string{"--rounds", "1", "--quiet", "1000", "--budget", seconds}
	list = append(list,
		framework{"torch", func(c cell) *exec.Cmd {
			return exec.Command("/usr/bin/python3", append(append([]string{script}, common(c)...), once...)...)
		}},
		framework{"torch channels-last", func(c cell) *exec.Cmd {
			if !images(o.dir, c.name) {
				return nil
			}
			return exec.Command("/usr/bin/python3", append(append([]string{script, "--channels-last"}, common(c)...), once...)...)
		}})
	for _, layout := range []string{"", "_nchw"} {
		if o.gomlx == "" {
			break
		}
		list = append(list, framework{strings.TrimSuffix("gomlx "+strings.Trim(layout, "_"), " "), func(c cell) *exec.Cmd {
			if c.name != "mlp" && c.name != "lenet" || c.name == "mlp" && layout != "" {
				return nil // the cases that its program has, too
			}
			return exec.Command(o.gomlx, "-cases", c.name+layout, "-backend", fmt.Sprintf("go:parallelism=%d", c.threads), "-steps", strconv.Itoa(min(o.reps, 40)))
		}})
	}
	if o.ort != "" && !o.avx2 {
		list = append(list, framework{"onnxruntime", func(c cell) *exec.Cmd {
			args := append([]string{filepath.Join(o.peers, "ort_anchor.js"), "--dir", o.dir, "--ort", o.ort}, common(c)...)
			cmd := exec.Command("node", append(args, once...)...)
			cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(o.ort, "node_modules"))
			return cmd
		}})
	}
	return list
}

// line runs a command, at most for as long as patience lasts, and reads the last line it prints.
func line(cmd *exec.Cmd, patience time.Duration) (*result, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	err := cmd.Start()
	if err == nil {
		end := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		if err = cmd.Wait(); !end.Stop() {
			err = fmt.Errorf("stopped after %v", patience)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", cmd.Args, err, errs.Bytes())
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var r result
	if err := json.Unmarshal(lines[len(lines)-1], &r); err != nil {
		return nil, fmt.Errorf("%v printed %q: %w", cmd.Args, out.Bytes(), err)
	}
	if r.Step > 0 {
		r.Train, r.Step = r.Step, 0
	}
	return &r, nil
}

// quietest condenses the rounds of a cell: the median of each figure over the half of the rounds with
// the least load from other processes.
func quietest(rs []result) result {
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b result) int {
		switch {
		case a.Others < b.Others:
			return -1
		case a.Others > b.Others:
			return 1
		}
		return 0
	})
	r := rs[0]
	rs = rs[:(len(rs)+1)/2]
	each := func(f func(*result) *float64) {
		var x []float64
		for i := range rs {
			x = append(x, *f(&rs[i]))
		}
		*f(&r) = median(x)
	}
	each(func(r *result) *float64 { return &r.Train })
	each(func(r *result) *float64 { return &r.Infer })
	each(func(r *result) *float64 { return &r.TrainCPU })
	each(func(r *result) *float64 { return &r.InferCPU })
	each(func(r *result) *float64 { return &r.Peak })
	each(func(r *result) *float64 { return &r.InferPeak })
	each(func(r *result) *float64 { return &r.Base })
	each(func(r *result) *float64 { return &r.Bare })
	each(func(r *result) *float64 { return &r.Others })
	return r
}
