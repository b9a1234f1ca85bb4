package graft_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// publicPackages parses the packages that a program may import, tests included, by their folders.
func publicPackages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	list, set := map[string][]*ast.File{}, token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != "." && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "internal", "bench", "cmd", "docs"}, name)) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && f.Name.Name != "main" && !ast.IsGenerated(f) {
			dir := filepath.ToSlash(filepath.Dir(path))
			list[dir] = append(list[dir], f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(list, ".")
	return list
}

// TestEveryNameHasADoc: exported constants, variables, functions, types, methods, fields and methods of interfaces say what they
// are, there, in the doc of their type or group, or by a tag that names an attribute of the standard. Generated files are left out.
func TestEveryNameHasADoc(t *testing.T) {
	for dir, files := range publicPackages(t) {
		said, own := false, false
		for _, f := range files {
			if strings.HasSuffix(f.Name.Name, "_test") || isTest(f) {
				continue
			}
			said, own = said || f.Doc != nil, true
			for _, d := range f.Decls {
				for _, name := range undocumented(d) {
					t.Errorf("%s: %s has no doc comment", dir, name)
				}
			}
		}
		if own && !said {
			t.Errorf("%s: the package has no doc comment", dir)
		}
	}
}

// isTest reports whether a file of a package's own tests imports testing; the packages for tests export what they have.
func isTest(f *ast.File) bool {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.FuncDecl); ok && g.Recv == nil && (strings.HasPrefix(g.Name.Name, "Test") || strings.HasPrefix(g.Name.Name, "Example") || strings.HasPrefix(g.Name.Name, "Fuzz") || strings.HasPrefix(g.Name.Name, "Benchmark")) && len(f.Imports) > 0 {
			return true
		}
	}
	return false
}

func undocumented(d ast.Decl) (list []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if receiver := receiverOf(d); d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || ast.IsExported(receiver)) {
			list = append(list, strings.TrimPrefix(receiver+"."+d.Name.Name, "."))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						list = append(list, n.Name)
					}
				}
			case *ast.TypeSpec:
				if !s.Name.IsExported() {
					continue
				}
				if d.Doc == nil && s.Doc == nil && s.Comment == nil {
					list = append(list, s.Name.Name)
				}
				list = append(list, undocumentedMembers(s, d.Doc.Text()+s.Doc.Text())...)
			}
		}
	}
	return list
}

// undocumentedMembers returns the fields and methods of a type that nothing is said of: no comment of their own, no word in the
// type's, no tag that names an attribute of the standard.
func undocumentedMembers(s *ast.TypeSpec, doc string) (list []string) {
	var fields *ast.FieldList
	const line = 80 // characters: the doc of a short type says what its fields are
	switch t := s.Type.(type) {
	case *ast.StructType:
		if t.End()-t.Pos() < line {
			return nil
		}
		fields = t.Fields
	case *ast.InterfaceType:
		if t.End()-t.Pos() < line {
			return nil
		}
		fields = t.Methods
	default:
		return nil
	}
	for _, f := range fields.List {
		doc += f.Doc.Text() // one comment may speak for several
	}
	for _, f := range fields.List {
		if f.Doc != nil || f.Comment != nil || f.Tag != nil && strings.HasPrefix(f.Tag.Value, "`onnx:") {
			continue
		}
		for _, n := range f.Names {
			if n.IsExported() && !regexp.MustCompile(`\b`+n.Name+`\b`).MatchString(doc) {
				list = append(list, s.Name.Name+"."+n.Name)
			}
		}
	}
	return list
}

func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return fmt.Sprint(e)
		}
	}
}

// TestEveryPackageHasAnExample: each package opens with a program that runs.
func TestEveryPackageHasAnExample(t *testing.T) {
	for dir, files := range publicPackages(t) {
		found, own := false, false
		for _, f := range files {
			own = own || !strings.HasSuffix(f.Name.Name, "_test")
			for _, d := range f.Decls {
				if g, ok := d.(*ast.FuncDecl); ok && g.Name.Name == "Example" {
					found = true
				}
			}
		}
		// ort's needs ONNX Runtime's library.
		if own && !found && dir != "ort" {
			t.Errorf("%s has no Example", dir)
		}
	}
}
