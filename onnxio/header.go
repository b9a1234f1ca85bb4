package onnxio

import (
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn"
)

// Header is the information in the file of a model besides its graph.
type Header struct {
	IRVersion       int64          `json:"ir_version"`       // of the file format
	Producer        string         `json:"producer"`         // the program that wrote the file
	ProducerVersion string         `json:"producer_version"` // its version
	Doc             string         `json:"doc"`              // of the model
	Opsets          map[string]int `json:"opsets"`           // operator-set versions by domain; "" is ai.onnx
	Functions       []string       `json:"functions"`        // operators that the model defines
}

// HeaderOf returns the header of the file that g was loaded from. For a graph made by a program only the operator sets
// are set.
func HeaderOf(g *nn.Graph) Header {
	h := Header{Opsets: maps.Clone(g.Opsets()), Functions: []string{}}
	o := originOf(g)
	if o == nil || o.model == nil {
		return h
	}
	m := o.model
	h.IRVersion, h.Producer, h.ProducerVersion, h.Doc = m.GetIrVersion(), m.GetProducerName(), m.GetProducerVersion(), m.GetDocString()
	for _, f := range m.Functions {
		h.Functions = append(h.Functions, qualified(f.GetDomain(), f.GetName()))
	}
	return h
}

// Unsupported returns the names of the operators in g, subgraphs included, that graft cannot run, sorted and without
// duplicates.
func Unsupported(g *nn.Graph) []string {
	found := map[string]bool{}
	var visit func(g *nn.Graph)
	visit = func(g *nn.Graph) {
		for n := range g.Nodes() {
			if n.Op() == nil {
				found[qualified(n.Domain(), n.Type())] = true
			}
			for _, b := range n.Bodies() {
				visit(b.Graph)
			}
		}
	}
	visit(g)
	return append([]string{}, slices.Sorted(maps.Keys(found))...)
}

func qualified(domain, name string) string {
	if domain == "" || domain == "ai.onnx" {
		return name
	}
	return domain + "." + name
}
