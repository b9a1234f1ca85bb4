package train

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/optim"
)

// plan is the update rule of one parameter.
type plan struct {
	rule optim.Rule
	rate float64 // factor on the rule's rate
}

// grouping finds the groups of parameters, of which there may be one for each parameter.
type grouping struct {
	general []int               // groups that do not list parameters, by index
	of      map[*nn.Param][]int // groups that list a parameter, by index
}

func (c Config) grouping() *grouping {
	x := &grouping{of: map[*nn.Param][]int{}}
	for i, g := range c.Groups {
		if g.Params == nil {
			x.general = append(x.general, i)
		}
		for _, p := range g.Params {
			x.of[p] = append(x.of[p], i)
		}
	}
	return x
}

// candidates returns the groups that may match a parameter, by index, in order.
func (x *grouping) candidates(p *nn.Param) []int {
	if len(x.general) == 0 || len(x.of[p]) == 0 {
		return append(x.general[:len(x.general):len(x.general)], x.of[p]...)
	}
	list := slices.Concat(x.general, x.of[p])
	slices.Sort(list)
	return slices.Compact(list)
}

// planFor finds the parameter's group.
func (c Config) planFor(x *grouping, p *nn.Param) (plan, error) {
	for _, i := range x.candidates(p) {
		g := c.Groups[i]
		if !g.matches(p) {
			continue
		}
		r := plan{rule: g.Rule, rate: g.Rate}
		if r.rule == nil {
			r.rule = c.rule()
		}
		switch {
		case g.Rate == 0:
			r.rate = 1
		case g.Rate == optim.Off:
			r.rate = 0
		}
		if g.WeightDecay == 0 {
			return r, nil
		}
		var err error
		r.rule, err = withDecay(r.rule, g.WeightDecay)
		return r, err
	}
	return plan{c.rule(), 1}, nil
}

// matches reports whether a parameter that the group lists, if it lists any, has the rank and the name that it wants.
func (g ParamGroup) matches(p *nn.Param) bool {
	if g.Rank > 0 && p.Value().Type().Rank() > g.Rank {
		return false
	}
	for _, m := range g.Match {
		if glob(m, p.Name()) {
			return true
		}
	}
	return g.Match == nil
}

// checkGroups returns an error for a group without trainable parameters, such as one with a misspelled glob.
func (c Config) checkGroups(ctx context.Context, x *grouping, params []*nn.Param) error {
	found := make([]bool, len(c.Groups))
	for _, p := range params {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, i := range x.candidates(p) {
			found[i] = found[i] || c.Groups[i].matches(p)
		}
	}
	for i, g := range c.Groups {
		if !found[i] {
			return fmt.Errorf("train: group %d, %q, matches none of the %d trainable parameters", i, strings.Join(g.Match, " "), len(params))
		}
		if g.Rank < 0 {
			return fmt.Errorf("train: group %d: Rank is %d: want 0 or more", i, g.Rank)
		}
		if g.Rate < 0 && g.Rate != optim.Off {
			return fmt.Errorf("train: group %d: Rate is %v: want a positive factor, or optim.Off", i, g.Rate)
		}
	}
	return nil
}

// withDecay returns the rule with another weight decay.
func withDecay(r optim.Rule, decay float64) (optim.Rule, error) { return with(r, "WeightDecay", decay) }

// with returns a copy of the rule with a setting changed.
func with(r optim.Rule, setting string, x float64) (optim.Rule, error) {
	v := reflect.ValueOf(r)
	if v.Kind() != reflect.Struct {
		return nil, fmt.Errorf("train: %s is set for parameters, but the rule %T has no such setting", setting, r)
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	f := c.FieldByName(setting)
	if !f.IsValid() || f.Kind() != reflect.Float64 {
		return nil, fmt.Errorf("train: %s is set for parameters, but the rule %T has no such setting", setting, r)
	}
	f.SetFloat(x)
	return c.Interface().(optim.Rule), nil
}

// glob is path.Match, except that * also matches slashes.
func glob(pattern, name string) bool {
	const slash = "\x00"
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
	return ok && err == nil
}
