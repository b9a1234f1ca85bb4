package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// BinarizerConfig has the attributes of Binarizer.
type BinarizerConfig struct {
	Threshold float32 `onnx:"threshold,default=0"` // greater elements become 1, others 0
}

// Operator makes BinarizerConfig a Config.
func (BinarizerConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "Binarizer"} }

// ScalerConfig has the attributes of Scaler: (x − Offset)·Scale.
type ScalerConfig struct {
	Offset []float32 `onnx:"offset"` // subtracted first: one number, or one per feature
	Scale  []float32 `onnx:"scale"`  // multiplied with: one number, or one per feature
}

// Operator makes ScalerConfig a Config.
func (ScalerConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "Scaler"} }

// NormalizerConfig has the attribute of Normalizer.
type NormalizerConfig struct {
	Norm string `onnx:"norm,default=MAX"` // MAX, L1 or L2
}

// Operator makes NormalizerConfig a Config.
func (NormalizerConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "Normalizer"} }

// ImputerConfig has the attributes of Imputer, those for floats or those for integers, depending on the input's type.
type ImputerConfig struct {
	Floats       []float32 `onnx:"imputed_value_floats"`           // replacements for float inputs: one, or one per feature
	Ints         []int     `onnx:"imputed_value_int64s"`           // replacements for integer inputs: one, or one per feature
	ReplaceFloat float32   `onnx:"replaced_value_float,default=0"` // the value to replace; NaN matches NaN
	ReplaceInt   int       `onnx:"replaced_value_int64,default=0"` // the value to replace
}

// Operator makes ImputerConfig a Config.
func (ImputerConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "Imputer"} }

// LinearRegressorConfig has the attributes of LinearRegressor.
type LinearRegressorConfig struct {
	Coefficients []float32 `onnx:"coefficients"`                // [targets, features], row by row
	Intercepts   []float32 `onnx:"intercepts"`                  // one per target; nil: 0
	Transform    string    `onnx:"post_transform,default=NONE"` // of the scores: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT
	Targets      int       `onnx:"targets,default=1"`           // columns of the output
}

// Operator makes LinearRegressorConfig a Config.
func (LinearRegressorConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "LinearRegressor"}
}

// LinearClassifierConfig has the attributes of LinearClassifier.
type LinearClassifierConfig struct {
	IntLabels    []int     `onnx:"classlabels_ints"`            // the classes, if they are integers
	StringLabels []string  `onnx:"classlabels_strings"`         // the classes, if they are strings
	Coefficients []float32 `onnx:"coefficients,required"`       // [classes, features], row by row
	Intercepts   []float32 `onnx:"intercepts"`                  // one per class; nil: 0
	MultiClass   int       `onnx:"multi_class,default=0"`       // of no effect
	Transform    string    `onnx:"post_transform,default=NONE"` // of the scores: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT
}

// Operator makes LinearClassifierConfig a Config.
func (LinearClassifierConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "LinearClassifier"}
}

// FeatureVectorizerConfig has the attributes of FeatureVectorizer.
type FeatureVectorizerConfig struct {
	Dimensions []int `onnx:"inputdimensions"` // number of columns of each input
}

// Operator makes FeatureVectorizerConfig a Config.
func (FeatureVectorizerConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "FeatureVectorizer"}
}

// rowwise returns an operator that rewrites rows of features.
func rowwise(name, doc string, attrs op.Config, keepType bool, prepare func(c *op.Call, cols int) (func(pace *kernel.Pace, row []float64), error)) *op.Op {
	run := func(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
		s := c.In[0].Sizes()
		cols := 1
		if len(s) > 0 {
			cols = s[len(s)-1]
		}
		f, err := prepare(c, cols)
		if err != nil {
			return nil, err
		}
		return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
			x, err := numbersOf(p, c, 0, in[0])
			if err != nil {
				return nil, err
			}
			pace := p.Pace()
			for at := 0; cols > 0 && at < len(x); at += cols {
				f(&pace, x[at:at+cols])
			}
			y, err := tensorOf(p, c.Out[0].DType, x, s...)
			return []dtype.Value{y}, err
		}, nil
	}
	o := &op.Op{
		Domain: mlDomain, Name: name, Since: []int{1}, Doc: doc, In: "X T", Out: "Y T", Where: op.Where{"T": mlNumbers()}, Attrs: attrs,
		Infer: op.Same, Kernel: valueFunction(run).kernel, GradMissing: "classical preprocessing is not trained through", Pinned: "features are identified by their position",
	}
	if !keepType {
		o.Out = "Y float32"
		o.Infer = func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0].Of(dtype.Float32)}, nil }
	}
	return o
}

// perFeature returns the entry of a list for a feature: its own, or the only one; def where the list is empty.
func perFeature(c *op.Call, name string, list []float32, cols int, def float64) (func(feature int) float64, error) {
	switch len(list) {
	case 0:
		return func(int) float64 { return def }, nil
	case 1:
		return func(int) float64 { return float64(list[0]) }, nil
	case cols:
		return func(i int) float64 { return float64(list[i]) }, nil
	}
	return nil, c.Errorf("%s has %d entries for %d features", name, len(list), cols)
}

