package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// metaPreparation is the key of a Preparation, as JSON, in the metadata of a model.
const metaPreparation = "graft.preparation"

// Preparation is the preprocessing of images for a model, and how it was determined.
type Preparation struct {
	data.Preprocess `json:"-"`
	Name            string  `json:"name"`                // of the preset
	By              string  `json:"by"`                  // how it was determined: "statistics" of normalizations, "scores" of classes, "producer", "output" of images, "shape" or "untrained" if nothing could be measured, or another source
	Margin          float64 `json:"margin"`              // ratio of the fits of the runner-up and of this preset
	RunnerUp        string  `json:"runner_up,omitempty"` // second best preset
	Guess           bool    `json:"guess,omitempty"`     // not reliable: the margin is small, or only scores were measured
}

// String returns one line.
func (p Preparation) String() string {
	how, measured := map[string]string{
		"statistics": "measured by the statistics that the model's normalizations keep",
		"scores":     "measured by the model's scores",
		"producer":   "as is usual for the tool that made the model",
		"output":     "as is usual for outputs that are images",
		"shape":      "by the shape of the input alone",
		"untrained":  "the usual one: the model was never trained, so nothing can be measured",
	}[p.By]
	if !measured {
		how = "by " + p.By
	}
	s := fmt.Sprintf("%s, %s", p.Name, how)
	if p.RunnerUp != "" {
		s += fmt.Sprintf(": fits %.3g times better than %s", p.Margin, p.RunnerUp)
	}
	if p.Guess {
		s += "; a guess"
	}
	return s
}

// Finding returns how p was determined as an entry of a model's metadata.
func (p Preparation) Finding() (key, value string, err error) {
	b, err := json.Marshal(p)
	return metaPreparation, string(b), err
}

const (
	sureStatistics = 1.3 // the margin from which a measurement is not a guess
	poorStatistics = 1.5 // a fit below this means that none of the presets is right
	measuredNorms  = 8   // number of normalizations to measure, from the input on
)

// Prepare determines the preprocessing of images for g, a model with one input of rank 4. base has the geometry;
// images are float32 [1 or 3, height, width] from 0 to 1, as data.Unit makes them: a few dozen of the kind that the
// model is for. Every preset is tried on them.
//
// If g has normalizations with running statistics, the best preset is the one whose activations agree best with them:
// the divergence between the normal distributions of each channel, ½((μ−μ')²/σ'² + σ²/σ'² − 1 − ln(σ²/σ'²)), damped by
// ln(1+x), averaged over the channels and then over the layers, each with 0.6 times the weight of the one before.
// Normalizations whose statistics are still the initial ones, mean 0 and variance 1, are passed over; if there are no others, and their
// scales and biases are initial values, too, the model was never trained, and nothing is measured.
//
// Without such normalizations, a model that makes images of images of as many channels, or scores of the pixels of gray images,
// takes pixels as they are (unit).
//
// Otherwise the class scores of two views of each image, one of them shifted, are compared: their mutual information
// (Ji, Henriques and Vedaldi, 2019) is large if the scores are confident, diverse and stable; scores that differ by
// more than is usual for a classifier count less. The preset of the tool that produced g is preferred there, and the
// more common preset always if two fit equally well.
func Prepare(ctx context.Context, g *nn.Graph, base data.Preprocess, images []*tensor.Dense) (Preparation, error) {
	presets := data.Presets(base.Gray)
	first := Preparation{Preprocess: presets[0].With(base), Name: presets[0].Name, By: "shape", Guess: true}
	home := born(g, base.Gray)
	if i := slices.IndexFunc(presets, func(p data.Preset) bool { return p.Name == home }); i >= 0 {
		first = Preparation{Preprocess: presets[i].With(base), Name: home, By: "producer", Guess: true}
	}
	if len(g.Inputs()) != 1 || len(g.Outputs()) == 0 || len(images) == 0 {
		return first, nil
	}
	norms, untrained := normalizations(g)
	if len(norms) == 0 && answersPixels(g, base.Gray) {
		i := slices.IndexFunc(presets, func(p data.Preset) bool { return p.Name == "unit" })
		return Preparation{Preprocess: presets[i].With(base), Name: "unit", By: "output", Guess: true}, nil
	}
	if untrained {
		first.By = "untrained"
		return first, nil
	}
	tries := make([]attempt, len(presets))
	for i, p := range presets {
		a, err := try(ctx, g, p.With(base), norms, images)
		if err != nil {
			return first, err
		}
		a.Preset = p
		tries[i] = a
	}
	by := "statistics"
	if len(norms) == 0 {
		by = "scores"
	}
	for i := range tries {
		a := &tries[i]
		switch {
		case len(norms) > 0: // measured by itself: what is usual decides between equals
			a.fit *= math.Sqrt(math.Sqrt(a.Usual))
		case a.Name == home:
			a.fit *= 1.5 * a.Usual
		default:
			a.fit *= a.Usual
		}
	}
	slices.SortStableFunc(tries, func(a, b attempt) int {
		switch {
		case a.fit > b.fit:
			return -1
		case a.fit < b.fit:
			return 1
		}
		return 0
	})
	best, second := tries[0], tries[1]
	if !(best.fit > 1e-3) {
		return first, nil // the outputs are not informative with any preset
	}
	margin := min(best.fit/max(second.fit, 1e-9), 999)
	return Preparation{best.With(base), best.Name, by, margin, second.Name, len(norms) == 0 || guessed(margin, best.fit)}, nil
}

