package op

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Validate returns an error if an operator is declared wrongly. A test runs it for every standard operator, and Set.With
// for operators that a program adds.
func Validate(o *Op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("operator %s: %v", o, r)
		}
	}()
	bad := func(format string, args ...any) error {
		return fmt.Errorf("operator %s: %s", o, fmt.Sprintf(format, args...))
	}
	if o.Name == "*" {
		return nil
	}
	if o.Name == "" || o.Doc == "" {
		return bad("name or doc is empty")
	}
	if len(o.Since) == 0 || !slices.IsSorted(o.Since) || o.Since[0] < 1 {
		return bad("Since %v is not an ascending list of versions", o.Since)
	}
	for i, s := range o.Versions {
		if !slices.Contains(o.Since, s.At) || i > 0 && s.At <= o.Versions[i-1].At {
			return bad("a step at version %d: want ascending ones of %v", s.At, o.Since)
		}
		for variable := range s.New {
			if _, ok := o.Where[variable]; !ok && !strings.Contains(string(o.In), " "+variable) {
				return bad("version %d widens %s, there is no such type variable", s.At, variable)
			}
		}
	}
	if o.Infer == nil {
		return bad("Infer is missing")
	}
	if n := count(o.Kernel != nil, o.Func != nil, o.Lower != nil); n != 1 {
		return bad("want one of Kernel, Func and Lower, got %d", n)
	}
	if o.Strings != nil && o.Kernel == nil {
		return bad("Strings stands in for a Kernel, there is none")
	}
	if n := count(o.Grad != nil, o.NoGrad != "", o.GradMissing != ""); o.Lower == nil && o.Items == nil && n != 1 || n > 1 {
		return bad("want a gradient, why it is zero or why it is missing, got %d of them", n)
	}
	if (o.Couple == nil) == (o.Pinned == "") {
		return bad("want couplings or the reason why axes are pinned")
	}
	if err := validateSlots(o); err != nil {
		return bad("%v", err)
	}
	return validateAttrs(o)
}

func count(b ...bool) (n int) {
	for _, x := range b {
		if x {
			n++
		}
	}
	return n
}

func validateSlots(o *Op) error {
	for _, slots := range []Slots{o.In, o.Out} {
		list := slots.List()
		for i, s := range list {
			if s.Variadic && i != len(list)-1 {
				return fmt.Errorf("slot %s is variadic but not the last", s.Name)
			}
		}
	}
	if o.Scheduling.View && len(o.Out.List()) != 1 {
		return fmt.Errorf("a view has one output")
	}
	return nil
}

func validateAttrs(o *Op) error {
	if o.Attrs == nil {
		return nil
	}
	t := reflect.TypeOf(o.Attrs)
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("operator %s: Attrs is a %v, want a struct", o, t)
	}
	for _, f := range fields(t) {
		setDefault(reflect.New(t).Elem().Field(f.index), f)
	}
	return nil
}
