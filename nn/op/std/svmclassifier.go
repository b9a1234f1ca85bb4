package std

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

func (cfg SVMClassifierConfig) classes() int { return max(len(cfg.StringLabels), len(cfg.IntLabels)) }

// scores returns the number of scores per row: one for each class, or for each pair of classes.
func (cfg SVMClassifierConfig) scores() int {
	n := cfg.classes()
	if len(cfg.PerClass) == 0 || len(cfg.ProbA) > 0 {
		return n
	}
	return n * (n - 1) / 2
}

func (cfg SVMClassifierConfig) check(c *op.Call, features int) error {
	classes, vectors := cfg.classes(), 0
	for _, n := range cfg.PerClass {
		if n < 0 || n > len(cfg.Vectors) {
			return c.Errorf("vectors_per_class %v are out of range", cfg.PerClass)
		}
		vectors += n
	}
	pairs := classes * (classes - 1) / 2
	switch {
	case classes < 1:
		return c.Errorf("has no classes")
	case len(cfg.PerClass) == 0:
		if len(cfg.Coefficients) != classes*features || len(cfg.Rho) == 0 {
			return c.Errorf("has %d coefficients and %d rho for %d classes of %d features", len(cfg.Coefficients), len(cfg.Rho), classes, features)
		}
	case len(cfg.PerClass) != classes || len(cfg.Vectors) != vectors*features || len(cfg.Coefficients) != vectors*(classes-1) || len(cfg.Rho) != pairs:
		return c.Errorf("has %d coefficients, %d numbers in support vectors and %d rho for %d classes of %d features", len(cfg.Coefficients), len(cfg.Vectors), len(cfg.Rho), classes, features)
	case len(cfg.ProbA) != len(cfg.ProbB) || len(cfg.ProbA) != 0 && len(cfg.ProbA) != pairs:
		return c.Errorf("has %d prob_a and %d prob_b for %d pairs of classes", len(cfg.ProbA), len(cfg.ProbB), pairs)
	}
	return nil
}

func svmClassify(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(SVMClassifierConfig)
	rows, cols, err := rowsOf(c)
	if err != nil {
		return nil, err
	}
	if err := cfg.check(c, cols.Size); err != nil {
		return nil, err
	}
	near, err := similarity(c, cfg.KernelType, cfg.Params)
	if err != nil {
		return nil, err
	}
	n, each := cols.Size, max(cfg.scores(), 2)
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		x, err := numbersOf(p, c, 0, in[0])
		if err != nil {
			return nil, err
		}
		z, best := kernel.Zeros[float64](p, rows.Size*each), kernel.Zeros[int](p, rows.Size)
		for r := range best {
			p.Check()
			row := z[r*each : (r+1)*each]
			var made []float64
			if made, best[r] = cfg.judge(near, x[r*n:(r+1)*n]); len(made) == 1 {
				row[0], row[1] = cfg.opposite(made[0])
				continue
			}
			copy(row, made)
			transform(cfg.Transform, row)
		}
		y, err := classNames{cfg.StringLabels, cfg.IntLabels}.pick(p, best)
		if err != nil {
			return nil, err
		}
		d, err := tensorOf(p, dtype.Float32, z, rows.Size, each)
		return []dtype.Value{y, d}, err
	}, nil
}

// opposite makes the scores of both classes from that of the pair.
func (cfg SVMClassifierConfig) opposite(s float64) (first, second float64) {
	if cfg.Transform == "LOGISTIC" || cfg.Transform == "PROBIT" {
		both := []float64{-s, s}
		transform(cfg.Transform, both)
		return both[0], both[1]
	}
	return -s, s
}

// judge scores a row and chooses its class: by votes of the pairs, or by the score of the linear models.
func (cfg SVMClassifierConfig) judge(near func([]float64, []float32) float64, x []float64) (scores []float64, best int) {
	classes, n := cfg.classes(), len(x)
	if len(cfg.PerClass) == 0 {
		for k := range classes {
			scores = append(scores, near(x, cfg.Coefficients[k*n:(k+1)*n])+float64(cfg.Rho[0]))
		}
		return scores, bestOf(scores)
	}
	vectors := len(cfg.Vectors) / max(n, 1)
	alike, start := make([]float64, vectors), make([]int, classes+1)
	for v := range alike {
		alike[v] = near(x, cfg.Vectors[v*n:(v+1)*n])
	}
	for k, count := range cfg.PerClass {
		start[k+1] = start[k] + count
	}
	votes := make([]float64, classes)
	for i := range classes {
		for j := i + 1; j < classes; j++ {
			s := float64(cfg.Rho[len(scores)])
			for v := start[i]; v < start[i+1]; v++ {
				s += float64(cfg.Coefficients[vectors*(j-1)+v]) * alike[v]
			}
			for v := start[j]; v < start[j+1]; v++ {
				s += float64(cfg.Coefficients[vectors*i+v]) * alike[v]
			}
			if scores = append(scores, s); s > 0 {
				votes[i]++
			} else {
				votes[j]++
			}
		}
	}
	if len(cfg.ProbA) > 0 {
		scores = cfg.probabilities(scores)
	}
	return scores, bestOf(votes) // as libsvm: probabilities may think otherwise
}

// probabilities couples those of the pairs of classes to those of the classes: the method of Wu, Lin
// and Weng (2004), as libsvm iterates it.
func (cfg SVMClassifierConfig) probabilities(scores []float64) []float64 {
	const rounds, small = 100, 1e-7
	k := cfg.classes()
	pair := make([]float64, k*k)
	at := 0
	for i := range k {
		for j := i + 1; j < k; j++ {
			v := 1 / (1 + math.Exp(scores[at]*float64(cfg.ProbA[at])+float64(cfg.ProbB[at])))
			v = math.Min(math.Max(v, small), 1-small)
			pair[i*k+j], pair[j*k+i] = v, 1-v
			at++
		}
	}
	q, p, qp := make([]float64, k*k), make([]float64, k), make([]float64, k)
	for i := range k {
		p[i] = 1 / float64(k)
		for j := range k {
			if j != i {
				q[i*k+i] += pair[j*k+i] * pair[j*k+i]
				q[i*k+j] = -pair[j*k+i] * pair[i*k+j]
			}
		}
	}
	for range max(rounds, k) {
		pqp := 0.0
		for i := range k {
			qp[i] = 0
			for j := range k {
				qp[i] += q[i*k+j] * p[j]
			}
			pqp += p[i] * qp[i]
		}
		worst := 0.0
		for i := range k {
			worst = math.Max(worst, math.Abs(qp[i]-pqp))
		}
		if worst < 0.005/float64(k) {
			break
		}
		for i := range k {
			d := (pqp - qp[i]) / q[i*k+i]
			p[i] += d
			pqp = (pqp + d*(d*q[i*k+i]+2*qp[i])) / (1 + d) / (1 + d)
			for j := range k {
				qp[j] = (qp[j] + d*q[i*k+j]) / (1 + d)
				p[j] /= 1 + d
			}
		}
	}
	return p
}
