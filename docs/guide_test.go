package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// elsewhere are the pages that other tests run, or that hold nothing to run.
var elsewhere = map[string]string{
	"conformance.md":      "a list of failing tests, which nn/op/gendoc and .ci/verify write",
	"operators.md":        "written by nn/op/gendoc",
	"export-step.md":      "internal/cli TestExportStepPage runs its command and its programs in two languages",
	"onnxruntime.md":      "ort/cmd/graft-ort runs its commands",
	"mutation-testing.md": "make mutants takes hours",
	"models.md":           "written by bench/models",
	"reliability.md":      "make faults and make fuzz take hours",
}

// TestPages runs every page of this folder in a folder of its own: commands in a shell, programs compiled in a module outside
// of this one, in the order of the page. What they print must be what the page says. Models that a page writes give the
// same answers in ONNX Runtime, where that is installed.
func TestPages(t *testing.T) {
	pages := map[string]page{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" || strings.HasPrefix(path, "design") {
			return err
		}
		text, err := os.ReadFile(path)
		if p := parse(string(text)); p.why == "" && elsewhere[path] == "" {
			pages[path] = p
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range elsewhere {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	bin := t.TempDir()
	build(t, "..", filepath.Join(bin, "graft"), "./cmd/graft")
	module := outside(t)
	writePrograms(t, module, pages)
	build(t, module, filepath.Join(bin, "page"), ".")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, p := range pages {
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			dir := t.TempDir()
			for _, need := range p.needs {
				provide(t, dir, need)
			}
			r := &reader{dir: dir, name: name, address: listening}
			for i, b := range p.blocks {
				if b.why == "" {
					r.run(t, i, b)
				}
			}
			if p.notCompared == "" {
				compare(t, dir)
			}
		})
	}
}

func build(t *testing.T, dir, output, pkg string) {
	t.Helper()
	c := exec.Command("go", "build", "-o", output, pkg)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// reader is one who follows a page.
type reader struct{ dir, name, address string }

func (r *reader) run(t *testing.T, i int, b *block) {
	t.Helper()
	dir, name := r.dir, r.name
	switch b.language {
	case "console":
		list := commands(b.text)
		if len(list) == 0 {
			t.Errorf("%s:%d: no command in a console", name, b.line)
		}
		for _, c := range list {
			if strings.HasPrefix(c.text, "graft serve ") {
				if out := r.serve(t, c.text); c.want != "" && !agree(out, c.want) {
					t.Errorf("%s:%d: $ %sprints\n%s\nwant\n%s", name, b.line, c.text, out, c.want)
				}
				continue
			}
			out, err := shell(dir, strings.ReplaceAll(c.text, listening, r.address))
			refused := strings.HasPrefix(c.want, "graft: ")
			switch {
			case (err != nil) != refused:
				t.Fatalf("%s:%d: $ %s%v\n%s", name, b.line, c.text, err, out)
			case c.want != "" && !agree(out, c.want):
				t.Errorf("%s:%d: $ %sprints\n%s\nwant\n%s", name, b.line, c.text, out, c.want)
			}
		}
	case "go":
		out, err := shell(dir, "page "+strconv.Quote(name)+" "+strconv.Itoa(i)+" "+b.model)
		switch {
		case err != nil:
			t.Errorf("%s:%d: %v\n%s\n%s", name, b.line, err, b.text, out)
		case b.want != "" && !agree(out, b.want):
			t.Errorf("%s:%d: prints\n%s\nwant\n%s", name, b.line, out, b.want)
		}
	case "":
		if strings.Contains(b.text, "graft ") {
			t.Errorf("%s:%d: a command in a fence without a language is not run: write ```console and $, or why not", name, b.line)
		}
	case "json", "yaml", "csv", "text": // what commands read or print
	default:
		t.Errorf("%s:%d: %s is not run, and the page does not say why", name, b.line, b.language)
	}
}

func shell(dir, command string) (string, error) {
	c := exec.Command("bash", "-euo", "pipefail", "-c", command)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
