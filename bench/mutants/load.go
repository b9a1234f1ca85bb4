package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is the package whose expressions are changed, parsed and with types.
type target struct {
	ImportPath string
	Dir        string
	GoFiles    []string

	fset   *token.FileSet
	files  map[string]*ast.File // by base name
	source map[string][]byte
	info   *types.Info
	types  *types.Package
	blocks map[string][]block // by base name
}

// block is a stretch of statements that the tests execute or not.
type block struct {
	from, to position
	ran      bool
}

type position struct{ line, column int }

func (p position) before(q position) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}

// goTool runs the go command as on a machine that has nothing else.
func goTool(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Env = bareEnvironment()
	return cmd
}

// bareEnvironment hides the shared folder and every other implementation from tests.
func bareEnvironment() []string {
	return append(os.Environ(), "GRAFT_SHARED=", "GRAFT_ORACLES=", "GRAFT_ORT=/nonexistent", "GRAFT_ANCHORS=/nonexistent", "GRAFT_PYTHON=/nonexistent")
}

func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, stderr.Bytes(), b)
	}
	return b, nil
}

func load(pkg string) (*target, error) {
	b, err := output(goTool("list", "-json=ImportPath,Dir,GoFiles", pkg))
	if err != nil {
		return nil, err
	}
	p := &target{fset: token.NewFileSet(), files: map[string]*ast.File{}, source: map[string][]byte{}}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, err
	}
	var list []*ast.File
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		if p.source[name], err = os.ReadFile(file); err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.fset, file, p.source[name], parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.files[name] = f
		list = append(list, f)
	}
	return p, p.check(list)
}

// check determines the types, with the compiled form of imported packages.
func (p *target) check(files []*ast.File) error {
	b, err := output(goTool("list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", p.ImportPath))
	if err != nil {
		return err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(b)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(exports[path])
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", lookup)}
	p.types, err = conf.Check(p.ImportPath, p.fset, files, p.info)
	return err
}

// cover runs the tests, but for those that are skipped, and remembers which statements they execute.
func (p *target) cover(profile, skip string) error {
	if _, err := output(goTool("test", "-count=1", "-skip", skip, "-coverprofile", profile, p.ImportPath)); err != nil {
		return err
	}
	f, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer f.Close()
	p.blocks = map[string][]block{}
	for s := bufio.NewScanner(f); s.Scan(); {
		file, rest, ok := strings.Cut(s.Text(), ".go:")
		if !ok {
			continue
		}
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column, &b.to.line, &b.to.column, &statements, &count); err != nil {
			return fmt.Errorf("%s: %q: %w", profile, s.Text(), err)
		}
		b.ran = count > 0
		name := filepath.Base(file) + ".go"
		p.blocks[name] = append(p.blocks[name], b)
	}
	return nil
}

// executed reports whether the tests execute the code at pos: the innermost enclosing block decides.
func (p *target) executed(pos token.Pos) bool {
	at := p.fset.Position(pos)
	here := position{at.Line, at.Column}
	var inner position
	ran := false
	for _, b := range p.blocks[filepath.Base(at.Filename)] {
		if here.before(b.from) || !here.before(b.to) || b.from.before(inner) {
			continue
		}
		if b.from != inner {
			ran = false
		}
		inner, ran = b.from, ran || b.ran
	}
	return ran
}

// dependents lists the packages of the module whose tests are linked with the target, smallest first.
func (p *target) dependents() ([]string, error) {
	b, err := output(goTool("list", "-test", "-json=ImportPath,Deps", "./..."))
	if err != nil {
		return nil, err
	}
	size := map[string]int{}
	var list []string
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var q struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		name, isTest := strings.CutSuffix(q.ImportPath, ".test")
		if isTest && name != p.ImportPath && slices.ContainsFunc(q.Deps, func(d string) bool {
			return d == p.ImportPath || strings.HasPrefix(d, p.ImportPath+" ")
		}) {
			size[name] = len(q.Deps)
			list = append(list, name)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return size[a] - size[b] })
	return list, nil
}
