package step

import (
	"github.com/graft-ml/graft/nn"
	"gorgonia.org/tensor"
)

// Model is an exported training step.
type Model struct {
	// Graph computes one step. Its inputs are Inputs and Variables, its outputs Outputs and the next values of Variables.
	Graph *nn.Graph
	// Start has no inputs; its outputs are the initial values of all Variables, those of the model when it was exported.
	Start *nn.Graph

	Batch     []string   // inputs: those of the model, then the targets
	Variables []Variable // values that a step updates
	Seeded    bool       // whether there is an input "seed", for random operators

	first map[string]*tensor.Dense // initial values by variable
}

// Variable is a value that a step reads as an input and returns, updated, as an output.
type Variable struct {
	Name string       `json:"name"`         // name of the input, and of the output of Start
	Next string       `json:"next"`         // name of the output: Name followed by ".next"
	Kind VariableKind `json:"kind"`         // parameter, statistic or state
	Of   string       `json:"of,omitempty"` // for a state: its parameter
}

// Port is an input or output of a step that is not a variable.
type Port struct {
	Name string `json:"name"` // in the file
	Type string `json:"type"` // "float32[N,3,224,224]"
}

// Nodes returns the number of nodes of the step.
func (s *Model) Nodes() int {
	n := 0
	for range s.Graph.Nodes() {
		n++
	}
	return n
}

// Inputs returns the inputs except the variables: the batch, step, rate and, with random operators, seed.
func (s *Model) Inputs() []Port {
	return s.ports(s.Graph.Inputs(), func(v Variable) string { return v.Name })
}

// Outputs returns the outputs except the variables: the loss.
func (s *Model) Outputs() []Port {
	return s.ports(s.Graph.Outputs(), func(v Variable) string { return v.Next })
}

func (s *Model) ports(list []*nn.Value, name func(v Variable) string) []Port {
	variables := map[string]bool{}
	for _, v := range s.Variables {
		variables[name(v)] = true
	}
	var ports []Port
	for _, v := range list {
		if !variables[v.Name()] {
			ports = append(ports, Port{v.Name(), v.Type().String()})
		}
	}
	return ports
}

// VariableKind is the kind of a variable.
type VariableKind string

// The kinds of variables.
const (
	Parameter VariableKind = "parameter" // trained
	Statistic VariableKind = "statistic" // running statistic of a normalization
	State     VariableKind = "state"     // optimizer state, or accumulated gradients
)

// Inputs and outputs besides the batch and the variables.
const (
	StepInput = "step" // int64, number of batches so far
	RateInput = "rate" // float32, the schedule's factor on the rule's rate
	SeedInput = "seed" // int64, of random operators
	LossName  = "loss"

	// suffix is appended to the name of a variable for the output with its next value.
	suffix = ".next"
)
