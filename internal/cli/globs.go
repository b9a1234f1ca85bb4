package cli

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
)

// matched returns an error for a pattern that matches no node; the error lists similar names.
func matched(g *nn.Graph, flag, pattern string) error {
	for range g.Nodes(nn.Glob(pattern)) {
		return nil
	}
	if strings.HasPrefix(pattern, "@") {
		return fmt.Errorf("--%s %s: no node has such an annotation", flag, pattern)
	}
	return fmt.Errorf("--%s %s: no node or parameter has such a name%s", flag, pattern, near(g.Nodes(), pattern))
}

// near returns "; near it are a, b" for a pattern without matches.
func near(nodes iter.Seq[*nn.Node], pattern string) string {
	var list []string
	best := max(2, len(strings.Trim(pattern, "*"))/3)
	add := func(name string) {
		d := distanceTo(pattern, name)
		if name == "" || d > best || d == best && slices.Contains(list, name) {
			return
		}
		if d < best {
			best, list = d, nil
		}
		list = append(list, name)
	}
	for n := range nodes {
		add(n.Label())
		for _, v := range n.Inputs() {
			if v != nil && v.Param() != nil {
				add(v.Name())
			}
		}
	}
	if len(list) == 0 {
		return "; graft inspect lists them"
	}
	return "; near it: " + brief(list)
}

// distanceTo returns the edit distance between a pattern and a name, or its first or last part if stars match the rest.
func distanceTo(pattern, name string) int {
	first, _, open := strings.Cut(pattern, "*")
	if !open {
		return editDistance(strings.ToLower(pattern), strings.ToLower(name))
	}
	last := pattern[strings.LastIndex(pattern, "*")+1:]
	lower := strings.ToLower(name)
	head, tail := lower[:min(len(first), len(lower))], lower[max(0, len(lower)-len(last)):]
	d := editDistance(strings.ToLower(first), head) + editDistance(strings.ToLower(last), tail)
	if len(first)+len(last) <= d {
		return len(pattern) // nothing in common
	}
	return d
}
