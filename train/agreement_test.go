package train

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// The version that ranks compare: of Go, of the module, of the sources it was built from.
func TestVersion(t *testing.T) {
	const own, other = "github.com/graft-ml/graft", "github.com/graft-ml/other"
	for want, info := range map[string]*debug.BuildInfo{
		"go1":                   {GoVersion: "go1", Main: debug.Module{Path: other, Version: "v1", Sum: "h1"}},
		"go1 v2 h2":             {GoVersion: "go1", Main: debug.Module{Path: other}, Deps: []*debug.Module{{Path: other, Version: "v3"}, {Path: own, Version: "v2", Sum: "h2"}}},
		"go1 (devel)  abc true": {GoVersion: "go1", Main: debug.Module{Path: own, Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "t"}, {Key: "vcs.modified", Value: "true"}}},
	} {
		if got := version(info, true); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := version(nil, false); got != "" {
		t.Errorf("a binary that knows nothing of itself has version %q", got)
	}
}

// A description distinguishes settings that differ, and no two processes' addresses.
func TestDescribe(t *testing.T) {
	text := func(x any) string {
		var b bytes.Buffer
		describe(&b, reflect.ValueOf(x), 0)
		return b.String()
	}
	one, half := 1.0, numbered(t, 0.5)
	g := nn.New("g")
	var p *nn.Param
	if err := g.Edit(func(e *nn.Edit) { p = e.Param("w", initial.Ones{}, 1).Param() }); err != nil {
		t.Fatal(err)
	}
	type list struct{ next *list }
	for i, c := range []struct {
		x    any
		want string
	}{
		{nil, ""}, {3, "3;"}, {"a", "a;"}, {true, "true;"}, {1.0, "4607182418800017408;"}, {[]int{1, 2}, "2:1;2;"}, {[]int(nil), "0:"}, {[2]string{"a", "b"}, "2:a;b;"},
		{struct {
			A int
			b string
		}{1, "x"}, "1;x;"},
		{func() {}, "func() false;"}, {(func())(nil), "func() true;"}, {map[string]int{"a": 1}, "map[string]int false;"}, {(chan int)(nil), "chan int true;"},
		{&one, "false;float64:"}, {(*float64)(nil), "true;"}, {p, "w;"}, {half, "(1);\x00\x00\x00?"}, {(*tensor.Dense)(nil), "true;"}, {(*nn.Param)(nil), "true;"},
		{&ParamGroup{Rank: 3}, "false;train.ParamGroup:0:0:3;0;0;true;"}, {ParamGroup{Rule: optim.SGD{Nesterov: true}}, "0:0:0;0;0;false;optim.SGD:" + text(optim.SGD{Nesterov: true})},
		{ParamGroup{Params: []*nn.Param{p}}, "0:1:w;0;0;0;true;"}, {&optim.Plateau{Patience: 2}, "false;optim.Plateau:" + text(optim.Plateau{Patience: 2})}, {g, "false;nn.Graph:"},
	} {
		if got := text(c.x); got != c.want {
			t.Errorf("case %d: %T is described as %q, want %q", i, c.x, got, c.want)
		}
	}
	long := &list{}
	for range 40 {
		long = &list{long}
	}
	type nest []nest
	round := nest{nil}
	round[0] = round
	if got := text(round); got != strings.Repeat("1:", 21) {
		t.Errorf("a list in itself is described as %q", got)
	}
	if got := strings.Count(text(long), "train.list:"); got != 11 { // twenty levels deep, of pointers and what they point to
		t.Errorf("%d members of a long list", got)
	}
}

// TestFacts checks what ranks compare before they train: all settings except those that may differ by rank.
func TestFacts(t *testing.T) {
	sums := func(c Config) map[string][32]byte {
		all := map[string][32]byte{}
		tr := &Trainer{g: nn.New("g"), c: c}
		for i, f := range tr.facts() {
			if all[f.name] = f.sum; i == 0 && f.name != "the version of graft" {
				t.Errorf("first comes %s", f.name)
			}
		}
		return all
	}
	before := sums(Config{})
	own := []string{"Communicator", "Context", "Workers", "Dir", "Log", "Observe"}
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		if _, ok := before["Config."+name]; ok == slices.Contains(own, name) {
			t.Errorf("Config.%s is compared: %v", name, ok)
		}
	}
	if len(before) != typ.NumField()-len(own)+3 {
		t.Errorf("%d facts of %d settings", len(before), typ.NumField())
	}
	for want, c := range map[string]Config{
		"": {Workers: 3, Log: Quiet, Observe: Quiet}, "Config.Batch": {Batch: 32}, "Config.Seed": {Seed: 1}, "whether there is a Config.Dir": {Dir: "d"}, "Config.Rule": {Rule: optim.SGD{}}, "Config.Loss": {Loss: MSE{}},
		"Config.Sampler": {Sampler: func(int, int) []int { return nil }}, "Config.Groups": {Groups: []ParamGroup{{}}}, "Config.Plateau": {Plateau: &optim.Plateau{}}, "Config.EMA": {EMA: 0.5}, "Config.OnStep": {OnStep: func(StepInfo) error { return nil }},
	} {
		var differ []string
		for name, sum := range sums(c) {
			if sum != before[name] {
				differ = append(differ, name)
			}
		}
		if got := strings.Join(differ, " "); got != want {
			t.Errorf("%s: differ %q", want, got)
		}
	}
	if sums(Config{Dir: "a"})["whether there is a Config.Dir"] != sums(Config{Dir: "b"})["whether there is a Config.Dir"] {
		t.Error("the name of a folder is a rank's own")
	}
}

