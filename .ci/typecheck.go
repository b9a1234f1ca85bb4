// Typecheck checks the types of all packages of the module in the current folder for other systems, given as system/processor. It
// takes seconds where compiling takes minutes: of the packages of other modules it reads the declarations only.
//
//	go run .ci/typecheck.go windows/amd64 linux/386
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what go list prints for a package.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

func main() {
	log.SetFlags(0)
	failed := false
	for _, target := range os.Args[1:] {
		n, err := check(target)
		if err != nil {
			log.Printf("%s: %v", target, err)
			failed = true
			continue
		}
		fmt.Printf("%s: the types of %d packages are right\n", target, n)
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the number of packages of the module that have right types for a target.
func check(target string) (int, error) {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return 0, errors.New("want system/processor")
	}
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := list.Start(); err != nil {
		return 0, err
	}
	checked := map[string]*types.Package{"unsafe": types.Unsafe}
	own := 0
	var wrong []error
	for d := json.NewDecoder(out); ; { // dependencies come before what imports them
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return 0, err
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		main := p.Module != nil && p.Module.Main
		c := types.Config{
			IgnoreFuncBodies: !main,
			Sizes:            types.SizesFor("gc", processor),
			Error: func(err error) {
				if main {
					wrong = append(wrong, err)
				}
			},
			Importer: importer(func(path string) (*types.Package, error) {
				if mapped, ok := p.ImportMap[path]; ok {
					path = mapped
				}
				if q := checked[path]; q != nil {
					return q, nil
				}
				return nil, fmt.Errorf("package %s is not listed", path)
			}),
		}
		files := token.NewFileSet()
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return 0, err
			}
			parsed = append(parsed, f)
		}
		checked[p.ImportPath], err = c.Check(p.ImportPath, files, parsed, nil)
		if err != nil && !main {
			return 0, err
		}
		if main {
			own++
		}
	}
	return own, errors.Join(append(wrong, list.Wait())...)
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
