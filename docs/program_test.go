package docs_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const path = "github.com/graft-ml/graft"

// outside returns a module of its own, as a reader has it, that uses this one where it is.
func outside(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(mod), "module "+path, "module guide\n\nrequire "+path+" v0.0.0\n\nreplace "+path+" => "+root, 1)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), text)
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	return dir
}

// writePrograms makes one program of all Go in the pages: a package for each page, a function for each block.
func writePrograms(t *testing.T, module string, pages map[string]page) {
	t.Helper()
	support, err := os.ReadFile(filepath.Join("testdata", "guide", "support.go"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(module, "guide", "support.go"), string(support))
	var main, imports bytes.Buffer
	for name, p := range pages {
		pkg := "page_" + strings.NewReplacer("/", "_", "-", "_", ".md", "").Replace(name)
		var body, calls bytes.Buffer
		for i, b := range p.blocks {
			if b.language != "go" || b.why != "" {
				continue
			}
			if strings.HasPrefix(b.text, "func ") || strings.HasPrefix(b.text, "type ") {
				fmt.Fprintf(&body, "%s\n", b.text)
				fmt.Fprintf(&calls, "%d: func(*guide.Reader) error { return nil },\n", i)
				continue
			}
			statements, err := complete(b)
			if err != nil {
				t.Errorf("%s:%d: %v\n%s", name, b.line, err, b.text)
				continue
			}
			fmt.Fprintf(&body, "func block%d(reader *guide.Reader) error {\nctx, g, x, fit, val := reader.Given()\n_, _, _, _, _ = ctx, g, x, fit, val\n"+
				"{\n//line %s:%d\n%s\n_ = g\nreturn reader.Keep(g)\n}\n}\n", i, name, b.line+1, statements)
			fmt.Fprintf(&calls, "%d: block%d,\n", i, i)
		}
		if calls.Len() == 0 {
			continue
		}
		fmt.Fprintf(&imports, "%q\n", "guide/"+pkg)
		fmt.Fprintf(&main, "%q: %s.Blocks,\n", name, pkg)
		source := fmt.Sprintf("%s\n// Blocks are the programs of the page.\nvar Blocks = map[int]func(*guide.Reader) error{\n%s}\n", body.String(), calls.String())
		write(t, filepath.Join(module, pkg, "page.go"), fmt.Sprintf("package %s\n\nimport (\n%s)\n\n%s", pkg, needed(source), source))
	}
	write(t, filepath.Join(module, "main.go"), fmt.Sprintf("package main\n\nimport (\n\"guide/guide\"\n%s)\n\nfunc main() {\n\tguide.Main(map[string]map[int]func(*guide.Reader) error{\n%s\t})\n}\n", imports.String(), main.String()))
}

// complete returns a block as statements of a function that returns an error: what a cell leaves out is filled in.
func complete(b *block) (string, error) {
	text := b.text
	parsed := func(s string) (*ast.BlockStmt, error) {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+s+"\n}", 0)
		if err != nil {
			return nil, err
		}
		return f.Decls[0].(*ast.FuncDecl).Body, nil
	}
	body, err := parsed(text)
	if err != nil {
		return "", err
	}
	uses := false // of an edit that is not there
	ast.Inspect(body, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok && len(f.Type.Params.List) > 0 && slices.ContainsFunc(f.Type.Params.List[0].Names, func(i *ast.Ident) bool { return i.Name == "e" }) {
			return false
		}
		if s, ok := n.(*ast.SelectorExpr); ok {
			if i, ok := s.X.(*ast.Ident); ok && i.Name == "e" {
				uses = true
			}
		}
		return true
	})
	switch {
	case uses:
		return "if err := g.Edit(func(e *nn.Edit) {\n" + text + "}); err != nil {\nreturn err\n}\n", nil
	case !b.cell:
		return text + tail(body), nil
	}
	const start = len("package p\nfunc f() {\n")
	var out strings.Builder
	for _, s := range body.List {
		source := text[int(s.Pos())-1-start : int(s.End())-1-start]
		switch s := s.(type) {
		case *ast.ExprStmt:
			fmt.Fprintf(&out, "guide.Check(%s)\n", source)
		case *ast.AssignStmt:
			fmt.Fprintln(&out, source)
			for _, l := range s.Lhs {
				if i, ok := l.(*ast.Ident); ok && i.Name != "_" {
					fmt.Fprintf(&out, "guide.Check(%s)\n", i.Name)
				}
			}
		default:
			fmt.Fprintln(&out, source)
		}
	}
	return out.String(), nil
}

// tail checks the error that a block leaves to what follows it.
func tail(body *ast.BlockStmt) string {
	for _, s := range body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, l := range a.Lhs {
				if i, ok := l.(*ast.Ident); ok && i.Name == "err" {
					return "if err != nil {\nreturn err\n}\n"
				}
			}
		}
	}
	return ""
}

// packages are those that a page's programs may use, by the names they go by.
var packages = map[string]string{
	"gorgonia": "gorgonia.org/gorgonia", "tensor": "gorgonia.org/tensor", "guide": "guide/guide",
	"bytes": "bytes", "bufio": "bufio", "context": "context", "errors": "errors", "fmt": "fmt", "image": "image", "io": "io", "iter": "iter", "maps": "maps", "math": "math", "os": "os", "slices": "slices",
	"strings": "strings", "testing": "testing", "time": "time", "log": "log", "rand": "math/rand/v2", "fs": "io/fs", "embed": "embed", "http": "net/http",
	"nn": path + "/nn", "op": path + "/nn/op", "std": path + "/nn/op/std", "contrib": path + "/nn/op/contrib", "optest": path + "/nn/op/optest", "dtype": path + "/nn/dtype",
	"layers": path + "/nn/layers", "initial": path + "/nn/initial", "prune": path + "/nn/prune", "mutate": path + "/nn/mutate", "onnxio": path + "/onnxio", "conformance": path + "/conformance", "generate": path + "/generate",
	"safetensors": path + "/safetensors", "optim": path + "/optim", "train": path + "/train", "data": path + "/train/data", "table": path + "/train/table",
	"token": path + "/train/token", "step": path + "/train/step",
}

// needed returns the imports of a source without any.
func needed(source string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source, 0)
	if err != nil {
		return "" // the compiler says where
	}
	var out strings.Builder
	seen := map[string]bool{}
	for _, i := range f.Unresolved {
		if p := packages[i.Name]; p != "" && !seen[p] {
			seen[p] = true
			fmt.Fprintf(&out, "%q\n", p)
		}
	}
	return out.String()
}

// TestExamples compiles the programs of examples/ in a module of their own, as a reader copies them.
func TestExamples(t *testing.T) {
	module := outside(t)
	list, err := filepath.Glob(filepath.Join("..", "examples", "0*"))
	if err != nil || len(list) == 0 {
		t.Fatal("no examples", err)
	}
	for _, dir := range list {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		if err := os.CopyFS(filepath.Join(module, filepath.Base(dir)), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "build", "./...")
	c.Dir = module
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
