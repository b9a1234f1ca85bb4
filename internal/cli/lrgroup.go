package cli

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// rateGroups makes parameter groups from --lr-group: in "GLOB=RATE", GLOB matches parameters, or nodes with all their parameters.
func (t *training) rateGroups(g *nn.Graph) ([]train.ParamGroup, error) {
	rule, err := choose("optimizer", t.optimizer, rules)
	if err != nil {
		return nil, err
	}
	var groups []train.ParamGroup
	for _, s := range t.lrGroups {
		i := strings.LastIndex(s, "=")
		if i < 1 {
			return nil, fmt.Errorf("--lr-group %s: want GLOB=RATE, such as 'layer4/*=1e-4'", s)
		}
		pattern, number := s[:i], s[i+1:]
		rate, err := strconv.ParseFloat(number, 64)
		if err != nil || !(rate >= 0) {
			return nil, fmt.Errorf("--lr-group %s: %q is not a rate", s, number)
		}
		if err := matched(g, "lr-group", pattern); err != nil {
			return nil, err
		}
		params := trainedBy(g, pattern)
		if len(params) == 0 {
			return nil, fmt.Errorf("--lr-group %s: none of the matching parameters is trained", s)
		}
		own := t.settings
		if own.rate = rate; rate == 0 {
			own.rate = optim.Off
		}
		groups = append(groups, train.ParamGroup{Params: params, Rule: rule(own)})
	}
	return groups, nil
}

// trainedBy returns the trainable parameters whose names match, or if there are none, those of the nodes whose names match.
func trainedBy(g *nn.Graph, pattern string) []*nn.Param {
	var named, all []*nn.Param
	for n := range g.Nodes(nn.Glob(pattern)) {
		for _, v := range n.Inputs() {
			if v == nil || v.Param() == nil || !v.Param().Trainable() {
				continue
			}
			all = append(all, v.Param())
			if globbed(pattern, v.Name()) {
				named = append(named, v.Param())
			}
		}
	}
	if named != nil {
		return named
	}
	return all
}

// globbed is path.Match, except that * also matches slashes, as in selectors.
func globbed(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}
