package data

import (
	"encoding/json"
	"fmt"
	"strings"
)

// metaPreprocess is the key of a Preprocess, as JSON.
const metaPreprocess = "graft.preprocess"

// Meta returns p as entries of a model's metadata. Settings for training only (MinArea, NoFlip, Policy) are not
// included.
func (p Preprocess) Meta() (map[string]string, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("data: preprocess: %w", err)
	}
	return map[string]string{metaPreprocess: string(b)}, nil
}

// ReadMeta returns the preprocessing in a model's metadata, from graft's own key or else from ONNX's keys
// Image.BitmapPixelFormat and Image.NominalPixelRange. ok is false if there is neither.
func ReadMeta(meta map[string]string) (p Preprocess, ok bool, err error) {
	text, ok := meta[metaPreprocess]
	if !ok {
		return imageKeys(meta)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields() // a setting of a later version must not be ignored silently
	if err := d.Decode(&p); err != nil {
		return Preprocess{}, false, fmt.Errorf("data: metadata %s: %w", metaPreprocess, err)
	}
	if err := p.Check(); err != nil {
		return Preprocess{}, false, fmt.Errorf("%w, in metadata %s", err, metaPreprocess)
	}
	return p, true, nil
}

// imageKeys reads the metadata of the ONNX specification (MetadataProps.md).
func imageKeys(meta map[string]string) (p Preprocess, ok bool, err error) {
	for key, value := range meta {
		known := true
		switch strings.ToLower(key) {
		case "image.bitmappixelformat":
			switch strings.ToLower(value) {
			case "gray8":
				p.Gray = true
			case "rgb8":
			case "bgr8":
				p.BGR = true
			default:
				known = false
			}
		case "image.nominalpixelrange":
			switch strings.ToLower(value) {
			case "nominalrange_0_255":
				p.Range = 255
			case "normalized_0_1":
			case "normalized_1_1":
				p.Mean, p.Std = []float64{0.5}, []float64{0.5}
			case "nominalrange_16_235":
				p.Range, p.Mean = 219, []float64{-16}
			default:
				known = false
			}
		case "image.colorspacegamma":
			known = strings.EqualFold(value, "srgb") // the colour space of image files
		default:
			continue
		}
		if !known {
			return Preprocess{}, false, fmt.Errorf("data: metadata %s: %q is not supported", key, value)
		}
		ok = true
	}
	return p, ok, nil
}
