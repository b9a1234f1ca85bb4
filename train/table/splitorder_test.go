package table_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
)

// TestSplitOrder: every exported function that divides what it gets returns the samples to train on first, those held out second.
func TestSplitOrder(t *testing.T) {
	const n = 8
	var files []data.ImageFile
	var masks []data.MaskItem
	var tagged []data.TaggedItem
	var csv strings.Builder
	csv.WriteString("a,y\n")
	for i := range n {
		name := fmt.Sprint(i, ".png")
		files, masks, tagged = append(files, data.ImageFile{Path: name}), append(masks, data.MaskItem{Image: name, Mask: name}), append(tagged, data.TaggedItem{Path: name})
		fmt.Fprintf(&csv, "%d,%d.5\n", i, 2*i)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := table.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	sizes := func(fit, held data.Dataset[data.Sample]) [2]int { return [2]int{fit.Len(), held.Len()} }
	divided := map[string]func() [2]int{
		"data.Split": func() [2]int {
			fit, held := data.Split(data.Of(make([]int, n)...), 0.25, 1)
			return [2]int{fit.Len(), held.Len()}
		},
		"data.Folders.Split": func() [2]int {
			return sizes((&data.Folders{Classes: []string{"a"}, Items: files}).Split(0.25, data.Preprocess{}))
		},
		"data.Masks.Split":  func() [2]int { return sizes((&data.Masks{Items: masks}).Split(0.25, 1, data.Preprocess{}, 4, 4)) },
		"data.Tagged.Split": func() [2]int { return sizes((&data.Tagged{Items: tagged}).Split(0.25, 1, data.Preprocess{})) },
		"table.Table.Divide": func() [2]int {
			fit, held := x.Divide(0.25, 1)
			return [2]int{len(fit), len(held)}
		},
	}
	for name, f := range divided {
		if got := f(); got != [2]int{6, 2} {
			t.Errorf("%s of a quarter of 8 returns %d and %d samples, want 6 to train on and 2 held out", name, got[0], got[1])
		}
	}
	paths, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || !d.Name.IsExported() || d.Type.Results == nil {
				continue
			}
			var names []string
			for _, r := range d.Type.Results.List {
				for _, n := range r.Names {
					names = append(names, n.Name)
				}
			}
			divides := strings.Contains(d.Name.Name, "Split") || strings.Contains(d.Name.Name, "Divide") || strings.Join(names, " ") == "fit held"
			if !divides {
				continue
			}
			name := f.Name.Name + "."
			if d.Recv != nil {
				typ := d.Recv.List[0].Type
				if p, ok := typ.(*ast.StarExpr); ok {
					typ = p.X
				}
				name += fmt.Sprint(typ) + "."
			}
			if found++; divided[name+d.Name.Name] == nil {
				t.Errorf("%s%s is not among those that this test calls", name, d.Name.Name)
			}
		}
	}
	if found != len(divided) {
		t.Errorf("%d functions are declared, %d are called", found, len(divided))
	}
}
