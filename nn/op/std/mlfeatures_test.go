package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func words(t *testing.T, shape []int, s ...string) dtype.Value {
	t.Helper()
	v, err := dtype.NewStrings(s, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFeatures(t *testing.T) {
	x := optest.Floats([]int{2, 2}, 1, -2, 3, 4)
	want := func(f ...float32) []dtype.Value { return values(optest.Floats([]int{2, 2}, f...)) }
	optest.Run(t,
		optest.Case{Name: "binarizer", Config: std.BinarizerConfig{Threshold: 2}, In: values(x), Want: want(0, 0, 1, 1)},
		optest.Case{Name: "scaler", Config: std.ScalerConfig{Offset: []float32{1}, Scale: []float32{2, 3}}, In: values(x), Want: want(0, -9, 4, 9)},
		optest.Case{Name: "normalizer max", Config: std.NormalizerConfig{}, In: values(x), Want: want(1, -2, 0.75, 1)},
		optest.Case{Name: "normalizer l1", Config: std.NormalizerConfig{Norm: "L1"}, In: values(x), Want: want(1./3, -2./3, 3./7, 4./7)},
		optest.Case{Name: "imputer", Config: std.ImputerConfig{Floats: []float32{7, 8}, ReplaceFloat: -2}, In: values(x), Want: want(1, 8, 3, 4)},
		optest.Case{Name: "imputer integers", Config: std.ImputerConfig{Ints: []int{7}, ReplaceInt: 1}, In: values(optest.Tensor([]int64{1, 2}, 1, 2)), Want: values(optest.Tensor([]int64{7, 2}, 1, 2))},
		optest.Case{Name: "regressor", Config: std.LinearRegressorConfig{Coefficients: []float32{1, 2, 3, 4}, Intercepts: []float32{0, 1}, Targets: 2, Transform: "NONE"}, In: values(x), Want: want(-3, -4, 11, 26)},
		optest.Case{Name: "classifier", Config: std.LinearClassifierConfig{Coefficients: []float32{1, 2, 3, 4}, IntLabels: []int{5, 9}, MultiClass: 1, Intercepts: []float32{0, 1}, Transform: "NONE"}, In: values(x), Outputs: 2,
			Want: values(optest.Ints(5, 9), optest.Floats([]int{2, 2}, -3, -4, 11, 26))},
		optest.Case{Name: "classifier logistic", Config: std.LinearClassifierConfig{Coefficients: []float32{0, 0}, StringLabels: []string{"a", "b"}, Transform: "LOGISTIC"}, In: values(x), Outputs: 2,
			Want: values(words(t, []int{2}, "a", "a"), optest.Floats([]int{2, 2}, 0.5, 0.5, 0.5, 0.5))},
		optest.Case{Name: "vectorizer", Config: std.FeatureVectorizerConfig{Dimensions: []int{2, 1}}, In: values(x, optest.Floats([]int{2, 1}, 5, 6)), Want: values(optest.Floats([]int{2, 3}, 1, -2, 5, 3, 4, 6))},
	)
	optest.Fails(t, optest.Case{Config: std.FeatureVectorizerConfig{}, Refusal: "input X_0: want a value, got nothing"})
}

func TestSupportVectors(t *testing.T) {
	x := optest.Floats([]int{2, 1}, 1, -1)
	optest.Run(t,
		optest.Case{Name: "linear", Config: std.SVMRegressorConfig{Coefficients: []float32{2}, KernelType: "LINEAR", Transform: "NONE", Rho: []float32{0.5}}, In: values(x), Want: values(optest.Floats([]int{2, 1}, 2.5, -1.5))},
		optest.Case{Name: "one class", Config: std.SVMRegressorConfig{Coefficients: []float32{1, 1}, Params: []float32{1, 0, 2}, KernelType: "POLY", Transform: "NONE", Supports: 2, OneClass: true, Rho: []float32{-3}, Vectors: []float32{1, 0}},
			In: values(x), Want: values(optest.Floats([]int{2, 1}, -1, -1))},
		optest.Case{Name: "two classes", Config: std.SVMClassifierConfig{IntLabels: []int{5, 9}, Coefficients: []float32{1, -2}, KernelType: "LINEAR", Transform: "NONE", Rho: []float32{0.5}, Vectors: []float32{1, 1}, PerClass: []int{1, 1}},
			In: values(x), Outputs: 2, Want: values(optest.Ints(9, 5), optest.Floats([]int{2, 2}, 0.5, -0.5, -1.5, 1.5))},
	)
	optest.Fails(t, optest.Case{Config: std.SVMClassifierConfig{IntLabels: []int{5, 9}, Coefficients: []float32{1}, KernelType: "LINEAR", Transform: "NONE", Rho: []float32{0.5}, Vectors: []float32{1, 1}, PerClass: []int{1, 1}}, In: values(x), Refusal: "has 1 coefficients, 2 numbers in support vectors and 1 rho for 2 classes of 1 features"})
	optest.Fails(t, optest.Case{Config: std.SVMRegressorConfig{Coefficients: []float32{1}, KernelType: "COSINE", Transform: "NONE", Rho: []float32{0}}, In: values(x), Refusal: "kernel_type \"COSINE\" is unknown"})
}

func TestEncoders(t *testing.T) {
	x := words(t, []int{3}, "a", "b", "c")
	optest.Run(t,
		optest.Case{Name: "one hot", Config: std.OneHotEncoderConfig{Ints: []int{4, 2}}, In: values(optest.Ints(2, 9)), Want: values(optest.Floats([]int{2, 2}, 0, 1, 0, 0))},
		optest.Case{Name: "labels", Config: std.LabelEncoderConfig{KeysString: []string{"a", "b"}, ValuesInt: []int{5, 6}, DefaultInt: integer(7)}, In: values(x), Want: values(optest.Ints(5, 6, 7))},
		optest.Case{Name: "version 1", Config: std.LabelEncoderConfig{Classes: []string{"b", "a"}, DefaultString: text("?")}, Version: 1, In: values(optest.Ints(1, 3)), Want: values(words(t, []int{2}, "a", "?"))},
		optest.Case{Name: "floats", Config: std.LabelEncoderConfig{KeysFloat: []float32{1, 2}, ValuesFloat: []float32{3, 4}, DefaultFloat: 9}, In: values(optest.Floats([]int{2}, 2, 5)), Want: values(optest.Floats([]int{2}, 4, 9))},
		optest.Case{Name: "mapper", Config: std.CategoryMapperConfig{Ints: []int{1, 2}, Strings: []string{"a", "b"}, DefaultInt: integer(-3)}, In: values(x), Want: values(optest.Ints(1, 2, -3))},
		optest.Case{Name: "tf", Config: std.TfIdfVectorizerConfig{MinLength: 1, MaxLength: 2, MaxSkip: 1, Mode: "TFIDF", Counts: []int{0, 2}, Indexes: []int{0, 1, 2}, Strings: []string{"a", "c", "a", "c"}, Weights: []float32{1, 2, 3}},
			In: values(x), Want: values(optest.Floats([]int{3}, 1, 2, 3))},
	)
	optest.Fails(t, optest.Case{Config: std.LabelEncoderConfig{KeysString: []string{"a"}, ValuesInt: []int{5, 6}}, In: values(x), Refusal: "has 1 keys and 2 values"})
}

func TestStrings(t *testing.T) {
	x, one := words(t, []int{2}, "a b  c", "d"), 1
	optest.Run(t,
		optest.Case{Name: "concat", Config: op.Plain("StringConcat"), In: values(x, words(t, nil, "!")), Want: values(words(t, []int{2}, "a b  c!", "d!"))},
		optest.Case{Name: "split", Config: std.StringSplitConfig{}, In: values(x), Outputs: 2, Want: values(words(t, []int{2, 3}, "a", "b", "c", "d", "", ""), optest.Ints(3, 1))},
		optest.Case{Name: "split once", Config: std.StringSplitConfig{Delimiter: " ", MaxSplit: &one}, In: values(x), Outputs: 2, Want: values(words(t, []int{2, 2}, "a", "b  c", "d", ""), optest.Ints(2, 1))},
		optest.Case{Name: "match", Config: std.RegexFullMatchConfig{Pattern: "[a-c ]+"}, In: values(x), Want: values(optest.Tensor([]bool{true, false}, 2))},
		optest.Case{Name: "normalize", Config: std.StringNormalizerConfig{Case: "UPPER", StopWords: []string{"D"}, Locale: "en_US"}, In: values(x), Want: values(words(t, []int{1}, "A B  C"))},
	)
	optest.Fails(t, optest.Case{Config: std.RegexFullMatchConfig{Pattern: "("}, In: values(x), Refusal: "pattern: error parsing regexp: missing closing ): `\\A(?:()\\z`"})
}

func TestTrees(t *testing.T) {
	x := optest.Floats([]int{2, 1}, 0, 2)
	regressor := std.TreeEnsembleRegressorConfig{Targets: 1, NodesID: []int{0, 1, 2}, NodesTree: []int{0, 0, 0}, NodesFeature: []int{0, 0, 0}, NodesModes: []string{"BRANCH_LEQ", "LEAF", "LEAF"},
		NodesTrue: []int{1, 0, 0}, NodesFalse: []int{2, 0, 0}, NodesValues: []float32{1, 0, 0}, TargetIDs: []int{0, 0}, TargetNodes: []int{1, 2}, TargetTrees: []int{0, 0}, TargetWeights: []float32{10, 20}, Base: []float32{0.5}}
	cycle := regressor
	cycle.NodesModes, cycle.NodesTrue = []string{"BRANCH_LEQ", "BRANCH_LT", "LEAF"}, []int{1, 1, 0}
	optest.Run(t, optest.Case{Name: "regressor", Config: regressor, In: values(x), Want: values(optest.Floats([]int{2, 1}, 10.5, 20.5))})
	optest.Fails(t, optest.Case{Config: cycle, In: values(x), Refusal: "1 trees have 0 nodes that no branch leads to, want a root each"})
	classifier := std.TreeEnsembleClassifierConfig{IntLabels: []int{3, 4}, NodesID: regressor.NodesID, NodesTree: regressor.NodesTree, NodesFeature: regressor.NodesFeature, NodesModes: regressor.NodesModes,
		NodesTrue: regressor.NodesTrue, NodesFalse: regressor.NodesFalse, NodesValues: regressor.NodesValues, ClassIDs: []int{0, 1}, ClassNodes: []int{1, 2}, ClassTrees: []int{0, 0}, ClassWeights: []float32{1, 1}}
	optest.Run(t, optest.Case{Name: "classifier", Config: classifier, In: values(x), Outputs: 2, Want: values(optest.Ints(3, 4), optest.Floats([]int{2, 2}, 1, 0, 0, 1))})
	ensemble := std.TreeEnsembleConfig{Targets: 1, Roots: []int{0}, NodesFeature: []int{0}, NodesModes: optest.Tensor([]uint8{6}, 1), NodesSplits: optest.Floats([]int{1}, 0), Aggregate: integer(3), Transform: 2,
		Members: optest.Floats([]int{3}, 2, 5, float32(math.NaN())), NodesTrue: []int{1}, NodesFalse: []int{0}, NodesYesLeaf: []int{1}, NodesNoLeaf: []int{1}, LeafTargets: []int{0, 0}, LeafWeights: optest.Floats([]int{2}, 0, 800)}
	optest.Run(t, optest.Case{Name: "ensemble", Config: ensemble, In: values(x), Want: values(optest.Floats([]int{2, 1}, 0.5, 1))})
	ensemble.Roots = []int{3}
	optest.Fails(t, optest.Case{Config: ensemble, In: values(x), Refusal: "there is no node 3"})
}

func TestSpectra(t *testing.T) {
	no := false
	x := optest.Floats([]int{1, 4, 1}, 1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "dft", Config: std.DFTConfig{}, In: values(x), Want: values(optest.Floats([]int{1, 4, 2}, 10, 0, -2, 2, -2, 0, -2, -2)), NoLow: "cancels"},
		optest.Case{Name: "half", Config: std.DFTConfig{OneSided: true}, In: values(optest.Rand(1, 1, 6, 1)), NoLow: "cancels"},
		optest.Case{Name: "inverse", Config: std.DFTConfig{Inverse: true}, Version: 17, In: values(optest.Rand(1, 2, 5, 2)), NoLow: "cancels"},
		optest.Case{Name: "half of complex", Config: std.DFTConfig{OneSided: true}, In: values(optest.Rand(1, 2, 5, 2)), NoLow: "cancels"},
		optest.Case{Name: "padded", Config: std.DFTConfig{}, In: values(optest.Rand(1, 1, 4, 1), optest.Tensor([]int64{6})), NoLow: "cancels"},
		optest.Case{Name: "cut off", Config: std.DFTConfig{Inverse: true}, In: values(optest.Rand(1, 3, 2, 2), optest.Tensor([]int64{2}), optest.Tensor([]int64{0})), NoLow: "cancels"},
		optest.Case{Name: "half inverse", Config: std.DFTConfig{OneSided: true, Inverse: true}, In: values(optest.Rand(1, 2, 4, 2)), NoLow: "cancels"},
		optest.Case{Name: "half inverse, odd", Config: std.DFTConfig{OneSided: true, Inverse: true}, In: values(optest.Rand(1, 1, 3, 2), optest.Tensor([]int64{5})), NoLow: "cancels"},
		optest.Case{Name: "half inverse, cut off", Config: std.DFTConfig{OneSided: true, Inverse: true}, In: values(optest.Rand(1, 1, 5, 2), optest.Tensor([]int64{4})), NoLow: "cancels"},
		optest.Case{Name: "stft window", Config: std.STFTConfig{}, In: values(optest.Rand(1, 2, 9, 1), optest.Tensor([]int64{2}), optest.Rand(2, 5)), NoLow: "cancels"},
		optest.Case{Name: "stft complex", Config: std.STFTConfig{OneSided: &no}, In: values(optest.Rand(1, 2, 8, 2), optest.Tensor([]int64{3}), optest.Rand(2, 4)), NoLow: "cancels"},
		optest.Case{Name: "stft", Config: std.STFTConfig{OneSided: &no}, In: values(optest.Rand(1, 1, 8), optest.Tensor([]int64{2}), nil, optest.Tensor([]int64{4})), NoLow: "cancels"},
		optest.Case{Name: "mel", Config: std.MelWeightMatrixConfig{}, In: values(optest.Tensor([]int64{8}), optest.Tensor([]int64{16}), optest.Tensor([]int64{8192}), optest.Tensor([]float32{0}), optest.Tensor([]float32{4096}))},
	)
	optest.Fails(t, optest.Case{Config: std.STFTConfig{}, In: values(x, optest.Tensor([]int64{0}), nil, optest.Tensor([]int64{4})), Refusal: "cannot cut 4 points into frames of 4, 0 apart"})
}

func TestUpdateRules(t *testing.T) {
	r, step := optest.Tensor([]float32{0.1}), optest.Tensor([]int64{0})
	v := func(f float32) dtype.Value { return optest.Floats([]int{1}, f) }
	optest.Run(t,
		optest.Case{Name: "momentum", Config: std.MomentumConfig{Alpha: 0.5, Beta: 0.1, Mode: "standard", Norm: 0.001}, In: values(r, step, v(0), v(2), v(4)), Outputs: 2, Want: values(v(-0.4), v(4)), NoCut: "pinned"},
		optest.Case{Name: "adagrad", Config: std.AdagradConfig{Decay: 0.1, Norm: 0, Epsilon: number(1)}, In: values(r, step, v(1), v(3), v(0)), Outputs: 2, Want: values(v(1-0.3/4), v(9)), NoCut: "pinned"},
		optest.Case{Name: "adam", Config: std.AdamConfig{Alpha: number(0.5), Beta: number(0.75), NormPost: 0.5, Epsilon: number(1)}, In: values(r, step, v(1), v(2), v(0), v(0)), Outputs: 3, Want: values(v(0.475), v(1), v(1)), NoCut: "pinned"},
	)
}

func text(s string) *string { return &s }
