package std

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/norm"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// GroupNormalizationConfig has the attributes of GroupNormalization.
type GroupNormalizationConfig struct {
	Epsilon   *float32 `onnx:"epsilon,nil=1e-05"`             // 1e-5 when nil
	NumGroups int      `onnx:"num_groups,required"`           // must divide the number of channels
	StashType int      `onnx:"stash_type,default=1,since=21"` // type to compute in; at least float32 is always used
}

// Operator makes GroupNormalizationConfig a Config.
func (GroupNormalizationConfig) Operator() op.Name { return op.Name{Name: "GroupNormalization"} }

// InstanceNormalizationConfig has the attributes of InstanceNormalization.
type InstanceNormalizationConfig struct {
	ConsumedInputs []int    `onnx:"consumed_inputs,until=5"` // of no effect
	Epsilon        *float32 `onnx:"epsilon,nil=1e-05"`       // 1e-5 when nil
}

// Operator makes InstanceNormalizationConfig a Config.
func (InstanceNormalizationConfig) Operator() op.Name { return op.Name{Name: "InstanceNormalization"} }

// groupNorms normalize blocks of channels of each image; a block of InstanceNormalization is one channel.
func groupNorms() []*op.Op {
	group := &op.Op{
		Name: "GroupNormalization", Since: []int{18, 21}, Versions: groupNormVersions(), Decompose: decomposeGroupNorm,
		Doc: "Normalizes groups of channels of each image.", Attrs: GroupNormalizationConfig{},
		In: "X T, scale T weight, bias T weight", Out: "Y T", Where: op.Where{"T": op.Floats()}, Scheduling: op.Scheduling{InPlace: []int{0}}, Couple: coupleGroupNorm,
		Traits: resizing(normalized(trait.ChannelsFirst), 0, resizeGroups),
	}
	instance := &op.Op{
		Name: "InstanceNormalization", Since: []int{1, 6, 22},
		Doc: "Normalizes each channel of each image.", Attrs: InstanceNormalizationConfig{},
		In: "input T, scale T weight, B T weight", Out: "output T", Where: op.Where{"T": op.Floats()}, Scheduling: op.Scheduling{InPlace: []int{0}}, Couple: coupleGroupNorm, Traits: normalized(trait.ChannelsFirst),
	}
	for _, o := range []*op.Op{group, instance} {
		o.Infer = func(c *op.Call) ([]op.Type, error) {
			_, err := groupNormOf(c)
			return []op.Type{c.In[0]}, err
		}
		o.Expose = spelled(exposeGroupNorm)
		o.Hidden = func(c *op.Call) []op.Type {
			m, _ := groupNormOf(c)
			t := op.Shaped(computed(c.In[0].DType), m.Rows)
			return []op.Type{t, t}
		}
		o.Kernel = func(c *op.Call) (op.Kernel, error) {
			m, err := groupNormOf(c)
			return mixedPrecision(c, groupNormed[float32](m), groupNormed[float64](m)), err
		}
		o.Grad = func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			m, err := groupNormOf(c)
			if err != nil {
				return nil, err
			}
			return c.ApplyN(3, m, dout[0], in[0], in[1], out[1], out[2])
		}
	}
	return []*op.Op{group, instance}
}

// computed returns the type that statistics of elements of type t are kept in.
func computed(t op.DType) op.DType {
	if t == dtype.Float64 {
		return t
	}
	return dtype.Float32
}

// groupNorm is the geometry: Rows blocks of Cols elements are normalized; then scale and bias
// have Affine entries for each image, each for Inner elements in a row.
type groupNorm struct {
	Rows, Cols            int
	Images, Affine, Inner int
	Eps                   float64
}

func (groupNorm) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "GroupNormalizationGrad"}
}

