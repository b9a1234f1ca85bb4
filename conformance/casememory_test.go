package conformance_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
)

// TestCaseMemory: a case takes the model's weights once.
func TestCaseMemory(t *testing.T) {
	const elements = 1 << 20
	dir := t.TempDir()
	model := textModel(t, "input "+float("x", "2")+"output "+float("y", "2")+`node { op_type: "Add" input: "x" input: "s" output: "y" }
		node { op_type: "ReduceSum" input: "w" output: "s" attribute { name: "keepdims" type: INT i: 0 } }
		initializer { name: "w" data_type: 1 dims: 1048576 raw_data: "`+strings.Repeat(`\000`, 4*elements)+`" }`)
	writeCase(t, dir, model, map[string]any{"test_data_set_0/input_0.pb": vector("x", 1, 2), "test_data_set_0/output_0.pb": vector("y", 1, 2)})
	defer budget.Limit(0)
	for name, backend := range map[string]conformance.Backend{"graft": conformance.Graft{}, "tape machine": conformance.TapeMachine{}} {
		budget.Limit(budgettest.Used() + 6*elements)
		if r := (conformance.Runner{Backend: backend}).RunCase(t.Context(), conformance.Case{Name: "c", Dir: dir}); !r.OK {
			t.Errorf("%s: %s", name, r.Error)
		}
	}
}
