package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
)

//go:embed torchvision_export.py
var networks string

// pause lets the threads of the process before come to rest.
const pause = 30 * time.Millisecond

// printTurns prints a table of times.
func printTurns(ctx context.Context, o options, files []string) error {
	fmt.Println("| model | graft, ms | ONNX Runtime, ms | PyTorch, ms |")
	fmt.Println("|---|---|---|---|")
	for _, file := range files {
		times, err := byTurns(ctx, file, o)
		if err != nil {
			return fmt.Errorf("%s: %w", modelName(file), err)
		}
		fmt.Printf("| %s |", modelName(file))
		for _, list := range times {
			slices.Sort(list)
			n := len(list)
			fmt.Printf(" %s (%s–%s) |", figure(list[n/2]), figure(list[n/4]), figure(list[n*3/4]))
		}
		fmt.Println()
	}
	return nil
}

// byTurns returns the milliseconds of the steps of graft, ONNX Runtime and PyTorch.
func byTurns(ctx context.Context, file string, o options) (times [3][]float64, err error) {
	g, x, s, err := prepare(file, o)
	if err != nil {
		return times, err
	}
	batch, err := batchOf(rand.New(rand.NewPCG(1, 2)), g, 4, x.Config.Loss != nil)
	if err != nil {
		return times, err
	}
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return times, err
	}
	defer os.RemoveAll(dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := onnxio.Save(at("step.onnx"), s.Graph); err != nil {
		return times, err
	}
	if err := onnxio.Save(at("start.onnx"), s.Start); err != nil {
		return times, err
	}
	job, err := json.Marshal(map[string]any{
		"start": at("start.onnx"), "step": at("step.onnx"), "threads": o.threads, "level": o.level, "seeded": s.Seeded, "seed": x.Config.Seed,
		"batches": []int{}, "timed": feeds(s, batch), "serve": true,
	})
	if err == nil {
		err = os.WriteFile(at("job.json"), job, 0o600)
	}
	if err != nil {
		return times, err
	}
	t, err := train.New(g, x.Config)
	if err != nil {
		return times, err
	}
	runtime, err := serve("node", "-e", script, "--", o.ort, at("job.json"))
	if err != nil {
		return times, fmt.Errorf("ONNX Runtime: %w", err)
	}
	defer runtime.close()
	torch, err := serve(o.python, "-c", networks, "--serve", modelName(file), strconv.Itoa(o.threads))
	if err != nil {
		return times, fmt.Errorf("PyTorch: %w", err)
	}
	defer torch.close()
	ours := func() (float64, error) {
		start := time.Now()
		_, err := t.Step(ctx, batch)
		return time.Since(start).Seconds() * 1000, err
	}
	const warm = 3
	for turn := range warm + o.turns {
		for i, one := range []func() (float64, error){ours, runtime.step, torch.step} {
			time.Sleep(pause)
			ms, err := one()
			if err != nil {
				return times, err
			}
			if turn >= warm {
				times[i] = append(times[i], ms)
			}
		}
	}
	return times, nil
}

// server is a process that does a step for each line that it is given and answers with its milliseconds.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err strings.Builder
}

// serve starts a server, which prints a line when it is ready.
func serve(name string, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(name, args...)}
	s.cmd.Stderr = &s.err
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewScanner(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if !s.out.Scan() {
		s.close()
		return nil, fmt.Errorf("ended: %s", strings.TrimSpace(s.err.String()))
	}
	return s, nil
}

func (s *server) step() (float64, error) {
	if _, err := io.WriteString(s.in, "\n"); err != nil || !s.out.Scan() {
		s.close()
		return 0, fmt.Errorf("%s ended: %s", s.cmd.Path, strings.TrimSpace(s.err.String()))
	}
	return strconv.ParseFloat(s.out.Text(), 64)
}

// close ends the process; its last answer is ignored.
func (s *server) close() {
	_ = s.in.Close()
	_ = s.cmd.Wait()
}
