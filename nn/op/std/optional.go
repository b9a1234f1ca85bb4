package std

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// OptionalConfig has the attribute of Optional: the type of an absent value.
type OptionalConfig struct {
	Type op.Type `onnx:"type"`
}

// Operator makes OptionalConfig a Config.
func (OptionalConfig) Operator() op.Name { return op.Name{Name: "Optional"} }

func optionalOps() []*op.Op {
	return []*op.Op{
		{Name: "Optional", Since: []int{15}, Doc: "An optional that holds the input, or nothing.",
			In: "input? V", Out: "output O", Attrs: OptionalConfig{}, Pinned: "an optional",
			Items: func(c *op.Call, in []op.Item) ([]op.Item, error) {
				return []op.Item{{Type: c.Out[0], Items: slices.Clone(in[:min(len(in), 1)])}}, nil
			},
			Infer: func(c *op.Call) ([]op.Type, error) {
				t := c.Config.(OptionalConfig).Type
				if c.Has(0) {
					t = c.In[0]
				} else if !t.Present() {
					return nil, c.Errorf("has neither an input nor a type")
				}
				return []op.Type{{Kind: op.Optional, Elem: &t}}, nil
			},
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				o := op.EmptyOptional(*c.Out[0].Elem)
				if len(in) > 0 && in[0] != nil {
					o.Item = in[0]
				}
				return []dtype.Value{o}, nil
			}},
		{Name: "OptionalHasElement", Since: []int{15, 18}, Versions: optionalVersions(), Doc: "Whether an optional holds a value. Other values count as held.",
			In: "input? O", Out: "output bool", NoGrad: boolResult, Pinned: "an optional",
			Items: func(c *op.Call, in []op.Item) ([]op.Item, error) {
				has := c.Has(0) && (in[0].Type.Kind != op.Optional || len(in[0].Items) > 0)
				return []op.Item{{Type: op.Shaped(dtype.Bool), Value: dtype.Scalar(has)}}, nil
			},
			Infer: func(*op.Call) ([]op.Type, error) { return []op.Type{op.Shaped(dtype.Bool)}, nil },
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				has := len(in) > 0 && in[0] != nil
				if has {
					if o, ok := in[0].(*dtype.Optional); ok {
						has = o.Item != nil
					}
				}
				return []dtype.Value{dtype.Scalar(has)}, nil
			}},
		{Name: "OptionalGetElement", Since: []int{15, 18}, Versions: optionalVersions(), Doc: "The value that an optional holds. Other values are passed on.",
			In: "input O", Out: "output V", Pinned: "an optional",
			Items: func(c *op.Call, in []op.Item) ([]op.Item, error) {
				switch {
				case in[0].Type.Kind != op.Optional:
					return in[:1], nil
				case len(in[0].Items) == 0:
					return nil, c.Errorf("the optional is empty")
				}
				return in[0].Items, nil
			},
			Infer: func(c *op.Call) ([]op.Type, error) {
				if v, err := c.Value(0); err == nil {
					if o, ok := v.(*dtype.Optional); ok && o.Item != nil {
						return []op.Type{op.TypeOf(o.Item)}, nil
					}
				}
				if c.In[0].Kind == op.Optional && c.In[0].Elem != nil {
					return []op.Type{*c.In[0].Elem}, nil
				}
				return []op.Type{c.In[0]}, nil
			},
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				o, ok := in[0].(*dtype.Optional)
				switch {
				case !ok:
					return []dtype.Value{in[0]}, nil
				case o.Item == nil:
					return nil, c.Errorf("the optional is empty")
				}
				return []dtype.Value{o.Item}, nil
			}},
	}
}

// optionalVersions: before version 18 other values than optionals are not taken.
func optionalVersions() []op.Version {
	return []op.Version{{At: 18, Down: func(n *op.Spelling) error {
		if !n.Has(0) || n.In[0].Type.Kind != op.Optional {
			return errors.New("that version takes optionals only")
		}
		return nil
	}}}
}
