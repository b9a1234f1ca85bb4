package diagram

import (
	"github.com/graft-ml/graft/internal/layered"
	"github.com/graft-ml/graft/nn"
)

// Distances, in pixels.
const (
	padding = 8.0 // between a box and its text
	around  = 14.0
	edge    = 12.0 // around the drawing
)

var spacing = layered.Spacing{Nodes: 26, Wires: 12, Layers: 36}

// place sets the sizes of the elements and computes the drawing.
func (p *drawing) place() error {
	if len(p.elements) == 0 {
		p.elements = append(p.elements, pill("nothing", ""))
	}
	starting := make([][]*wire, len(p.elements))
	reached := make([]bool, len(p.elements))
	for _, w := range p.wires {
		starting[w.from] = append(starting[w.from], w)
		for _, to := range w.to {
			reached[to] = true
		}
	}
	nodes := make([]layered.Node, len(p.elements))
	for i, e := range p.elements {
		e.measure()
		width := e.width
		if e.times == 0 {
			for _, w := range starting[i] { // labels are at the right of their edges
				width = max(width, (2*textWidth(w.label, textSize)+8)*float64(max(1, len(starting[i])-1)))
			}
			if n := float64(len(starting[i])); n > 1 { // all of them start at the box
				e.width = max(e.width, width*(n-1)/(n+1)+2*padding)
			}
		}
		nodes[i] = layered.Node{Width: width, Height: e.height, First: e.port && !reached[i], Last: e.port && reached[i]}
	}
	wires := make([]layered.Wire, len(p.wires))
	count := make([]int, len(p.elements))
	for i, w := range p.wires {
		e := p.elements[w.from]
		count[w.from]++
		at := nodes[w.from].Width * float64(count[w.from]) / float64(len(starting[w.from])+1)
		if e.times > 0 {
			at = (nodes[w.from].Width-e.width)/2 + e.exit(w.value)
		}
		wires[i] = layered.Wire{From: w.from, At: at, Label: textWidth(w.label, textSize) + 4}
		for _, to := range w.to {
			target := layered.Target{Node: to}
			if e := p.elements[to]; e.times > 0 {
				target.At, target.Fixed = (nodes[to].Width-e.width)/2+e.entry(w.value), true
			}
			wires[i].To = append(wires[i].To, target)
		}
	}
	var err error
	p.drawing, err = spacing.Place(nodes, wires)
	return err
}

// measure sets the size of the box.
func (e *element) measure() {
	if e.port {
		e.width, e.height = 2, 0
		return
	}
	e.height = 0
	e.width = 56
	for _, s := range e.strips {
		e.width = max(e.width, textWidth(s.title, titleSize)+2*padding)
		for _, line := range s.lines {
			e.width = max(e.width, textWidth(line, textSize)+2*padding)
		}
		e.height += s.height()
	}
	if len(e.inner) == 0 {
		return
	}
	width, height := around, 0.0
	for _, p := range e.inner {
		w, h := p.size()
		width += w + around
		height = max(height, h)
	}
	e.width = max(e.width, width)
	if e.times > 0 {
		e.width += 2 * (textWidth(e.strips[0].title, titleSize) + padding) // out of the wires' way
		e.height = height
		return
	}
	e.height += height + around
}

func (s strip) height() float64 {
	return titleSize + 8 + lineHigh*float64(len(s.lines))
}

// size is that of a body or block with its title.
func (p *drawing) size() (width, height float64) {
	width, height = p.drawing.Width, p.drawing.Height
	if p.title != "" {
		width = max(width, textWidth(p.title, textSize))
		height += lineHigh + 4
	}
	return width, height
}

// entry is where a wire enters a block, from its left.
func (e *element) entry(v *nn.Value) float64 {
	p := e.inner[0]
	for _, w := range p.wires {
		if w.value == v && p.elements[w.from].port {
			n := p.drawing.Nodes[w.from]
			return e.insideX() + n.X + n.Width/2
		}
	}
	return e.width / 2
}

// exit is where a wire leaves it.
func (e *element) exit(v *nn.Value) float64 {
	p := e.inner[0]
	for _, w := range p.wires {
		for _, to := range w.to {
			if w.value == v && p.elements[to].port {
				n := p.drawing.Nodes[to]
				return e.insideX() + n.X + n.Width/2
			}
		}
	}
	return e.width / 2
}

// insideX returns the left of a block's inside.
func (e *element) insideX() float64 {
	w, _ := e.inner[0].size()
	return (e.width - w) / 2
}
