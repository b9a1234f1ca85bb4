package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// SVMRegressorConfig has the attributes of SVMRegressor.
type SVMRegressorConfig struct {
	Coefficients []float32 `onnx:"coefficients"`                // one per support vector, or per feature of a linear model
	Params       []float32 `onnx:"kernel_params"`               // gamma, coef0, degree
	KernelType   string    `onnx:"kernel_type,default=LINEAR"`  // LINEAR, POLY, RBF or SIGMOID
	Supports     int       `onnx:"n_supports,default=0"`        // number of support vectors; 0: a linear model
	OneClass     bool      `onnx:"one_class"`                   // the result is the sign, 1 or −1
	Transform    string    `onnx:"post_transform,default=NONE"` // of the scores: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT
	Rho          []float32 `onnx:"rho"`                         // the intercept
	Vectors      []float32 `onnx:"support_vectors"`             // support vectors, [vectors, features]
}

// Operator makes SVMRegressorConfig a Config.
func (SVMRegressorConfig) Operator() op.Name { return op.Name{Domain: mlDomain, Name: "SVMRegressor"} }

// SVMClassifierConfig has the attributes of SVMClassifier.
type SVMClassifierConfig struct {
	IntLabels    []int     `onnx:"classlabels_ints"`            // the classes, if they are integers
	StringLabels []string  `onnx:"classlabels_strings"`         // the classes, if they are strings
	Coefficients []float32 `onnx:"coefficients"`                // [classes−1, vectors], or [classes, features] of linear models
	Params       []float32 `onnx:"kernel_params"`               // gamma, coef0, degree
	KernelType   string    `onnx:"kernel_type,default=LINEAR"`  // LINEAR, POLY, RBF or SIGMOID
	Transform    string    `onnx:"post_transform,default=NONE"` // of the scores: NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT
	ProbA        []float32 `onnx:"prob_a"`                      // A of the sigmoid 1/(1 + exp(A·s + B)), one per pair of classes; nil: no probabilities
	ProbB        []float32 `onnx:"prob_b"`                      // B of the sigmoid
	Rho          []float32 `onnx:"rho"`                         // intercepts, one per pair of classes
	Vectors      []float32 `onnx:"support_vectors"`             // support vectors, [vectors, features]
	PerClass     []int     `onnx:"vectors_per_class"`           // number of support vectors of each class; empty: linear models, one per class
}

// Operator makes SVMClassifierConfig a Config.
func (SVMClassifierConfig) Operator() op.Name {
	return op.Name{Domain: mlDomain, Name: "SVMClassifier"}
}

func supportVectorMachines() []*op.Op {
	const why = "its coefficients are attributes"
	return []*op.Op{
		{Domain: mlDomain, Name: "SVMRegressor", Since: []int{1}, Doc: "A support vector machine that estimates a number.", In: "X T", Out: "Y float32",
			Where: op.Where{"T": mlNumbers()}, Attrs: SVMRegressorConfig{},
			Check:  func(c *op.Call) error { return checkTransform(c, c.Config.(SVMRegressorConfig).Transform) },
			Infer:  func(c *op.Call) ([]op.Type, error) { return targetScores(c, 1, dtype.Float32) },
			Kernel: valueFunction(svmRegress).kernel, GradMissing: why, Pinned: why},
		{Domain: mlDomain, Name: "SVMClassifier", Since: []int{1}, Doc: "A support vector machine that chooses a class.", In: "X T", Out: "Y any, Z float32",
			Where: op.Where{"T": mlNumbers()}, Attrs: SVMClassifierConfig{},
			Check: func(c *op.Call) error { return checkTransform(c, c.Config.(SVMClassifierConfig).Transform) },
			Infer: func(c *op.Call) ([]op.Type, error) {
				cfg := c.Config.(SVMClassifierConfig)
				return classScores(c, classNames{cfg.StringLabels, cfg.IntLabels}, max(cfg.scores(), 2))
			},
			Kernel: valueFunction(svmClassify).kernel, Strings: valueFunction(svmClassify).strings, GradMissing: why, Pinned: why},
	}
}

// similarity returns the kernel function of a machine.
func similarity(c *op.Call, kind string, params []float32) (func(x []float64, v []float32) float64, error) {
	var p [3]float64
	for i, v := range params[:min(len(params), 3)] {
		p[i] = float64(v)
	}
	gamma, coef0, degree := p[0], p[1], p[2]
	dot := func(x []float64, v []float32) (s float64) {
		for i, a := range x {
			s += a * float64(v[i])
		}
		return s
	}
	switch kind {
	case "LINEAR":
		return dot, nil
	case "POLY":
		return func(x []float64, v []float32) float64 { return math.Pow(gamma*dot(x, v)+coef0, degree) }, nil
	case "SIGMOID":
		return func(x []float64, v []float32) float64 { return math.Tanh(gamma*dot(x, v) + coef0) }, nil
	case "RBF":
		return func(x []float64, v []float32) (s float64) {
			for i, a := range x {
				d := a - float64(v[i])
				s += d * d
			}
			return math.Exp(-gamma * s)
		}, nil
	}
	return nil, c.Errorf("kernel_type %q is unknown", kind)
}

func svmRegress(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(SVMRegressorConfig)
	near, err := similarity(c, cfg.KernelType, cfg.Params)
	if err != nil {
		return nil, err
	}
	rows, cols, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	vectors, weights := cfg.Vectors, cfg.Coefficients
	if cfg.Supports <= 0 { // one vector, of weight 1
		vectors, weights = cfg.Coefficients, []float32{1}
	}
	n := cols.Size
	if len(cfg.Rho) == 0 || len(vectors) != n*len(weights) || cfg.Supports > 0 && len(weights) != cfg.Supports {
		return nil, c.Errorf("has %d coefficients, %d numbers in support vectors and %d rho for %d features", len(cfg.Coefficients), len(cfg.Vectors), len(cfg.Rho), n)
	}
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		x, err := numbersOf(p, c, 0, in[0])
		if err != nil {
			return nil, err
		}
		y := kernel.Zeros[float64](p, rows.Size)
		for r := range y {
			p.Check()
			y[r] = float64(cfg.Rho[0])
			for k, w := range weights {
				y[r] += float64(w) * near(x[r*n:(r+1)*n], vectors[k*n:(k+1)*n])
			}
			if cfg.OneClass {
				y[r] = math.Copysign(1, y[r])
			} else {
				transform(cfg.Transform, y[r:r+1])
			}
		}
		d, err := tensorOf(p, dtype.Float32, y, rows.Size, 1)
		return []dtype.Value{d}, err
	}, nil
}