// answersPixels reports whether the output of g is an image with the channels of the input, or has scores for each pixel of
// gray images.
func answersPixels(g *nn.Graph, gray bool) bool {
	in, out := g.Inputs()[0].Type().Sizes(), g.Outputs()[0].Type().Sizes()
	return len(in) == 4 && len(out) == 4 && (gray || out[1] == 3 && in[1] == 3) && (out[2] != 1 || out[3] != 1)
}

// guessed reports whether the statistics leave doubt which preset is right, or whether any is.
func guessed(margin, fit float64) bool { return margin < sureStatistics || fit < poorStatistics }

// born returns the usual preset of the tool that produced g.
func born(g *nn.Graph, gray bool) string {
	producer := strings.ToLower(onnxio.HeaderOf(g).Producer)
	for _, x := range []struct{ tool, colour, gray string }{
		{"caffe", "caffe", "unit"}, {"pytorch", "imagenet", "mnist"}, {"cntk", "raw", "raw"}, {"mxnet", "imagenet", "unit"},
		{"tf2onnx", "symmetric", "unit"}, {"keras", "symmetric", "unit"},
	} {
		if strings.Contains(producer, x.tool) {
			if gray {
				return x.gray
			}
			return x.colour
		}
	}
	return ""
}

// normalization is a value that is normalized by the running statistics of two parameters.
type normalization struct {
	in             string
	mean, variance []float64
}

// normalizations returns the first normalizations of the graph whose running statistics were updated in training. untrained reports
// that there are normalizations, but none that was trained: each has its initial statistics, one scale for all channels, and no bias.
func normalizations(g *nn.Graph) (list []normalization, untrained bool) {
	initial, trained := 0, 0
	for n := range g.Nodes() {
		var stats, others [][]float64
		for _, v := range n.Inputs() {
			p := v.Param()
			if p == nil {
				continue
			}
			x, err := dtype.Float64s(direct.Data(p))
			switch {
			case err != nil:
			case p.Role() == nn.Statistic:
				stats = append(stats, x)
			default:
				others = append(others, x)
			}
		}
		switch {
		case len(stats) != 2 || len(stats[0]) != len(stats[1]) || n.In(0).Name() == "":
		case !constant(stats[0], 0) || !constant(stats[1], 1):
			trained++
			if len(list) < measuredNorms {
				list = append(list, normalization{n.In(0).Name(), stats[0], stats[1]})
			}
		case len(others) == 2 && len(others[0]) > 0 && constant(others[0], others[0][0]) && constant(others[1], 0):
			initial++
		default:
			trained++
		}
	}
	return list, initial > 0 && trained == 0
}

// constant reports whether all elements of x are c.
func constant(x []float64, c float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != c })
}

// attempt is a preset and its fit; larger is better.
type attempt struct {
	data.Preset
	fit float64
}

// try runs the images through g with the preprocessing p.
func try(ctx context.Context, g *nn.Graph, p data.Preprocess, norms []normalization, images []*tensor.Dense) (attempt, error) {
	x, err := prepared(p, images)
	if err != nil {
		return attempt{}, err
	}
	in := g.Inputs()[0].Name()
	if len(norms) > 0 {
		var names []string
		for _, n := range norms {
			names = append(names, n.in)
		}
		out, err := g.Eval(ctx, nn.Feed{in: x}, names...)
		if err != nil {
			return attempt{}, err
		}
		d, err := disagreement(out, norms)
		return attempt{fit: 1 / (d + 1e-3)}, err
	}
	var moved []*tensor.Dense
	for _, t := range images {
		moved = append(moved, shifted(t))
	}
	y, err := prepared(p, moved)
	if err != nil {
		return attempt{}, err
	}
	var views [2][][]float64
	for i, batch := range []*tensor.Dense{x, y} {
		name := g.Outputs()[0].Name()
		out, err := g.Eval(ctx, nn.Feed{in: batch}, name)
		if err != nil {
			return attempt{}, err
		}
		if views[i], err = probabilities(out[name], len(images)); err != nil {
			return attempt{}, nil // not a classifier
		}
	}
	return attempt{fit: mutual(views) * unsaturated(views[0])}, nil
}

// prepared returns a batch of the images, preprocessed by p.
func prepared(p data.Preprocess, images []*tensor.Dense) (*tensor.Dense, error) {
	var list []data.Sample
	for _, t := range images {
		x, err := p.Tensor(t)
		if err != nil {
			return nil, err
		}
		list = append(list, data.Sample{X: []*tensor.Dense{x}})
	}
	b, err := data.Collate(list)
	if err != nil {
		return nil, err
	}
	return b.X[0], nil
}

