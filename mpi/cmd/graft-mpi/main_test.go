//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/glyph"
	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/mpi/internal/mpitest"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// runVariable makes the test binary the command itself.
const runVariable = "GRAFT_MPI_TEST_MAIN=1"

func TestMain(m *testing.M) {
	if slices.Contains(os.Environ(), runVariable) {
		main()
	}
	os.Exit(m.Run())
}

// variables of all processes: one thread each, whose sums do not depend on how many there are.
var variables = []string{runVariable, "GOMAXPROCS=1"}

// alone runs the command as one process.
func alone(t *testing.T, args ...string) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// folder has two networks, images of digits as rows of numbers in three files, the second with other images and the third
// with a NaN, and gives paths in it.
func folder(t *testing.T) func(string) string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const n, size = 512, glyph.Size * glyph.Size
	for i, name := range []string{"digits.npz", "others.npz", "nan.npz"} {
		images, labels, err := glyph.Set("0123456789", n, uint64(1+i%2))
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			images[100*size] = float32(math.NaN())
		}
		err = onnxio.WriteFile(in(name), npz(map[string]*tensor.Dense{
			"x": tensor.New(tensor.WithShape(n, size), tensor.WithBacking(images)),
			"y": tensor.New(tensor.WithShape(n), tensor.WithBacking(labels)),
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	for seed, name := range []string{"mlp.onnx", "other.onnx"} {
		alone(t, "new", "mlp", "--input", fmt.Sprint(size), "--hidden", "32", "--classes", "10", "--dropout", "0", "--seed", fmt.Sprint(seed), "-o", in(name))
	}
	return in
}

// npz writes an archive of NumPy.
func npz(arrays map[string]*tensor.Dense) func(w io.Writer) error {
	return func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			part, err := z.Create(name + ".npy")
			if err == nil {
				err = npy.Write(part, arrays[name])
			}
			if err != nil {
				return err
			}
		}
		return z.Close()
	}
}

// command returns a run of so many epochs over digits.npz by 32 samples, into NAME.onnx and NAME.run.
func command(in func(string) string, name string, epochs int, more ...string) []string {
	return append([]string{"train", in("mlp.onnx"), "--data", in("digits.npz"), "--lr", "0.05", "--optimizer", "sgd", "--momentum", "0.9",
		"--batch", "32", "--epochs", fmt.Sprint(epochs), "-o", in(name + ".onnx")}, more...)
}

// difference returns the largest between the parameters of two models.
func difference(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := parameters(t, a), parameters(t, b)
	if len(x) == 0 || len(x) != len(y) {
		t.Fatalf("%d and %d numbers", len(x), len(y))
	}
	most := 0.0
	for i := range x {
		most = max(most, math.Abs(float64(x[i])-float64(y[i])))
	}
	return most
}

func parameters(t *testing.T, path string) (all []float32) {
	t.Helper()
	g, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for p := range g.Params() {
		if x, ok := p.Data().Data().([]float32); ok {
			all = append(all, x...)
		}
	}
	return all
}

// tolerance is for parameters after a few epochs, whose gradients were summed in another order.
const tolerance = 2e-5

func TestRanksAreOneProcess(t *testing.T) {
	in := folder(t)
	alone(t, command(in, "alone", 3)...)
	mpitest.Each(t, []int{2, 4}, func(t *testing.T, l mpitest.Launcher, n int) {
		name := fmt.Sprint(l.Name, n)
		out := l.Succeed(t, n, command(in, name, 3), variables...)
		for _, once := range []string{fmt.Sprintf("%d processes train together", n), "samples to train on", " 3/3 ", "best is epoch"} {
			if strings.Count(out, once) != 1 {
				t.Errorf("want %q once:\n%s", once, out)
			}
		}
		if d := difference(t, in("alone.onnx"), in(name+".onnx")); d > tolerance {
			t.Errorf("parameters differ by %g from those of one process", d)
		}
		again := l.Succeed(t, n, command(in, name+"-again", 3), variables...)
		if !same(t, in(name+".onnx"), in(name+"-again.onnx")) {
			t.Errorf("the same run gives other bytes:\n%s", again)
		}
		if n > 2 {
			return
		}
		for _, x := range [][]string{{"--shard-state"}, {"--reduce-in", "bfloat16"}} {
			l.Succeed(t, n, command(in, name+x[0], 3, x...), variables...)
			most := tolerance
			if len(x) > 1 {
				most = 0.05
			}
			if d := difference(t, in("alone.onnx"), in(name+x[0]+".onnx")); d > most {
				t.Errorf("%v: parameters differ by %g", x, d)
			}
		}
	})
}

