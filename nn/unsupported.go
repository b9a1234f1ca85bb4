package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op"
)

// unsupported lists every node that graft has no operator for, in one error.
func unsupported(nodes []*Node) error {
	var order []op.Name
	where := map[op.Name][]string{}
	for _, n := range nodes {
		k := n.operator()
		if where[k] == nil {
			order = append(order, k)
		}
		where[k] = append(where[k], n.label())
	}
	var parts []string
	for _, k := range order {
		parts = append(parts, fmt.Sprintf("%s (%s)", k, joinSome(where[k], 5)))
	}
	return &Error{Stage: "lower", Kind: ErrUnsupported, Err: fmt.Errorf("unsupported operators: %s", joinSome(parts, len(parts)))}
}

func joinSome(list []string, most int) string {
	s := ""
	for i, x := range list {
		if i == most {
			return fmt.Sprintf("%s and %d more", s, len(list)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += x
	}
	return s
}
