package train

import "fmt"

// LinearFit is a linear model of rows of features x, with scores Weight·x + Bias. It minimizes the mean loss plus half
// of Decay times the squared weights of the features, which are standardized unless they are indicators, 0 or 1. The
// decay is chosen by cross-validation, from 100 down to 10⁻⁴. Class scores are then multiplied by Scale, which minimizes
// the loss on the held-out folds (temperature scaling).
type LinearFit struct {
	Weight [][]float64 // [scores][features]
	Bias   []float64   // [scores]
	Decay  float64
	Scale  float64 // factor on class scores; 1 for regression
}

// FitClasses fits a multinomial logistic regression, with one score per class. All rows have the same length; seed
// determines the folds of the cross-validation.
func FitClasses(rows [][]float32, class []int, classes int, seed uint64) (LinearFit, error) {
	if err := rectangular(rows, len(class)); err != nil {
		return LinearFit{}, err
	}
	if err := checkClasses(class, classes); err != nil {
		return LinearFit{}, err
	}
	return linear(problem{x: rows, y: class, classes: classes}, seed)
}

// FitMeasured fits a ridge regression: one score, with half of the squared error as loss.
func FitMeasured(rows [][]float32, target []float64, seed uint64) (LinearFit, error) {
	if err := rectangular(rows, len(target)); err != nil {
		return LinearFit{}, err
	}
	return linear(problem{x: rows, target: target, classes: 1}, seed)
}

func linear(p problem, seed uint64) (LinearFit, error) {
	l, _, err := p.regress(1, seed)
	return LinearFit{l.weight, l.bias, l.decay, l.scale}, err
}

// rectangular returns an error if rows are empty or differ in length, or if their number is not targets.
func rectangular(rows [][]float32, targets int) error {
	if len(rows) == 0 || len(rows[0]) == 0 || len(rows) != targets {
		return fmt.Errorf("train: %d rows of features and %d targets: want a target for each row, and features", len(rows), targets)
	}
	for i, r := range rows {
		if len(r) != len(rows[0]) {
			return fmt.Errorf("train: row %d has %d features, row 0 has %d", i, len(r), len(rows[0]))
		}
	}
	return nil
}
