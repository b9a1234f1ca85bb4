package data

// Preset is a named preprocessing.
type Preset struct {
	Name string // value of --preset
	Preprocess
	Usual float64 // how common it is among models, from 0 to 1
}

// Presets returns the common presets for colour or gray images, the most common first.
func Presets(gray bool) []Preset {
	half := []float64{0.5}
	symmetric := Preprocess{Mean: half, Std: half}
	if gray {
		return []Preset{
			{"unit", Unit, 1}, {"symmetric", symmetric, 1}, {"raw", Raw, 0.95},
			{"mnist", Preprocess{Mean: []float64{0.1307}, Std: []float64{0.3081}}, 1},
			{"imagenet", Preprocess{Mean: []float64{0.449}, Std: []float64{0.226}}, 0.8},
		}
	}
	swap := func(p Preprocess) Preprocess { p.BGR = !p.BGR; return p }
	return []Preset{
		{"imagenet", ImageNet, 1}, {"caffe", Caffe, 1}, {"unit", Unit, 0.95}, {"symmetric", symmetric, 0.95}, {"raw", Raw, 0.85},
		{"caffe-rgb", swap(Caffe), 0.85}, {"raw-bgr", swap(Raw), 0.75}, {"unit-bgr", swap(Unit), 0.75},
		{"symmetric-bgr", swap(symmetric), 0.75}, {"imagenet-bgr", swap(ImageNet), 0.7},
	}
}

// With returns the preset with the geometry of p: size, crop and layout.
func (x Preset) With(p Preprocess) Preprocess {
	p.Range, p.Mean, p.Std, p.BGR = x.Range, x.Mean, x.Std, x.BGR
	return p
}