// A run goes on with another number of ranks, or of one.
func TestResumeOnOtherRanks(t *testing.T) {
	in := folder(t)
	alone(t, command(in, "whole", 4)...)
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		for _, then := range []int{1, 4} {
			name := fmt.Sprint(l.Name, "-then-", then)
			l.Succeed(t, n, command(in, name, 2), variables...)
			if args := command(in, name, 4, "--resume"); then == 1 {
				alone(t, args...)
			} else {
				l.Succeed(t, then, args, variables...)
			}
			if d := difference(t, in("whole.onnx"), in(name+".onnx")); d > tolerance {
				t.Errorf("%d ranks after %d: parameters differ by %g from those of a run that was not interrupted", then, n, d)
			}
		}
	})
}

// TestRefusals checks that an error on one rank ends all ranks with an error.
func TestRefusals(t *testing.T) {
	in := folder(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		for _, x := range []struct{ from, to, says string }{
			{in("mlp.onnx"), in("other.onnx"), "the model differs from that of rank 0"},
			{in("digits.npz"), in("others.npz"), "data differs from that of rank 0"},
			{"0.05", "0.06", "Rule differs from that of rank 0"},
			{in("digits.npz"), in("nowhere.npz"), "rank 1 of 2: data: no such file or folder"},
		} {
			args := command(in, "refused", 2)
			others := slices.Clone(args)
			others[slices.Index(others, x.from)] = x.to
			r := l.StartEach(t, [][]string{append([]string{"-n", "1", binary}, args...), append([]string{"-n", "1", binary}, others...)}, variables...).Wait(t)
			times := n
			if strings.HasPrefix(x.says, "rank 1") {
				times = 1
			}
			if r.Status == 0 || strings.Count(r.Out, x.says) != times || times == n && (!strings.Contains(r.Out, "graft: rank 0 of 2: ") || !strings.Contains(r.Out, "graft: rank 1 of 2: ")) {
				t.Errorf("status %d, want %q %d times:\n%s", r.Status, x.says, times, r.Out)
			}
			if _, err := os.Stat(in("refused.onnx")); err == nil {
				t.Error("a model was written")
			}
		}
		args := command(in, "nan", 2)
		args[slices.Index(args, in("digits.npz"))] = in("nan.npz")
		r := l.Start(t, n, args, variables...).Wait(t)
		if r.Status == 0 || strings.Count(r.Out, "graft: rank ") != n || !strings.Contains(r.Out, "NaN") {
			t.Errorf("status %d, want one error about NaN from each rank:\n%s", r.Status, r.Out)
		}
	})
}

// TestOtherCommands checks that commands other than train run in one process, and that help is printed once.
func TestOtherCommands(t *testing.T) {
	in := folder(t)
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		r := l.Start(t, n, []string{"eval", in("mlp.onnx"), "--data", in("digits.npz")}, variables...).Wait(t)
		if r.Status == 0 || strings.Count(r.Out, "graft: rank 0 of 2: eval runs in one process, 2 were started") != 1 || strings.Contains(r.Out, "rank 1 of 2") {
			t.Errorf("status %d:\n%s", r.Status, r.Out)
		}
		for _, args := range [][]string{{"version"}, {"train", "--help"}} {
			if out := l.Succeed(t, n, args, variables...); strings.Count(out, map[string]string{"version": "kernels  ", "train": "Usage:"}[args[0]]) != 1 {
				t.Errorf("%v:\n%s", args, out)
			}
		}
		r = l.Start(t, n, command(in, "x", 1), append(variables, "GRAFT_MPI=/nowhere/libmpi.so")...).Wait(t)
		if r.Status == 0 || !strings.Contains(r.Out, "no MPI library found: GRAFT_MPI is /nowhere/libmpi.so") {
			t.Errorf("status %d:\n%s", r.Status, r.Out)
		}
	})
}

