package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/token"
)

// padding returns how texts of a batch are padded: to the model's length, or to the longest one, rounded up to a
// multiple of eight so that there are few different lengths.
func (x *texts) padding() *data.Padding {
	pad, typ, left := x.tok.Pad()
	p := &data.Padding{Multiple: 8, Most: x.Length, Left: left}
	if x.fixed > 0 {
		p.Multiple, p.Most = x.fixed, x.fixed
	}
	for _, role := range x.roles {
		p.X = append(p.X, float64(map[string]int{"input_ids": pad, "token_type_ids": typ}[role]))
	}
	return p
}

// sample returns a text, or two, as inputs in the model's order.
func (x *texts) sample(ctx context.Context, text, pair string, p *data.Padding) (s data.Sample, err error) {
	var e token.Encoding
	if x.Pair == "" {
		e, err = x.tok.EncodeUntil(ctx, text, x.Length)
	} else {
		e, err = x.tok.EncodePairUntil(ctx, text, pair, x.Length)
	}
	if err != nil {
		return s, err
	}
	return x.inputsOf(e, p)
}

// inputsOf converts tokens to inputs in the model's order.
func (x *texts) inputsOf(e token.Encoding, p *data.Padding) (s data.Sample, err error) {
	if len(e.IDs) == 0 { // attention needs at least one token
		pad, typ, _ := x.tok.Pad()
		e = token.Encoding{IDs: []int{pad}, Types: []int{typ}, Words: []int{-1}}
	}
	s.Pad = p
	for i, v := range x.inputs {
		list := e.IDs
		switch x.roles[i] {
		case "attention_mask":
			list = slices.Repeat([]int{1}, len(e.IDs))
		case "token_type_ids":
			list = e.Types
		case "position_ids":
			list = upTo(len(e.IDs))
		}
		d, err := dtype.FromInts(dtype.Int64, list, len(list))
		if err == nil && v.Type().DType != dtype.Int64 {
			d, err = dtype.ConvertTo(v.Type().DType, d)
		}
		if err != nil {
			return s, fmt.Errorf("input %s: %w", v.Name(), err)
		}
		s.X = append(s.X, d)
	}
	return s, nil
}

// feed returns a batch of texts.
func (x *texts) feed(ctx context.Context, list, pairs []string) (nn.Feed, error) {
	p := x.padding()
	batch := make([]data.Sample, len(list))
	for i := range list {
		pair := ""
		if pairs != nil {
			pair = pairs[i]
		}
		var err error
		if batch[i], err = x.sample(ctx, list[i], pair, p); err != nil {
			return nil, err
		}
	}
	return x.collate(batch)
}

// collate is samples as a batch.
func (x *texts) collate(batch []data.Sample) (nn.Feed, error) {
	b, err := data.Collate(batch)
	if err != nil {
		return nil, err
	}
	feed := nn.Feed{}
	for i, v := range x.inputs {
		feed[v.Name()] = b.X[i]
	}
	return feed, nil
}

// set is texts with their targets, one for each along the first axis of y.
func (x *texts) set(ctx context.Context, list, pairs []string, targets data.Dataset[data.Sample]) (data.Dataset[data.Sample], error) {
	p := x.padding()
	all := make([]data.Sample, len(list))
	for i := range list {
		pair := ""
		if pairs != nil {
			pair = pairs[i]
		}
		var err error
		if all[i], err = x.sample(ctx, list[i], pair, p); err != nil {
			return nil, err
		}
		t, err := targets.At(i, nil)
		if err != nil {
			return nil, err
		}
		all[i].Y = t.X
	}
	return data.Of(all...), nil
}
