package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
)

// loadToRun loads a model that is run unchanged, and warns if it was exported in training mode.
func (s source) loadToRun(path string) (*nn.Graph, error) {
	g, err := s.load(path)
	if err == nil && s.warnings != nil {
		if what := inTraining(g); what != "" {
			fmt.Fprintf(s.warnings(), "%s was exported in training mode: %s as in training, so that results depend on the other samples of a batch or are random; graft edit %[1]s --inference -o FILE fixes it\n", path, what)
		}
	}
	return g, err
}

// trainingNodes counts the nodes of a graph that behave as in training, by operator.
func trainingNodes(g *nn.Graph) map[string]int {
	counts := map[string]int{}
	for _, n := range g.TrainingNodes() {
		counts[n.Op().Name]++
	}
	return counts
}

// inTraining describes the nodes of a graph that behave as in training; "" if there are none.
func inTraining(g *nn.Graph) string { return runInTraining(trainingNodes(g)) }

func runInTraining(counts map[string]int) string {
	var list []string
	total := 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%d %s", counts[name], name))
		total += counts[name]
	}
	switch total {
	case 0:
		return ""
	case 1:
		return list[0] + " runs"
	}
	return strings.Join(list, " and ") + " run"
}

// inference converts a model that was exported in training mode to inference mode, before it is trained. It returns a description of
// the change, "" if there was none.
func inference(g *nn.Graph) (string, error) {
	what := inTraining(g)
	if what == "" {
		return "", nil
	}
	if err := g.Edit(func(e *nn.Edit) { e.InferenceMode() }); err != nil {
		return "", fmt.Errorf("the model was exported in training mode, %s as in training: %w", what, err)
	}
	return fmt.Sprintf("the model was exported in training mode, %s as in training: it is evaluated, and saved, in inference mode", what), nil
}

// separated gives parameters that the file stores once, since they were equal, a copy each. It returns a description, "" if there were none.
func separated(g *nn.Graph) (string, error) {
	copies := 0
	if err := g.Edit(func(e *nn.Edit) { copies = e.Separate() }); err != nil || copies == 0 {
		return "", err
	}
	return fmt.Sprintf("vectors of equal elements, such as the ones and zeros of normalizations that were never trained, are stored once for several parameters: %d copies made, each trained for itself", copies), nil
}
