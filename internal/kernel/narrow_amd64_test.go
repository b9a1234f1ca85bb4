//go:build !purego

package kernel

import "testing"

// What a processor without AVX-512, or without AVX2, runs passes the same tests.
func TestNarrow(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a dozen tests twice more")
	}
	tests := []struct {
		name string
		run  func(*testing.T)
	}{{"Gemm", TestGemm}, {"GemmTails", TestGemmTails}, {"Packed", TestPacked}, {"Conv", TestConv}, {"Tile", TestTileKernels}, {"StoreRuns", TestStoreRuns}, {"Weight", TestWeightKernels}, {"Depth", TestDepthKernels}, {"DepthPlanes", TestDepthPlanes}, {"Bottleneck", TestBottleneck}, {"Winograd", TestWinograd}, {"Transpose", TestTranspose}, {"BatchNorm", TestBatchNorm}, {"BatchNormEnding", TestBatchNormEnding}, {"Bent", TestBent}, {"Roundings", TestRoundings}, {"EqualMask", TestEqualMask}, {"UnaryGrad", TestUnaryGrad},
		{"Functions", TestFunctionsFloat32}, {"Unary", TestUnary}, {"Binary", TestBinary}, {"Vector", TestVector}, {"Softmax", TestSoftmax}, {"LayerNorm", TestLayerNorm}, {"Pow", TestPow}, {"Fmod", TestFmod}, {"Resampling", TestResampling}}
	hadWide, hadSIMD := avx512, simd
	defer func() { avx512, simd = hadWide, hadSIMD }()
	for _, level := range []struct {
		name       string
		simd, wide bool
	}{{"AVX2", true, false}, {"Go", false, false}} {
		if level.simd && !hadSIMD {
			continue
		}
		simd, avx512 = level.simd, level.wide
		for _, x := range tests {
			t.Run(level.name+"/"+x.name, x.run)
		}
	}
}
