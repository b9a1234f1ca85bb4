package engine

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestGroupLimit: the smallest limit of a process's control group and of those around it counts.
func TestGroupLimit(t *testing.T) {
	files := map[string]string{
		"/sys/fs/cgroup/a/b/memory.max":                   "max\n",
		"/sys/fs/cgroup/a/memory.max":                     "5000\n",
		"/sys/fs/cgroup/memory/c/memory.limit_in_bytes":   "7000\n",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		"/sys/fs/cgroup/memory/c/d/memory.limit_in_bytes": "9000\n",
	}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}
	for groups, want := range map[string]int64{
		"0::/a/b\n": 5000, "4:memory:/c/d\n3:cpuset:/a\n": 7000, "0::/\n": math.MaxInt64, "damaged": math.MaxInt64,
	} {
		if got := groupLimit(groups, read); got != want {
			t.Errorf("%q: %d, want %d", groups, got, want)
		}
	}
}

// TestBudget: what programs take together is limited, and given back when they are closed.
func TestBudget(t *testing.T) {
	program := func() (*Program, error) {
		g := gorgonia.NewGraph()
		x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(512, 512), gorgonia.WithValue(tensor.New(tensor.WithShape(512, 512), tensor.Of(tensor.Float32))))
		return Compile(Options{}, gorgonia.Must(gorgonia.Tanh(x)))
	}
	one, err := program()
	if err != nil {
		t.Fatal(err)
	}
	LimitMemory(one.Stats().Arena * 5 / 2)
	defer LimitMemory(0)
	two, err := program()
	if err != nil {
		t.Fatal(err)
	}
	var full *MemoryError
	if _, err := program(); !errors.As(err, &full) {
		t.Fatal(err)
	}
	one.Close()
	two.Close()
	three, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if err := three.Run(context.Background()); err != nil {
		t.Error(err)
	}
	three.Close()
}
