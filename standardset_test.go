package graft_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// standardCallers are the functions that may ask for std.Operators: those where a graph begins, unless it is given
// another set, and those that describe the standard set itself. Everything else takes the set of its graph or call.
var standardCallers = []string{
	"internal/cli.aboutThis",
	"generate.var", // names it in the source that it writes
	"nn.New",
	"nn.Tracer.ops",
	"nn/op/gendoc.main",
	"nn/op/newop.main", // what exists already
	"nn/op/optest.Case.set",
	"nn/op/std.Operators",
	"nn/op/std.var",
	"onnxio.var",
}

// TestStandardSetIsADefault finds every mention of std.Operators outside of tests, example programs and benchmarks.
func TestStandardSetIsADefault(t *testing.T) {
	var got []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "examples" || d.Name() == "bench" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if mentionsStandard(decl, dir == "nn/op/std") {
				got = append(got, dir+"."+nameOf(decl))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(standardCallers))
	if !slices.Equal(got, want) {
		t.Errorf("std.Operators is mentioned in\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// mentionsStandard finds std.Operators, or inside of the package Operators and the value that it keeps.
func mentionsStandard(decl ast.Decl, inside bool) bool {
	found := false
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			found = found || ok && x.Name == "std" && n.Sel.Name == "Operators"
		case *ast.Ident:
			found = found || inside && (n.Name == "Operators" || n.Name == "standard")
		}
		return true
	})
	return found
}

func nameOf(decl ast.Decl) string {
	f, ok := decl.(*ast.FuncDecl)
	if !ok {
		return "var"
	}
	if f.Recv == nil {
		return f.Name.Name
	}
	r := f.Recv.List[0].Type
	if p, ok := r.(*ast.StarExpr); ok {
		r = p.X
	}
	return r.(*ast.Ident).Name + "." + f.Name.Name
}
