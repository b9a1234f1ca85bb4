package generate

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/graft-ml/graft/nn"
)

// roles matches the name of a layer and the suffix for the role of its parameter.
var roles = regexp.MustCompile(`^(.+)[._/](weights?|bias|W|B|w|b|kernel|gamma|beta|scale|w_0|b_0|weight_[ih]h\w*|bias_[ih]h\w*|running_mean|running_var|moving_mean|moving_variance|mean|var)(:0)?$`)

// stem returns the name of the layer that parameters belong to, according to their names; "" if it is not clear.
func stem(params ...*nn.Value) string {
	for _, v := range params {
		for v != nil && v.Param() == nil && v.Producer() != nil { // follow values computed from a parameter back to it
			v = v.Producer().In(0)
		}
		if v == nil || v.Param() == nil || strings.Contains(v.Name(), "::") {
			continue
		}
		if m := roles.FindStringSubmatch(v.Name()); m != nil {
			return m[1]
		}
	}
	return ""
}

// scopeOf splits a name into its scopes, outermost first.
func scopeOf(name string) []string {
	list := strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '/' || c == ':' || unicode.IsSpace(c) })
	if len(list) > 0 && !strings.ContainsFunc(name, unicode.IsLetter) {
		return nil // a number is not a scope
	}
	return list
}

// scopeOfNode returns the scopes of a node. Exporters write the path of modules before the operator, each module with its
// own path: /layer1/layer1.0/conv1/Conv. nil: not known; empty: outside of all modules.
func scopeOfNode(n *nn.Node) []string {
	path := strings.Split(n.Name(), "/")
	if len(path) == 1 {
		return nil // a name without a path has no scope
	}
	list, last := []string{}, ""
	for _, p := range path[:len(path)-1] {
		if p == "" {
			continue
		}
		rest := strings.TrimPrefix(p, last+".")
		last = p
		list = append(list, scopeOf(rest)...)
		if scopeOf(rest) == nil {
			list = append(list, rest)
		}
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
