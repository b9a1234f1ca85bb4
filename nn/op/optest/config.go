package optest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// checkDeclaration validates the operator and asks for its cost.
func (c *Case) checkDeclaration() error {
	if c.Config == nil {
		return errors.New("the case has no configuration")
	}
	set, err := c.set()
	if err != nil {
		return err
	}
	o, err := set.Of(c.Config)
	if err != nil {
		return err
	}
	if err := op.Validate(o); err != nil {
		return err
	}
	b, err := c.build(c.In)
	if err != nil {
		return err
	}
	if cost := b.call.Op.Cost; cost != nil {
		if macs, bytes := cost(b.call); macs < 0 || bytes < 0 {
			return fmt.Errorf("cost is %d multiply-adds and %d bytes", macs, bytes)
		}
	}
	return nil
}

// checkConfig encodes the configuration to attributes and decodes them again.
func (c *Case) checkConfig() error {
	set, err := c.set()
	if err != nil {
		return err
	}
	cfg, err := set.Complete(c.Config)
	if err != nil {
		return err
	}
	if c.decoded {
		cfg = c.Config
	}
	o := c.op()
	if o.Domain == op.Internal {
		return nil
	}
	version := c.Version
	if version == 0 {
		version = o.Latest()
	}
	attrs := map[string]any{}
	for _, a := range op.Encode(version, cfg) {
		attrs[a.Name] = a.Value
	}
	back, err := o.Decode(version, attrs)
	if err != nil {
		return err
	}
	return sameConfig(cfg, back)
}

func sameConfig(a, b op.Config) error {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	if v.Kind() != reflect.Struct {
		if a != b {
			return fmt.Errorf("%v became %v", a, b)
		}
		return nil
	}
	for i := range v.NumField() {
		x, y := v.Field(i).Interface(), w.Field(i).Interface()
		if p, ok := x.(dtype.Value); ok {
			q, _ := y.(dtype.Value)
			if err := Compare(q, p, 0); err != nil {
				return fmt.Errorf("field %s: %w", v.Type().Field(i).Name, err)
			}
			continue
		}
		if !reflect.DeepEqual(x, y) {
			return fmt.Errorf("field %s was %v and became %v", v.Type().Field(i).Name, x, y)
		}
	}
	return nil
}