func mlFeatures() []*op.Op {
	list := []*op.Op{
		rowwise("Binarizer", "1 above a threshold, 0 elsewhere.", BinarizerConfig{}, true, func(c *op.Call, _ int) (func(*kernel.Pace, []float64), error) {
			t := float64(c.Config.(BinarizerConfig).Threshold)
			return func(pace *kernel.Pace, row []float64) {
				for i, v := range row {
					pace.Did(1)
					if row[i] = 0; v > t {
						row[i] = 1
					}
				}
			}, nil
		}),
		rowwise("Scaler", "Subtracts offsets, multiplies with scales.", ScalerConfig{}, false, func(c *op.Call, cols int) (func(*kernel.Pace, []float64), error) {
			cfg := c.Config.(ScalerConfig)
			offset, err := perFeature(c, "offset", cfg.Offset, cols, 0)
			if err != nil {
				return nil, err
			}
			scale, err := perFeature(c, "scale", cfg.Scale, cols, 1)
			return func(pace *kernel.Pace, row []float64) {
				for i, v := range row {
					pace.Did(1)
					row[i] = (v - offset(i)) * scale(i)
				}
			}, err
		}),
		rowwise("Normalizer", "Divides every row by its norm.", NormalizerConfig{}, false, prepareNormalizer),
		rowwise("Imputer", "Replaces a value, missing ones mostly.", ImputerConfig{}, true, func(c *op.Call, cols int) (func(*kernel.Pace, []float64), error) {
			cfg := c.Config.(ImputerConfig)
			list, old := cfg.Floats, float64(cfg.ReplaceFloat)
			if c.In[0].DType.IsInteger() {
				list, old = nil, float64(cfg.ReplaceInt)
				for _, n := range cfg.Ints {
					list = append(list, float32(n))
				}
			}
			if len(list) == 0 {
				return nil, c.Errorf("has no imputed value of type %v", c.In[0].DType)
			}
			fill, err := perFeature(c, "imputed values", list, cols, 0)
			return func(pace *kernel.Pace, row []float64) {
				for i, v := range row {
					pace.Did(1)
					if v == old || v != v && old != old {
						row[i] = fill(i)
					}
				}
			}, err
		}),
	}
	list[0].NoGrad, list[0].GradMissing = "piecewise constant", ""
	return list
}

func prepareNormalizer(c *op.Call, _ int) (func(*kernel.Pace, []float64), error) {
	norm := c.Config.(NormalizerConfig).Norm
	if norm != "MAX" && norm != "L1" && norm != "L2" {
		return nil, c.Errorf("norm %q is unknown", norm)
	}
	return func(pace *kernel.Pace, row []float64) {
		n := 0.0
		if norm == "MAX" {
			n = math.Inf(-1)
		}
		for _, v := range row {
			pace.Did(2)
			switch norm {
			case "MAX":
				n = math.Max(n, v)
			case "L1":
				n += math.Abs(v)
			default:
				n += v * v
			}
		}
		if norm == "L2" {
			n = math.Sqrt(n)
		}
		if n == 0 {
			return
		}
		for i := range row {
			pace.Did(1)
			row[i] /= n
		}
	}, nil
}

// linear computes scores of rows: x·coefficientsᵀ + intercepts.
func linear(c *op.Call, coefficients, intercepts []float32, targets int) (func(p *kernel.Pool, in dtype.Value) ([]float64, int, error), error) {
	rows, cols, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	if targets < 1 || len(coefficients) != targets*cols.Size || len(intercepts) != 0 && len(intercepts) != targets {
		return nil, c.Errorf("has %d coefficients and %d intercepts for %d targets of %v features", len(coefficients), len(intercepts), targets, cols)
	}
	return func(p *kernel.Pool, in dtype.Value) ([]float64, int, error) {
		x, err := numbersOf(p, c, 0, in)
		y, pace := kernel.Zeros[float64](p, rows.Size*targets), p.Pace()
		for i := range y {
			pace.Did(1 + cols.Size)
			r, t := i/targets, i%targets
			if len(intercepts) > 0 {
				y[i] = float64(intercepts[t])
			}
			for k := range cols.Size {
				y[i] += x[r*cols.Size+k] * float64(coefficients[t*cols.Size+k])
			}
		}
		return y, rows.Size, err
	}, nil
}

