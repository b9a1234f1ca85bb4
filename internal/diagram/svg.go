package diagram

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/layered"
	"github.com/graft-ml/graft/nn"
)

// Options are the settings of a drawing.
type Options struct {
	All bool // also constants and arithmetic on shapes, and each instance of repeated blocks
}

// maxSide limits the size of a diagram in pixels; a larger one is scaled down. librsvg and cairo draw at most 32767.
const maxSide = 32000

// SVG draws a graph. The same graph gives the same bytes.
func (o Options) SVG(w io.Writer, g *nn.Graph) error {
	p, err := o.graph(g, nil, g.Opsets())
	if err != nil {
		return fmt.Errorf("graph %s cannot be drawn: %w", g.Name(), err)
	}
	var d document
	width, height := p.drawing.Width+2*edge, p.drawing.Height+2*edge
	scale := min(1, maxSide/max(width, height))
	d.write(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="0 0 %v %v">`+"\n", scale*width, scale*height, width, height)
	d.WriteString(style)
	d.write("<title>%v</title>\n", g.Name())
	d.drawing(p, edge, edge)
	d.WriteString("</svg>\n")
	_, err = io.WriteString(w, d.String())
	return err
}

const style = `<style>
svg { background: #ffffff; font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 11px }
text { fill: #1f2328 }
.title { font-size: 13px; font-weight: bold; text-anchor: middle }
.line { text-anchor: middle }
.label { fill: #57606a; stroke: #ffffff; stroke-width: 3px; paint-order: stroke }
.count { font-size: 13px; font-weight: bold; text-anchor: end }
.box { stroke: #57606a }
.plain { fill: #f6f8fa } .layer { fill: #d0e4fa } .activation { fill: #d3f0d6 } .control { fill: #fbfaff } .unknown { fill: #ffd8d3 }
.pill { fill: #fff4cc; stroke: #9a7b00 } .body { fill: #ffffff; stroke: #8c959f }
.block { fill: #f7f5ff; stroke: #6e5bb8; stroke-dasharray: 5 3 }
.wire { fill: none; stroke: #6e7781 }
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#6e7781"/></marker></defs>
`

// document is XML text.
type document struct{ strings.Builder }

// write formats numbers briefly and escapes texts.
func (d *document) write(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case float64:
			args[i] = strconv.FormatFloat(math.Round(a*10)/10+0, 'f', -1, 64)
		case string:
			var b strings.Builder
			_ = xml.EscapeText(&b, []byte(a))
			args[i] = b.String()
		}
	}
	fmt.Fprintf(d, format, args...)
}

// drawing draws elements and wires with their upper left corner at x, y.
func (d *document) drawing(p *drawing, x, y float64) {
	d.write("<g transform=\"translate(%v,%v)\">\n", x, y)
	for i, e := range p.elements {
		n := p.drawing.Nodes[i]
		d.element(e, n.X+(n.Width-e.width)/2, n.Y)
	}
	for i, w := range p.wires {
		d.wire(p, w, p.drawing.Wires[i])
	}
	for i, w := range p.wires {
		if at := p.drawing.Wires[i][0].A; w.label != "" {
			d.write("<text class=\"label\" x=\"%v\" y=\"%v\">%v</text>\n", at.X+4, at.Y+textSize+3, w.label)
		}
	}
	d.WriteString("</g>\n")
}

func (d *document) element(e *element, x, y float64) {
	switch {
	case e.port:
		return
	case e.times > 0:
		d.write("<g><rect class=\"block\" x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\" rx=\"6\"/>\n", x, y, e.width, e.height)
		d.drawing(e.inner[0], x+e.insideX(), y)
		d.write("<text class=\"count\" x=\"%v\" y=\"%v\">%v</text></g>\n", x+e.width-padding, y+titleSize+padding, e.strips[0].title)
		return
	}
	d.write("<g><title>%v</title>\n", e.about)
	if e.round {
		d.write("<rect class=\"pill\" x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\" rx=\"12\"/>\n", x, y, e.width, e.height)
	}
	at := y
	for i, s := range e.strips {
		height := s.height()
		if i == len(e.strips)-1 {
			height = y + e.height - at
		}
		if !e.round {
			d.write("<rect class=\"box %v\" x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\" rx=\"3\"/>\n", string(s.kind), x, at, e.width, height)
		}
		line := at + titleSize + 3
		d.write("<text class=\"title\" x=\"%v\" y=\"%v\">%v</text>\n", x+e.width/2, line, s.title)
		for _, text := range s.lines {
			line += lineHigh
			d.write("<text class=\"line\" x=\"%v\" y=\"%v\">%v</text>\n", x+e.width/2, line, text)
		}
		at += s.height()
	}
	left := x + around
	for _, p := range e.inner {
		width, height := p.size()
		d.write("<rect class=\"body\" x=\"%v\" y=\"%v\" width=\"%v\" height=\"%v\"/>\n", left-around/3, at, width+2*around/3, height+around/2)
		d.write("<text x=\"%v\" y=\"%v\">%v</text>\n", left, at+textSize+2, p.title)
		d.drawing(p, left, at+lineHigh+4)
		left += width + around
	}
	d.WriteString("</g>\n")
}

// wire draws the line of a value, and a curve with an arrow to each that reads it.
func (d *document) wire(p *drawing, w *wire, segments []layered.Segment) {
	var line strings.Builder
	for _, s := range segments {
		path := &document{}
		path.write("M%v %v", s.A.X, s.A.Y)
		if middle := (s.A.Y + s.B.Y) / 2; s.Straight {
			path.write("L%v %v", s.B.X, s.B.Y)
		} else {
			path.write("C%v %v %v %v %v %v", s.A.X, middle, s.B.X, middle, s.B.X, s.B.Y)
		}
		if s.To < 0 || p.elements[s.To].port {
			line.WriteString(path.String())
			continue
		}
		d.write("<path class=\"wire\" d=\"%v\" marker-end=\"url(#arrow)\"><title>%v</title></path>\n", path.String(), w.value.Name())
	}
	if line.Len() > 0 {
		d.write("<path class=\"wire\" d=\"%v\"><title>%v</title></path>\n", line.String(), w.value.Name())
	}
}
