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

// exportedNames parses the packages that a program may import, without mpi and ort, which are modules of their own, and
// returns their exported package-level names with the kind of declaration, by folder: without methods, fields and the types in
// nn/op/... that hold an operator's attributes.
func exportedNames(t *testing.T) map[string]map[string]token.Token {
	t.Helper()
	list, set := map[string]map[string]token.Token{}, token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path = filepath.ToSlash(path); d.IsDir() {
			name := d.Name()
			if path != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "internal", "bench", "cmd", "docs", "examples", "mpi", "ort"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil || f.Name.Name == "main" {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		add := func(kind token.Token, name string) {
			attributes := kind == token.TYPE && strings.HasPrefix(dir, "nn/op/") && strings.HasSuffix(name, "Config")
			if !ast.IsExported(name) || attributes {
				return
			}
			if list[dir] == nil {
				list[dir] = map[string]token.Token{}
			}
			list[dir][name] = kind
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(token.FUNC, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(token.TYPE, s.Name.Name)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							add(d.Tok, n.Name)
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// mostNames is how many exported names the module ("") and two of its packages may have.
var mostNames = map[string]int{"": 884, "nn": 130, "nn/op": 150}

// TestFewExportedNames keeps the API small enough to be known by heart.
func TestFewExportedNames(t *testing.T) {
	n := map[string]int{}
	for dir, names := range exportedNames(t) {
		n[dir] = len(names)
		n[""] += len(names)
	}
	for dir, most := range mostNames {
		if n[dir] > most || n[dir] == 0 {
			t.Errorf("%q has %d exported names, the most is %d: what does no program outside of the module need?", dir, n[dir], most)
		}
	}
}

// sameName lists the types that have one name in two packages, with the reason why no program is confused.
var sameName = map[string]string{
	"Case":      "of conformance: a test case of a model; of nn/op/optest: one of an operator. Different tests use them",
	"Config":    "of nn/op: the interface of attributes, which programs use through std's types; of train: settings",
	"DType":     "nn/op's is an alias of nn/dtype's",
	"Error":     "nn's is an alias of nn/op's",
	"Kind":      "of nn/op: the kind of a type, for authors of operators; of nn/mutate: the kind of a change, for searches",
	"Map":       "of nn/dtype: ONNX's map; of nn/op/coupling: how two axes depend on each other, only in couplings",
	"Options":   "settings of generate and of train/table, which have nothing to do with each other",
	"Reduction": "of nn/op/trait: declared by operators; of nn/prune: a setting of importance",
	"Rows":      "of nn/op/trait: declared by operators; of train/table: lines of a file",
	"Session":   "interfaces that backends of conformance and runtimes of train implement, each in a package of its own",
	"Source":    "of generate: its result; of nn/op: a value in a rewrite, for authors of operators",
	"Term":      "of nn/op: of a rewrite's pattern, for authors of operators; of optim: of a rule's formula, for authors of rules",
	"Value":     "a value of ONNX, in nn of the graph, in nn/dtype of a run. Programs that only use tensors do not name the second",
}

// TestOneNameOneType: two packages that a program uses together have no types of the same name.
func TestOneNameOneType(t *testing.T) {
	in := map[string][]string{}
	for dir, names := range exportedNames(t) {
		for name, kind := range names {
			if kind == token.TYPE {
				in[name] = append(in[name], dir)
			}
		}
	}
	for name, dirs := range in {
		if slices.Sort(dirs); len(dirs) > 1 && sameName[name] == "" {
			t.Errorf("%s is a type of %s", name, strings.Join(dirs, " and "))
		}
	}
	for name := range sameName {
		if len(in[name]) < 2 {
			t.Errorf("%s is a type of %s alone: take it off the list", name, in[name])
		}
	}
}