func linearModels() []*op.Op {
	regress := func(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
		cfg := c.Config.(LinearRegressorConfig)
		f, err := linear(c, cfg.Coefficients, cfg.Intercepts, cfg.Targets)
		if err != nil {
			return nil, err
		}
		return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
			y, rows, err := f(p, in[0])
			if err != nil {
				return nil, err
			}
			for r := range rows {
				checkAt(p, r)
				transform(cfg.Transform, y[r*cfg.Targets:(r+1)*cfg.Targets])
			}
			d, err := tensorOf(p, dtype.Float32, y, rows, cfg.Targets)
			return []dtype.Value{d}, err
		}, nil
	}
	return []*op.Op{
		{Domain: mlDomain, Name: "LinearRegressor", Since: []int{1}, Doc: "A linear model.", In: "X T", Out: "Y float32",
			Where: op.Where{"T": mlNumbers()}, Attrs: LinearRegressorConfig{},
			Check: func(c *op.Call) error { return checkTransform(c, c.Config.(LinearRegressorConfig).Transform) },
			Infer: func(c *op.Call) ([]op.Type, error) {
				return targetScores(c, c.Config.(LinearRegressorConfig).Targets, dtype.Float32)
			},
			Kernel: valueFunction(regress).kernel, GradMissing: "its coefficients are attributes", Pinned: "its coefficients are attributes"},
		{Domain: mlDomain, Name: "LinearClassifier", Since: []int{1}, Doc: "The class that a linear model scores best.", In: "X T", Out: "Y any, Z float32",
			Where: op.Where{"T": mlNumbers()}, Attrs: LinearClassifierConfig{},
			Check: func(c *op.Call) error { return checkTransform(c, c.Config.(LinearClassifierConfig).Transform) },
			Infer: func(c *op.Call) ([]op.Type, error) {
				cfg := c.Config.(LinearClassifierConfig)
				l := classNames{cfg.StringLabels, cfg.IntLabels}
				return classScores(c, l, max(l.count(), 1))
			},
			Kernel: valueFunction(linearClassify).kernel, Strings: valueFunction(linearClassify).strings,
			GradMissing: "its coefficients are attributes", Pinned: "its coefficients are attributes"},
		{Domain: mlDomain, Name: "FeatureVectorizer", Since: []int{1}, Doc: "Puts features behind one another.", In: "X_0 any, X* any", Out: "Y float32", Attrs: FeatureVectorizerConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				rows, cols := op.Unknown(), op.D(0)
				for i, t := range c.In {
					if t.Unranked {
						return []op.Type{op.T(dtype.Float32, op.Unknown(), op.Unknown())}, nil
					}
					r, k, err := rowsOf(&op.Call{Op: c.Op, In: []op.Type{t}})
					if err != nil {
						return nil, err
					}
					if d := c.Config.(FeatureVectorizerConfig).Dimensions; i < len(d) && k.Differ(op.D(d[i])) {
						return nil, c.Mismatch(i, d[i], t)
					}
					var ok bool
					if rows, ok = rows.Merge(r); !ok {
						return nil, c.Mismatch(i, "as many rows as the others", t)
					}
					cols = cols.Add(k)
				}
				return []op.Type{op.T(dtype.Float32, rows, cols)}, nil
			},
			Kernel: valueFunction(vectorize).kernel, GradMissing: "classical preprocessing is not trained through", Pinned: "features are identified by their position"},
	}
}

// linearClassify: a model with one row of coefficients for two classes scores the second one.
func linearClassify(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(LinearClassifierConfig)
	l := classNames{cfg.StringLabels, cfg.IntLabels}
	_, cols, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	targets, n := len(cfg.Coefficients)/max(cols.Size, 1), max(l.count(), 1)
	f, err := linear(c, cfg.Coefficients, cfg.Intercepts, targets)
	if err != nil {
		return nil, err
	}
	if targets != n && !(targets == 1 && n == 2) {
		return nil, c.Errorf("has coefficients for %d classes, labels for %d", targets, n)
	}
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		s, rows, err := f(p, in[0])
		if err != nil {
			return nil, err
		}
		z, best := kernel.Zeros[float64](p, rows*n), kernel.Zeros[int](p, rows)
		for r := range rows {
			checkAt(p, r)
			row := z[r*n : (r+1)*n]
			if copy(row, s[r*targets:(r+1)*targets]); targets < n {
				best[r] = secondScore(cfg.Transform, row)
				continue
			}
			best[r] = bestOf(row)
			transform(cfg.Transform, row)
		}
		y, err := l.pick(p, best)
		if err != nil {
			return nil, err
		}
		d, err := tensorOf(p, dtype.Float32, z, rows, n)
		return []dtype.Value{y, d}, err
	}, nil
}

// secondScore derives two scores from the first one, which is that of the second class, and returns
// the winning class. Only a logistic or probit transform applies to a single score.
func secondScore(name string, row []float64) (best int) {
	s := row[0]
	if s > 0 {
		best = 1
	}
	if name == "LOGISTIC" || name == "PROBIT" {
		transform(name, row[:1])
		s = row[0]
	}
	row[0], row[1] = 1-s, s
	return best
}

func vectorize(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	rows, cols := c.Out[0].Shape[0].Size, c.Out[0].Shape[1].Size
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		y, at := kernel.Zeros[float64](p, rows*cols), 0
		for i, v := range in {
			x, err := numbersOf(p, c, i, v)
			if err != nil {
				return nil, err
			}
			k, pace := len(x)/max(rows, 1), p.Pace()
			for r := range rows {
				pace.Did(1 + k)
				copy(y[r*cols+at:], x[r*k:(r+1)*k])
			}
			at += k
		}
		d, err := tensorOf(p, dtype.Float32, y, rows, cols)
		return []dtype.Value{d}, err
	}, nil
}
