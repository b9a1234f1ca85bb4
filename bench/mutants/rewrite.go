package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// helpers is the file that every instrumented package gets beside its own.
//
//go:embed helpers.txt
var helpers string

// edit replaces a stretch of a file. Edits of nested expressions do not overlap: each is a
// few characters before, inside or after its expression.
type edit struct {
	at, length int
	text       string
	rank       int // among edits at the same place: ends before beginnings
	extent     int // of the expression: ends of the shorter come first, beginnings of the longer
	id         int // among changes of the same expression: the order of the ends is that of the beginnings reversed
}

func (w *finder) open(n ast.Node, text string) edit {
	return edit{at: w.offset(n.Pos()), text: text, rank: 1, extent: -w.offset(n.End())}
}

func (w *finder) close(n ast.Node, text string) edit {
	return edit{at: w.offset(n.End()), text: text, extent: -w.offset(n.Pos())}
}

func (w *finder) swap(p token.Pos, length int, text string) edit {
	return edit{at: w.offset(p), length: length, text: text, rank: 2}
}

func apply(src []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int {
		if a.at != b.at {
			return a.at - b.at
		}
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		if a.extent != b.extent {
			return a.extent - b.extent
		}
		if a.rank == 0 {
			return b.id - a.id
		}
		return a.id - b.id
	})
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		b.Write(src[at:e.at])
		b.WriteString(e.text)
		at = e.at + e.length
	}
	b.Write(src[at:])
	return b.Bytes()
}

var complaint = regexp.MustCompile(`(?m)([A-Za-z0-9_]+\.go):(\d+):\d+: `)

// compile writes an overlay with the first n sites that compile together. If the compiler reports an error, the sites of
// that line are replaced by others.
func (p *target) compile(all []*site, n int, dir, overlay string) ([]*site, error) {
	for {
		sample := all[:min(n, len(all))]
		if err := p.writeOverlay(sample, dir, overlay); err != nil {
			return nil, err
		}
		out, err := goTool("build", "-gcflags=-e", "-overlay", overlay, p.ImportPath).CombinedOutput()
		if err == nil {
			return sample, nil
		}
		before := len(all)
		for _, m := range complaint.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[2])
			all = slices.DeleteFunc(all, func(s *site) bool { return s.File == m[1] && s.Line == line })
		}
		if len(all) == before {
			return nil, fmt.Errorf("the changed package does not compile:\n%s", out)
		}
	}
}

func (p *target) writeOverlay(sample []*site, dir, overlay string) error {
	edits := map[string][]edit{}
	for i, s := range sample {
		s.ID = i + 1
		list := s.edits(s.ID)
		for _, e := range list {
			if e.id = s.ID; len(list) > 2 { // a changed operator is inside of what is around the expression
				e.id += len(sample)
			}
			edits[s.File] = append(edits[s.File], e)
		}
	}
	replace := map[string]string{}
	for name, list := range edits {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, apply(p.source[name], list), 0o666); err != nil {
			return err
		}
		replace[filepath.Join(p.Dir, name)] = file
	}
	file := filepath.Join(dir, "zmutants.go")
	if err := os.WriteFile(file, []byte(strings.Replace(helpers, "PACKAGE", p.types.Name(), 1)), 0o666); err != nil {
		return err
	}
	replace[filepath.Join(p.Dir, "zmutants.go")] = file
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(overlay, b, 0o666)
}