// long is the number of epochs of a run that is interrupted after the third.
const long = 200

// longCommand has few steps in an epoch, since each is a meeting of the ranks.
func longCommand(in func(string) string, name string, more ...string) []string {
	return command(in, name, long, append([]string{"--batch", "128"}, more...)...)
}

// A rank that is killed ends the run; one that is interrupted, by ctrl-C in the launcher's terminal or alone, too. The run goes on
// from its last checkpoint, to the bytes of one that was not interrupted.
func TestInterruptedRuns(t *testing.T) {
	in := folder(t)
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		whole := l.Name + "-whole"
		l.Succeed(t, n, longCommand(in, whole), variables...)
		for name, interrupt := range map[string]func(j *mpitest.Job, model string){
			"killed":      func(j *mpitest.Job, model string) { signalRank(t, model, 1, syscall.SIGKILL) },
			"killed-0":    func(j *mpitest.Job, model string) { signalRank(t, model, 0, syscall.SIGKILL) },
			"interrupted": func(j *mpitest.Job, model string) { signalRank(t, model, 1, syscall.SIGINT) },
			"ctrl-C":      func(j *mpitest.Job, model string) { j.Interrupt() },
		} {
			name := l.Name + "-" + name
			model := in(name + ".onnx")
			j := l.Start(t, n, longCommand(in, name), variables...)
			j.Await(t, fmt.Sprintf(" 3/%d ", long), 1)
			interrupt(j, model)
			r := j.Wait(t)
			if r.Status == 0 && !strings.HasSuffix(name, "ctrl-C") {
				t.Errorf("%s: status 0:\n%s", name, r.Out)
			}
			if strings.Contains(r.Out, "panic:") || strings.Contains(r.Out, "best is epoch") {
				t.Errorf("%s:\n%s", name, r.Out)
			}
			if _, err := os.Stat(model); err == nil {
				t.Errorf("%s: a model was written", name)
			}
			l.Succeed(t, n, longCommand(in, name, "--resume"), variables...)
			if !same(t, in(whole+".onnx"), model) {
				t.Errorf("%s: parameters differ by %g from those of a run that was not interrupted", name, difference(t, in(whole+".onnx"), model))
			}
		}
	})
}

// The others wait for a rank that is slow.
func TestSlowRank(t *testing.T) {
	in := folder(t)
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		name := l.Name + "-slow"
		j := l.Start(t, n, longCommand(in, name), variables...)
		j.Await(t, fmt.Sprintf(" 3/%d ", long), 1)
		signalRank(t, in(name+".onnx"), 1, syscall.SIGSTOP)
		time.Sleep(2 * time.Second)
		signalRank(t, in(name+".onnx"), 1, syscall.SIGCONT)
		if r := j.Wait(t); r.Status != 0 {
			t.Fatalf("status %d:\n%s", r.Status, r.Out)
		}
		l.Succeed(t, n, longCommand(in, l.Name+"-even"), variables...)
		if !same(t, in(name+".onnx"), in(l.Name+"-even.onnx")) {
			t.Error("a slow rank changes the result")
		}
	})
}

// signalRank sends a signal to the rank that trains a model.
func signalRank(t *testing.T, model string, rank int, signal syscall.Signal) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		line, _ := os.ReadFile(path)
		env, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		is := func(name string) bool { return bytes.Contains(env, fmt.Appendf(nil, "\x00%s=%d\x00", name, rank)) }
		if bytes.Contains(line, []byte("\x00"+model+"\x00")) && bytes.Contains(line, []byte("\x00train\x00")) && (is("OMPI_COMM_WORLD_RANK") || is("PMI_RANK")) {
			var pid int
			fmt.Sscanf(path, "/proc/%d/", &pid)
			syscall.Kill(pid, signal)
			return
		}
	}
	t.Errorf("rank %d is not there", rank)
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}
