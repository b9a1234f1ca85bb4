package engine

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

// Every loop of a builder over nodes, steps or values, of which there may be hundreds of thousands, counts its turns, so that compiling looks at
// its context.
func TestBuildersCountTurns(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	loops := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		text := func(n ast.Node) string { return string(src[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]) }
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.Contains(text(fn), "*builder") && (fn.Recv == nil || !strings.Contains(text(fn.Recv), "*builder")) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				r, ok := n.(*ast.RangeStmt)
				if !ok {
					return true
				}
				if _, few := r.X.(*ast.CompositeLit); few || strings.HasPrefix(text(r.X), "min(") || strings.Contains(text(fn.Body), "b.did(1 + len("+text(r.X)+")") {
					return true // a few, or counted together
				}
				loops++
				if body := text(r.Body); !strings.Contains(body, "b.turn()") && !strings.Contains(body, "b.did(") {
					t.Errorf("%v: the loop over %s counts no turns", set.Position(r.Pos()), text(r.X))
				}
				return true
			})
		}
	}
	if loops < 20 {
		t.Errorf("found only %d loops", loops)
	}
}

// Values of very many parts are counted and charged with looks at the context.
func TestManyItemsCheck(t *testing.T) {
	one := dtype.Value(dense(1))
	sequence := &dtype.Sequence{Elem: dtype.Float32, Items: slices.Repeat([]dtype.Value{one}, 8*checkEvery)}
	for _, v := range []dtype.Value{sequence, &dtype.Strings{Dims: []int{8 * checkEvery}, Elems: make([]string, 8*checkEvery)}, &dtype.Optional{Item: sequence},
		&dtype.Map{Keys: one, Values: sequence}} {
		if _, err := Footprint(&kerneltest.EndsAfter{Context: t.Context(), Left: 6}, v); err != context.Canceled {
			t.Errorf("counting a %T: %v", v, err)
		}
		if err := Hold(&kerneltest.EndsAfter{Context: t.Context(), Left: 6}, v); err != context.Canceled {
			t.Errorf("charging a %T: %v", v, err)
		}
	}
}

// The inputs of a step that makes its own values are copied with looks at the context.
func TestManyInputsCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	defer func() {
		if p := recover(); p != (kernel.Stopped{}) {
			t.Errorf("stopped by %v", p)
		}
	}()
	s := &step{kind: funcStep, in: make([]*value, kernel.CheckEvery/8), core: &Core{Func: func(*Exec, []gorgonia.Value) ([]gorgonia.Value, error) {
		t.Error("computed")
		return nil, nil
	}}}
	_ = s.runFunc(WithContext(ctx))
}