func groupNormOf(c *op.Call) (groupNorm, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return groupNorm{}, err
	}
	if rank < 2 {
		return groupNorm{}, c.Mismatch(0, "batch and channels", c.In[0])
	}
	ch := c.In[0].Shape[1]
	groups, affine, eps := ch.Size, ch, float64(0)
	switch cfg := c.Config.(type) {
	case GroupNormalizationConfig:
		groups, eps = cfg.NumGroups, orFloat(cfg.Epsilon, 1e-5)
		if groups < 1 || ch.Known() && ch.Size%groups != 0 {
			return groupNorm{}, c.Errorf("num_groups %d does not divide %v channels", groups, ch)
		}
		if c.Version < 21 {
			affine = op.D(groups)
		}
	case InstanceNormalizationConfig:
		eps = orFloat(cfg.Epsilon, 1e-5)
	}
	for _, i := range []int{1, 2} {
		if err := channelVector(c, i, affine); err != nil {
			return groupNorm{}, err
		}
	}
	if !c.In[0].Static() {
		return groupNorm{}, nil
	}
	n, chs, space := channels(c.In[0])
	per := chs * space
	m := groupNorm{Rows: n * groups, Images: n, Affine: affine.Size, Eps: eps}
	m.Cols, m.Inner = per/max(groups, 1), per/max(affine.Size, 1)
	return m, nil
}

func groupNormed[T kernel.Float](m groupNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		y := dtype.Elems[T](out[0])
		if y == nil {
			y = scratch[T](x)(m.Rows * m.Cols)
		}
		norm.LayerNorm(pool(x), m.Rows, m.Cols, T(m.Eps), dtype.Elems[T](in[0]), nil, nil, y, dtype.ElemsAt[T](out, 1), dtype.ElemsAt[T](out, 2))
		norm.ChannelAffine(pool(x), m.Images, m.Affine, m.Inner, y, dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), y)
		return nil
	}
}

func groupNormalizationGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "GroupNormalizationGrad", Since: []int{1}, Decompose: spelled(spellGroupNormGrad), Doc: "Gradient of GroupNormalization.",
		In: "dY T, X T, scale T, mean U, invstd U", Out: "dX T, dscale T, dbias T",
		Where: op.Where{"T": op.Floats(), "U": floatTypes}, Attrs: groupNorm{},
		Infer:       func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0], c.In[2], c.In[2]}, nil },
		GradMissing: op.NotTwice, Pinned: "gradient",
		Kernel: func(c *op.Call) (op.Kernel, error) {
			m := c.Config.(groupNorm)
			return mixedPrecision(c, groupNormBack[float32](m), groupNormBack[float64](m)), nil
		},
	}
}

func groupNormBack[T kernel.Float](m groupNorm) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dy, a, scale := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](in[2])
		mean, inv := dtype.Elems[T](in[3]), dtype.Elems[T](in[4])
		tmp := scratch[T](x)(len(dy))
		if ds := dtype.ElemsAt[T](out, 1); ds != nil {
			pool(x).Range(m.Rows, 1+4096/max(m.Cols, 1), func(lo, hi int) {
				for r := lo; r < hi; r++ {
					pool(x).InParts(m.Cols, func(lo, hi int) {
						for i := r*m.Cols + lo; i < r*m.Cols+hi; i++ {
							tmp[i] = dy[i] * (a[i] - mean[r]) * inv[r]
						}
					})
				}
			})
			norm.ChannelSum(pool(x), m.Images, m.Affine, m.Inner, tmp, ds)
		}
		if db := dtype.ElemsAt[T](out, 2); db != nil {
			norm.ChannelSum(pool(x), m.Images, m.Affine, m.Inner, dy, db)
		}
		if dx := dtype.Elems[T](out[0]); dx != nil {
			norm.ChannelAffine(pool(x), m.Images, m.Affine, m.Inner, dy, scale, nil, tmp)
			norm.LayerNormGrad(pool(x), m.Rows, m.Cols, a, nil, mean, inv, tmp, nil, dx, nil, nil, scratch[T](x))
		}
		return nil
	}
}

// coupleGroupNorm: an index within a group leaves every group, scale and bias with it. Space is
// normalized over.
func coupleGroupNorm(c *op.Call) []coupling.Coupling {
	list := normOver(c, func(axis int) bool { return axis > 1 })
	cfg, grouped := c.Config.(GroupNormalizationConfig)
	groups := cfg.NumGroups
	ch, affine := c.In[0].Shape[1].Size, c.In[1].Shape[0].Size
	if grouped && groups < ch {
		for i := range list {
			if list[i].From == coupling.In(0, 1) {
				list[i].Map = coupling.Map{Relation: coupling.NormGroup, Groups: groups}
			}
		}
	}
	for i := 1; i < 3; i++ {
		if affine == ch {
			list = append(list, op.Couple(coupling.In(i, 0), coupling.Out(0, 1)))
		}
	}
	return list
}

