package docs_test

import (
	"regexp"
	"strings"
)

// A block is what a page shows in a fence, or a statement of a table's column "you write".
type block struct {
	line     int
	language string // console, go, or another
	text     string
	want     string // of go: what the fence "text" after it says is printed
	model    string // of go: the file that g is loaded from
	cell     bool   // a statement of a table
	why      string // why the block is not run here
}

// A page is a file of Markdown. Comments in it speak to the test:
//
//	<!-- needs: flowers -->       data that stand for the reader's, made by this package (data_test.go)
//	<!-- model: cnn.onnx -->      the programs that follow get this model as g
//	<!-- not run: REASON -->      of the next block, or, before the first heading, of the whole page
//	<!-- not compared: REASON --> with ONNX Runtime, before the first heading: none of the models that the page writes
type page struct {
	needs       []string
	why         string // why nothing of it is run
	notCompared string
	blocks      []*block
}

var (
	directive = regexp.MustCompile(`^<!-- (needs|model|not run|not compared): (.*) -->$`)
	fence     = regexp.MustCompile("^```(\\w*)$")
	code      = regexp.MustCompile("`([^`]+)`")
)

func parse(text string) page {
	var p page
	var model, why string
	var open *block
	column, headed := -1, false
	for i, line := range strings.Split(text, "\n") {
		switch d, f := directive.FindStringSubmatch(line), fence.FindStringSubmatch(line); {
		case open != nil && line == "```":
			if n := len(p.blocks); open.language == "text" && n > 0 && p.blocks[n-1].language == "go" {
				p.blocks[n-1].want = open.text
			} else {
				p.blocks = append(p.blocks, open)
			}
			open = nil
		case open != nil:
			open.text += line + "\n"
		case f != nil:
			open = &block{line: i + 1, language: f[1], model: model, why: why}
			why = ""
		case d != nil && d[1] == "needs":
			p.needs = strings.Fields(d[2])
		case d != nil && d[1] == "model":
			model = d[2]
		case d != nil && d[1] == "not compared":
			p.notCompared = d[2]
		case d != nil && !headed:
			p.why = d[2]
		case d != nil:
			why = d[2]
		case strings.HasPrefix(line, "#"):
			headed = true
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for c, cell := range cells {
				if strings.TrimSpace(cell) == "you write" {
					column = c
				} else if c == column {
					for _, m := range code.FindAllStringSubmatch(cell, -1) {
						p.blocks = append(p.blocks, cellBlock(i+1, m[1], model))
					}
				}
			}
		default:
			column = -1
		}
	}
	return p
}

// cellBlock returns a command or a statement of a table's cell.
func cellBlock(line int, text, model string) *block {
	b := &block{line: line, language: "go", text: text + "\n", model: model, cell: true}
	if strings.HasPrefix(text, "graft ") {
		b.language, b.text = "console", "$ "+text+"\n"
	}
	return b
}

// A command is what follows "$ " in a console, here-documents included, and what it prints.
type command struct{ text, want string }

var hereDocument = regexp.MustCompile(`<<'?(\w+)'?`)

func commands(text string) (list []command) {
	end := "" // of the here-document that is open
	for line := range strings.Lines(text) {
		n := len(list) - 1
		switch rest, ok := strings.CutPrefix(line, "$ "); {
		case end != "":
			list[n].text += line
			if strings.TrimSpace(line) == end {
				end = ""
			}
		case ok:
			list = append(list, command{text: rest})
			if m := hereDocument.FindStringSubmatch(rest); m != nil {
				end = m[1]
			}
		case n >= 0 && strings.HasSuffix(strings.TrimRight(list[n].text, "\n"), `\`):
			list[n].text += line
		case n >= 0:
			list[n].want += line
		}
	}
	return list
}

// fraction is what differs from machine to machine: numbers with a fraction, and times.
var fraction = regexp.MustCompile(`-?\d+\.\d+(?:e[-+]?\d+)?|\b\d+(?: ?(?:ms|s|µs|h|min))\b`)

// agree reports whether output is what a page says: … stands for anything within a line, a line … for any number of lines,
// a number with a fraction for any other. Spaces at the end of lines, and blank lines at both ends, do not count.
func agree(got, want string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for line := range strings.Lines(strings.TrimSpace(want) + "\n") {
		if line = strings.TrimRight(line, " \n"); line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		line = regexp.QuoteMeta(fraction.ReplaceAllString(line, "#"))
		line = regexp.MustCompile(` +`).ReplaceAllString(line, " +")
		pattern.WriteString(strings.ReplaceAll(line, "…", ".*") + "\n")
	}
	pattern.WriteString("$")
	var lines strings.Builder
	for line := range strings.Lines(strings.TrimSpace(got) + "\n") {
		lines.WriteString(fraction.ReplaceAllString(strings.TrimRight(line, " \n"), "#") + "\n")
	}
	return regexp.MustCompile(pattern.String()).MatchString(lines.String())
}