// TestWriteModel checks what ranks compare of a model: nodes with labels and inputs, the graph's
// inputs and outputs, and parameters with their training settings.
func TestWriteModel(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,1]")
		y := e.Node(op.Plain("Mul"), x, e.Const("w", numbered(t, 0.5))).Out(0)
		y = e.Node(op.Plain("Clip"), y, nil, e.Const("most", numbered(t, 2))).Out(0)
		e.Output("y", y)
	}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	writeModel(&b, g)
	var want strings.Builder
	for n := range g.Nodes() {
		fmt.Fprint(&want, n.Type(), n.Label())
		switch n.Type() {
		case "Mul":
			fmt.Fprint(&want, " x w\n")
		case "Clip":
			fmt.Fprintf(&want, " %s most\n", n.Inputs()[0].Name())
		}
	}
	fmt.Fprintf(&want, "x float32[N,1]\ny %v\n", g.Outputs()[0].Type())
	for p := range g.Params() {
		fmt.Fprintln(&want, p.Name(), p.Role(), p.Frozen(), "float32[1]")
		want.WriteString(map[string]string{"w": "\x00\x00\x00?", "most": "\x00\x00\x00@"}[p.Name()])
	}
	if b.String() != want.String() {
		t.Errorf("%q\nwant %q", b.String(), want.String())
	}
}

// TestDataFacts checks what ranks compare of a set: its length, and its first and last sample.
func TestDataFacts(t *testing.T) {
	set := func(x ...float32) data.Dataset[data.Sample] {
		var list []data.Sample
		for i, v := range x {
			list = append(list, data.Sample{X: []*tensor.Dense{numbered(t, v)}, Y: []*tensor.Dense{numbered(t, float32(i))}})
		}
		return data.Of(list...)
	}
	facts := func(s data.Dataset[data.Sample]) []fact {
		f, err := dataFacts("it", s, 3)
		if err != nil || len(f) != 2 || f[0].name != "the length of it" || f[1].name != "a sample of it" {
			t.Fatal(f, err)
		}
		return f
	}
	base := facts(set(1, 2, 3))
	for name, c := range map[string]struct {
		set            data.Dataset[data.Sample]
		length, sample bool // as those of the first
	}{
		"the same": {set(1, 2, 3), true, true}, "the first": {set(0, 2, 3), true, false}, "the last": {set(1, 2, 4), true, false}, "in the middle": {set(1, 5, 3), true, true},
		"longer": {set(1, 2, 3, 3), false, false}, "one": {set(1), false, false}, "none": {set(), false, false}, "nil": {nil, false, false},
	} {
		f := facts(c.set)
		if (f[0].sum == base[0].sum) != c.length || (f[1].sum == base[1].sum) != c.sample {
			t.Errorf("%s: the same length %v, samples %v", name, f[0].sum == base[0].sum, f[1].sum == base[1].sum)
		}
	}
	if f, g := facts(nil), facts(set()); f[0].sum == g[0].sum {
		t.Error("no set is as long as one without samples")
	}
	broken := errors.New("broken")
	if _, err := dataFacts("it", unreadable{broken}, 3); !errors.Is(err, broken) || err.Error() != "train: sample 0 of it: broken" {
		t.Error(err)
	}
}

// mute gathers nothing.
type mute struct {
	Communicator
	err error
}

func (m mute) AllGather([]byte) error { return m.err }

// A setting, a model or a set that is not that of rank 0 is an error on all ranks, which names rank and fact.
func TestMatch(t *testing.T) {
	of := func(s string) fact { return fact{name: s, sum: [32]byte{byte(len(s))}} }
	bad := errors.New("bad")
	for name, c := range map[string]struct {
		facts [3][]fact
		errs  [3]error
		want  string
		rank  int
	}{
		"the same":       {facts: [3][]fact{{of("a"), of("bb")}, {of("a"), of("bb")}, {of("a"), of("bb")}}},
		"the second":     {facts: [3][]fact{{of("a"), of("bb")}, {of("a"), of("bb")}, {of("a"), of("b")}}, want: "rank 2: train: bb differs from that of rank 0: all ranks must have the same", rank: 2},
		"the first":      {facts: [3][]fact{{of("a"), of("bb")}, {of(""), of("bb")}, {of(""), of("b")}}, want: "rank 1: train: a differs from that of rank 0: all ranks must have the same", rank: 1},
		"fewer":          {facts: [3][]fact{{of("a"), of("bb")}, {of("")}, {of("a"), of("bb")}}, want: "rank 1: train: a differs from that of rank 0: all ranks must have the same", rank: 1},
		"one has failed": {facts: [3][]fact{{of("a")}, nil, {of("b")}}, errs: [3]error{nil, bad, nil}, want: "rank 1: bad", rank: 1},
	} {
		onRanks(3, func(r *ranks) {
			err := r.match(c.errs[r.rank], c.facts[r.rank])
			var e *RankError
			switch {
			case c.want == "" && err != nil, c.want != "" && !errors.As(err, &e):
				t.Errorf("%s, rank %d: %v", name, r.rank, err)
			case c.want != "" && r.rank == 0 && (err.Error() != c.want || e.Rank != c.rank || e.kind != failed):
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		})
	}
	var group sync.WaitGroup
	for _, c := range Local(2) {
		group.Go(func() {
			owner := new(Trainer)
			if err := joined(Communicator(mute{c, bad}), owner).match(nil, []fact{of("a")}); !errors.Is(err, bad) {
				t.Error(err)
			}
			runtime.KeepAlive(owner)
		})
	}
	group.Wait()
	if err := (*ranks)(nil).match(bad, nil); err != bad {
		t.Error(err)
	}
}
