package graft_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// declares are the places that may name operators: those that declare them, programs beside the library, and packages
// that know of no operators, whose words are others: optimizers, kernels and tokenizers.
var declares = []string{"nn/op/...", "bench/...", "examples/...", "internal/conformance/...", "internal/engine/...", "internal/kernel/...", "internal/oracle/...", "optim/...", "train/token/..."}

// spells are the files that write a model as source: they name the standard's operators that a layer of nn/layers, or a
// function of Gorgonia, is made of. What they do not recognize is written as operators.
var spells = []string{
	"generate/activations.go",
	"generate/attention.go",
	"generate/channelnorm.go",
	"generate/composite.go",
	"generate/gorgonia.go",
	"generate/groupnorm.go",
	"generate/layers.go",
	"generate/projection.go",
	"generate/recurrent.go",
	"generate/tidy.go",
	"generate/windows.go",
}

// builds are the files that build nodes: they name what they build and decide nothing by names.
var builds = []string{
	"cmd/graft/demo/run.go",
	"internal/cli/recipelayer.go",
	"nn/layers/recurrent.go",
	"nn/tracelinear.go",
	"nn/tracepointwise.go",
	"nn/tracestock.go",
	"onnxio/storedweight.go",
	"train/crossentropy.go",
	"train/nll.go",
	"train/opsetbuilder.go",
	"train/step/builder.go",
}

// makes are the functions that make a node of the operator they are given the name of, in whatever file.
var makes = []string{"Plain", "put", "arithmetic", "activate", "softmax", "do", "node"}

// TestNamesDecideNothing keeps knowledge of operators in their own files: elsewhere no code tells operators apart by
// name or by the type of their attributes. What it needs to know of an operator is one of its op.Traits.
func TestNamesDecideNothing(t *testing.T) {
	names := map[string]bool{}
	for _, o := range std.Operators().List() {
		if o.Domain != op.Internal {
			names[o.Name] = true
		}
	}
	stale, may := map[string]bool{}, slices.Concat(spells, builds)
	for _, f := range may {
		stale[f] = true
	}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		file = filepath.ToSlash(file)
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || matches(declares, file)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		found, err := namesIn(file, names)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			delete(stale, file)
		}
		for _, s := range found {
			if !slices.Contains(may, file) || strings.Contains(s, noDomain) {
				t.Error(s)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range stale {
		t.Errorf("%s names no operator any more: take it off the list", file)
	}
}

const noDomain = "without its domain"

// namesIn lists where a file names operators as text, compares the name of a node's operator without its domain, or asks for
// the type of attributes.
func namesIn(file string, names map[string]bool) ([]string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		return nil, err
	}
	var found []string
	add := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: ", set.Position(n.Pos()))+fmt.Sprintf(format, args...))
	}
	attrs := func(x ast.Expr) {
		if s, ok := x.(*ast.SelectorExpr); ok && strings.HasSuffix(s.Sel.Name, "Config") && s.Sel.Name != "Config" {
			if p, ok := s.X.(*ast.Ident); ok && (p.Name == "std" || p.Name == "op") {
				add(x, "asks whether attributes are %s.%s: an operator's traits should answer", p.Name, s.Sel.Name)
			}
		}
	}
	made := map[ast.Node]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && names[s] && !made[n] {
				add(n, "names the operator %s: an operator's traits should answer", s)
			}
		case *ast.BinaryExpr:
			for x, y := range map[ast.Expr]ast.Expr{n.X: n.Y, n.Y: n.X} {
				c, call := x.(*ast.CallExpr)
				if l, ok := y.(*ast.BasicLit); ok && call && called(c) == "Type" && names[strings.Trim(l.Value, `"`)] {
					add(n, "compares the name of an operator %s", noDomain)
				}
			}
		case *ast.CallExpr:
			for _, a := range n.Args {
				made[a] = slices.Contains(makes, called(n))
			}
		case *ast.TypeAssertExpr:
			if n.Type != nil {
				attrs(n.Type)
			}
		case *ast.TypeSwitchStmt:
			for _, c := range n.Body.List {
				for _, x := range c.(*ast.CaseClause).List {
					attrs(x)
				}
			}
		}
		return true
	})
	return found, nil
}

// called returns the name of the function that is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