// shifted returns an image moved by a fourteenth of its height up and to the left, with its last row and column
// repeated.
func shifted(x *tensor.Dense) *tensor.Dense {
	c, h, w := x.Shape()[0], x.Shape()[1], x.Shape()[2]
	by := max(1, h/14)
	v, out := x.Float32s(), make([]float32, c*h*w)
	for k := range c {
		for i := range h {
			from := v[(k*h+min(h-1, i+by))*w:][:w]
			for j := range w {
				out[(k*h+i)*w+j] = from[min(w-1, j+by)]
			}
		}
	}
	return tensor.New(tensor.WithShape(c, h, w), tensor.WithBacking(out))
}

// disagreement returns the mean divergence of the inputs of normalizations from the running statistics, 0 if they are equal.
func disagreement(out nn.Feed, norms []normalization) (float64, error) {
	total, weights, weight := 0.0, 0.0, 1.0
	for _, n := range norms {
		d, ok := out[n.in].(*tensor.Dense)
		if !ok || len(d.Shape()) < 2 || d.Shape()[1] != len(n.mean) {
			return 0, fmt.Errorf("train: %q is normalized, but does not have a channel for each of %d statistics", n.in, len(n.mean))
		}
		x, err := dtype.Float64s(d)
		if err != nil {
			return 0, err
		}
		total += weight * n.divergence(x, d.Shape()[0])
		weights += weight
		weight *= 0.6
	}
	return total / weights, nil
}

// divergence returns the mean over the channels of x [samples, channels, …].
func (n normalization) divergence(x []float64, samples int) float64 {
	const floor = 1e-9 // lower bound of variances
	channels := len(n.mean)
	inner := len(x) / samples / channels
	total := 0.0
	for c := range channels {
		sum, square := 0.0, 0.0
		for i := range samples {
			for _, v := range x[(i*channels+c)*inner:][:inner] {
				sum += v
				square += (v - n.mean[c]) * (v - n.mean[c])
			}
		}
		count := float64(samples * inner)
		off := sum/count - n.mean[c]
		stored := n.variance[c] + floor
		ratio := (max(square/count-off*off, 0) + floor) / stored
		total += math.Log1p(0.5 * (off*off/stored + ratio - 1 - math.Log(ratio)))
	}
	return total / float64(channels)
}

// probabilities returns the softmax of each sample's scores, or the scores if they are probabilities already.
func probabilities(v dtype.Value, samples int) ([][]float64, error) {
	d, ok := v.(*tensor.Dense)
	if !ok || len(d.Shape()) < 2 || d.Shape()[0] != samples || !dtype.Of(d.Dtype()).IsFloat() {
		return nil, errors.New("train: the model's output is not class scores")
	}
	x, err := dtype.Float64s(d)
	if err != nil {
		return nil, err
	}
	k := len(x) / samples
	if k < 2 || d.Shape()[1] != k {
		return nil, errors.New("train: the model's output is not class scores")
	}
	var out [][]float64
	for i := range samples {
		out = append(out, softmax(x[i*k:][:k]))
	}
	return out, nil
}

// softmax converts scores to probabilities, unless they are probabilities already.
func softmax(x []float64) []float64 {
	top, least, sum := x[0], x[0], 0.0
	for _, v := range x {
		top, least, sum = max(top, v), min(least, v), sum+v
	}
	if least >= 0 && math.Abs(sum-1) < 1e-3 {
		return slices.Clone(x)
	}
	p := make([]float64, len(x))
	sum = 0
	for i, v := range x {
		p[i] = math.Exp(v - top)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// mutual returns the mutual information, in nats, between the classes of two views.
func mutual(views [2][][]float64) float64 {
	const least = 1e-3 // smaller probabilities are ignored
	n, k := float64(len(views[0])), len(views[0][0])
	joint := map[[2]int]float64{}
	one, two := make([]float64, k), make([]float64, k)
	for i, p := range views[0] {
		q := views[1][i]
		for a := range k {
			one[a] += p[a] / n
			two[a] += q[a] / n
			if p[a] < least {
				continue
			}
			for b := range k {
				if q[b] >= least {
					joint[[2]int{a, b}] += p[a] * q[b] / n
				}
			}
		}
	}
	terms := make([]float64, 0, len(joint))
	for ab, j := range joint {
		terms = append(terms, j*math.Log(j/(one[ab[0]]*two[ab[1]])))
	}
	slices.Sort(terms) // the iteration order of a map would change the sum from run to run
	total := 0.0
	for _, t := range terms {
		total += t
	}
	return max(total, 0)
}

// unsaturated is below 1 if the margin between the two best classes is typically larger than that of trained classifiers.
func unsaturated(view [][]float64) float64 {
	const usual = 12 // nats
	mean := 0.0
	for _, p := range view {
		s := slices.Sorted(slices.Values(p))
		gap := math.Log(max(s[len(s)-1], 1e-30) / max(s[len(s)-2], 1e-30))
		mean += math.Log(max(gap, 1e-9)) / float64(len(view))
	}
	if gap := math.Exp(mean); gap > usual {
		return math.Sqrt(usual / gap)
	}
	return 1
}
