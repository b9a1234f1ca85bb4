package onnxio

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// Upsample 9 and Resize 10 compute the same, as does Resize 11 with these attributes.
var upsampled = op.ResizeConfig{Coordinates: "asymmetric", Nearest: "floor"}

func scalesToInput(c *conversion) error {
	v := get[[]float32](c, "Scales")
	c.set("Scales", nil)
	d, err := dtype.FromSlice(v, len(v))
	name, err := c.addConstant("scales", d, err)
	c.put(1, name)
	return err
}

func scalesToAttribute(c *conversion) error {
	d, err := c.constant(1)
	if err != nil {
		return err
	}
	if d == nil {
		return errors.New("it has no scales")
	}
	c.set("Scales", slices.Clone(dtype.Slice[float32](d)))
	c.drop(1)
	return nil
}

func upsampleToResize(c *conversion) error {
	mode := get[string](c, "Mode")
	if mode == "bilinear" {
		mode = "linear"
	}
	c.config = op.Fill(op.ResizeConfig{Mode: mode})
	return nil
}

func resizeToUpsample(c *conversion) error {
	c.config = op.Fill(op.UpsampleConfig{Mode: get[string](c, "Mode")})
	return nil
}

func resizeUp(c *conversion) error {
	c.set("Coordinates", upsampled.Coordinates)
	c.set("Nearest", upsampled.Nearest)
	c.in = []string{c.in[0], "", c.in[1]}
	return emptyInputs(c)
}

func resizeDown(c *conversion) error {
	cfg := c.config.(op.ResizeConfig)
	if cfg.Coordinates != upsampled.Coordinates || cfg.Mode == "nearest" && cfg.Nearest != upsampled.Nearest || cfg.Mode == "cubic" {
		return fmt.Errorf("mode %q with coordinates %q and nearest mode %q is not known there", cfg.Mode, cfg.Coordinates, cfg.Nearest)
	}
	if c.has(3) || !c.has(2) {
		return errors.New("it has no scales")
	}
	c.config = op.Fill(op.ResizeConfig{Mode: cfg.Mode})
	c.in = []string{c.in[0], c.in[2]}
	return nil
}

// emptyInputs: before version 13 regions and scales that are absent are tensors without elements.
func emptyInputs(c *conversion) error {
	for i := 1; i < 3; i++ {
		if c.has(i) {
			continue
		}
		name, err := c.addConstant("none", dtype.New(dtype.Float32, 0), nil)
		if err != nil {
			return err
		}
		c.put(i, name)
	}
	return nil
}