// resizeGroups counts the groups that still have channels.
func resizeGroups(r *op.Resizing) error {
	cfg := r.Call.Config.(GroupNormalizationConfig)
	kept, size := r.In[0].KeptOn(1), r.In[0].Old
	if kept == nil || size == nil || cfg.NumGroups == 0 {
		return nil
	}
	within := size[1] / cfg.NumGroups
	left := map[int]bool{}
	runs := 0
	for at, i := range kept {
		if i < 0 && kept[at-1] >= 0 {
			runs++
		}
		if i >= 0 {
			left[i/within] = true
		}
	}
	if runs == 1 && cfg.NumGroups > 1 { // whole groups come; within them there would be a run in each
		cfg.NumGroups = len(kept) / within
	} else {
		cfg.NumGroups = len(left)
	}
	r.Config = cfg
	return nil
}

// groupNormVersions: before version 21 there is a scale and a bias for each group, from then on for each channel.
func groupNormVersions() []op.Version {
	return []op.Version{{At: 21, Up: groupNormUp, Down: groupNormDown}}
}

func groupNormUp(n *op.Spelling) error {
	groups := n.Config.(GroupNormalizationConfig).NumGroups
	rank, err := n.Rank(0)
	if err != nil || rank < 2 {
		return errors.Join(err, errors.New("it has no channels"))
	}
	d := n.In[0].Type.Shape[1]
	if !d.Known() || d.Symbolic() || groups < 1 || d.Size%groups != 0 {
		return errors.New("the number of its channels is not known")
	}
	for i := 1; i < 3; i++ {
		column := n.Before("column", ReshapeConfig{}, n.In[i], n.Vector("shape", groups, 1))
		each := n.Before("each", op.Plain("Expand"), column, n.Vector("shape", groups, d.Size/groups))
		n.Put(i, n.Before("channels", ReshapeConfig{}, each, n.Vector("shape", -1)))
	}
	return nil
}

// groupNormDown normalizes with ones and zeros for the groups and scales and shifts channels after.
func groupNormDown(n *op.Spelling) error {
	c := n.Config.(GroupNormalizationConfig)
	rank, err := n.Rank(0)
	if err != nil {
		return err
	}
	scale, bias := spellPerChannel(n, 1, rank), spellPerChannel(n, 2, rank)
	for i := 1; i < 3; i++ {
		neutral, err := n.Filled("neutral", n.DType(0), float64(2-i), c.NumGroups) // ones, then zeros
		if err != nil {
			return err
		}
		n.Put(i, neutral)
	}
	c.StashType = 1
	n.Config = c
	n.After("scaled", n.Out[0].Type, op.Plain("Add"), bias)
	n.After("normal", n.In[0].Type, op.Plain("Mul"), scale)
	return nil
}

// spellPerChannel is input i, one number for each channel, as it broadcasts to a tensor of the given rank.
func spellPerChannel(n *op.Spelling, i, rank int) *op.Operand {
	wide := slices.Repeat([]int{1}, rank-1)
	wide[0] = -1
	return n.Before("channels", ReshapeConfig{}, n.In[i], n.Vector("shape", wide...))
}

// decomposeGroupNorm normalizes the groups as the channels of an InstanceNormalization, then scales and shifts channels.
func decomposeGroupNorm(n *op.Spelling) error {
	c := n.Config.(GroupNormalizationConfig)
	rank, err := n.Rank(0)
	if err != nil {
		return err
	}
	x := n.In[0]
	ones, err := n.Filled("ones", n.DType(0), 1, c.NumGroups)
	if err != nil {
		return err
	}
	zeros, err := n.Filled("zeros", n.DType(0), 0, c.NumGroups)
	if err != nil {
		return err
	}
	shape := n.Before("shape", ShapeConfig{}, x)
	y := n.Before("grouped", ReshapeConfig{}, x, n.Vector("groups", 0, c.NumGroups, -1))
	y = n.Before("normal", InstanceNormalizationConfig{Epsilon: c.Epsilon}, y, ones, zeros)
	y = n.Before("channels", ReshapeConfig{}, y, shape)
	y = n.Before("scaled", op.Plain("Mul"), y, spellPerChannel(n, 1, rank))
	n.Give(0, n.Before("", op.Plain("Add"), y, spellPerChannel(n, 2, rank)))
	return nil
}
