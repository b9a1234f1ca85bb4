package kernel

// ---- signatures published early; bodies move to their own files ----

const todo = "kernel: not written yet"

// ConvShape: x [N,C,In…], w [OC,C/Group,Kernel…], y [N,OC,Out…]; 1 to 3 spatial dimensions.
type ConvShape struct {
	N, C, OC, Group                                     int
	In, Kernel, Out, Stride, Dilation, PadBegin, PadEnd []int
}

// ConvForward: y = conv(x, w) + bias; bias may be nil.
func ConvForward[T Float](p *Pool, s *ConvShape, x, w, bias, y []T, scratch func(n int) []T) {
	panic(todo)
}

// ConvBackwardData: dx = gradient with respect to x (overwritten). Also the forward pass of ConvTranspose.
func ConvBackwardData[T Float](p *Pool, s *ConvShape, dy, w, dx []T, scratch func(n int) []T) {
	panic(todo)
}

// ConvBackwardWeight: dw = gradient with respect to w (overwritten).
func ConvBackwardWeight[T Float](p *Pool, s *ConvShape, x, dy, dw []T, scratch func(n int) []T) {
	panic(todo)
}

// ConvBackwardBias: db[oc] = sum of dy over N and space (overwritten).
func ConvBackwardBias[T Float](p *Pool, s *ConvShape, dy, db []T) { panic(todo) }

// PoolShape: x [N,C,In…], y [N,C,Out…].
type PoolShape struct {
	N, C                                                int
	In, Kernel, Out, Stride, Dilation, PadBegin, PadEnd []int
	CountIncludePad                                     bool
}

// MaxPool: index (may be nil) receives the flat row-major position in x of each maximum.
func MaxPool[T Float](p *Pool, s *PoolShape, x, y []T, index []int64) { panic(todo) }

// MaxPoolGrad: dx (overwritten) from dy and the indices MaxPool wrote.
func MaxPoolGrad[T Float](p *Pool, s *PoolShape, dy []T, index []int64, dx []T) { panic(todo) }

// AveragePool and its gradient.
func AveragePool[T Float](p *Pool, s *PoolShape, x, y []T) { panic(todo) }

// AveragePoolGrad overwrites dx.
func AveragePoolGrad[T Float](p *Pool, s *PoolShape, dy, dx []T) { panic(todo) }

// LpPool: y = (sum |x|^ord)^(1/ord).
func LpPool[T Float](p *Pool, s *PoolShape, ord float64, x, y []T) { panic(todo) }

// LpPoolGrad overwrites dx.
func LpPoolGrad[T Float](p *Pool, s *PoolShape, ord float64, x, y, dy, dx []T) { panic(todo) }

// BinaryOp names an elementwise function of two operands a and b.
type BinaryOp uint8

const (
	OpAdd  BinaryOp = iota // a+b
	OpSub                  // a-b
	OpMul                  // a*b
	OpDiv                  // a/b
	OpMax                  // larger, NaN if either is
	OpMin                  // smaller, NaN if either is
	OpRSub                 // b-a
	OpRDiv                 // b/a
)

// Binary: dst[i] = a[i] op b[i]; dst may be a or b.
func Binary[T Float](p *Pool, op BinaryOp, dst, a, b []T) { panic(todo) }

// BinaryScalar: dst[i] = a[i] op s.
func BinaryScalar[T Float](p *Pool, op BinaryOp, dst, a []T, s T) { panic(todo) }

// BinaryRow: dst[r,c] = a[r,c] op b[c].
func BinaryRow[T Float](p *Pool, op BinaryOp, rows, cols int, dst, a, b []T) { panic(todo) }

// BinaryCol: dst[r,c] = a[r,c] op b[r].
func BinaryCol[T Float](p *Pool, op BinaryOp, rows, cols int, dst, a, b []T) { panic(todo) }

// Add, Sub, Mul, Div: dst[i] = a[i] op b[i].
func Add[T Float](p *Pool, dst, a, b []T) { Binary(p, OpAdd, dst, a, b) }
func Sub[T Float](p *Pool, dst, a, b []T) { Binary(p, OpSub, dst, a, b) }
func Mul[T Float](p *Pool, dst, a, b []T) { Binary(p, OpMul, dst, a, b) }
func Div[T Float](p *Pool, dst, a, b []T) { Binary(p, OpDiv, dst, a, b) }

// Unary functions: dst[i] = f(x[i]); dst may be x.
func Relu[T Float](p *Pool, dst, x []T)    { panic(todo) }
func Exp[T Float](p *Pool, dst, x []T)     { panic(todo) }
func Tanh[T Float](p *Pool, dst, x []T)    { panic(todo) }
func Sigmoid[T Float](p *Pool, dst, x []T) { panic(todo) }
func Erf[T Float](p *Pool, dst, x []T)     { panic(todo) }
func Log[T Float](p *Pool, dst, x []T)     { panic(todo) }
func Sqrt[T Float](p *Pool, dst, x []T)    { panic(todo) }

// Map: dst[i] = f(x[i]) on the pool, for functions without a kernel.
func Map[T, U any](p *Pool, dst []U, x []T, f func(T) U) { panic(todo) }

// ReluGrad: dx = dy where y > 0, else 0 (y is Relu's input or output).
func ReluGrad[T Float](p *Pool, dx, dy, y []T) { panic(todo) }

// SigmoidGrad: dx = dy*y*(1-y).
func SigmoidGrad[T Float](p *Pool, dx, dy, y []T) { panic(todo) }

// TanhGrad: dx = dy*(1-y²).
func TanhGrad[T Float](p *Pool, dx, dy, y []T) { panic(todo) }

// Axpy: y += alpha*x.
func Axpy[T Float](p *Pool, alpha T, x, y []T) { panic(todo) }

// Scale: dst = alpha*x.
func Scale[T Float](p *Pool, alpha T, dst, x []T) { panic(todo) }

// Fill sets every element.
func Fill[E any](p *Pool, dst []E, v E) { panic(todo) }

// Sum, Max, Dot, SumSq of whole slices.
func Sum[T Float](p *Pool, x []T) T    { panic(todo) }
func SumSq[T Float](p *Pool, x []T) T  { panic(todo) }
func Max[T Float](p *Pool, x []T) T    { panic(todo) }
func Dot[T Float](p *Pool, x, y []T) T { panic(todo) }

// Softmax over the middle dimension of [outer, axis, inner]; dst may be x.
func Softmax[T Float](p *Pool, outer, axis, inner int, dst, x []T) { panic(todo) }

// LogSoftmax likewise.
func LogSoftmax[T Float](p *Pool, outer, axis, inner int, dst, x []T) { panic(todo) }

// SoftmaxGrad: dx from dy and the output y; dx may be dy.
func SoftmaxGrad[T Float](p *Pool, outer, axis, inner int, dx, dy, y []T) { panic(todo) }

// LogSoftmaxGrad: dx from dy and the output y.
func LogSoftmaxGrad[T Float](p *Pool, outer, axis, inner int, dx, dy, y []T) { panic(todo) }

// RowMoments: mean and biased variance of each row of x [rows, cols].
func RowMoments[T Float](p *Pool, rows, cols int, x, mean, variance []T) { panic(todo) }

// LayerNorm: y = (x-mean)*invstd*scale+bias per row; scale, bias [cols] may be nil; mean, invstd [rows] are written (may be nil).
func LayerNorm[T Float](p *Pool, rows, cols int, eps T, x, scale, bias, y, mean, invstd []T) {
	panic(todo)
}

// LayerNormGrad: any of dx [rows,cols], dscale, dbias [cols] may be nil; overwritten.
func LayerNormGrad[T Float](p *Pool, rows, cols int, x, scale, mean, invstd, dy, dx, dscale, dbias []T, scratch func(n int) []T) {
	panic(todo)
}

// ChannelMoments: mean and biased variance over N and space of x [n, c, space], per channel.
func ChannelMoments[T Float](p *Pool, n, c, space int, x, mean, variance []T) { panic(todo) }

// ChannelAffine: y[n,c,s] = x[n,c,s]*scale[c] + shift[c]; shift may be nil.
func ChannelAffine[T Float](p *Pool, n, c, space int, x, scale, shift, y []T) { panic(todo) }

// BatchNorm: y = (x-mean)*scale/sqrt(variance+eps)+bias per channel.
func BatchNorm[T Float](p *Pool, n, c, space int, eps T, x, scale, bias, mean, variance, y []T) {
	panic(todo)
}

// BatchNormGrad: train = mean and variance were computed from x; else they were constants. dx, dscale, dbias may be nil; overwritten.
func BatchNormGrad[T Float](p *Pool, n, c, space int, eps T, train bool, x, dy, scale, mean, variance, dx, dscale, dbias []T) {
	panic(todo)
}

// ChannelSum: sum[c] = sum over n and space of x [n, c, space].
func ChannelSum[T Float](p *Pool, n, c, space int, x, sum []T) { panic(todo) }

// ReduceOp names a reduction.
type ReduceOp uint8

const (
	ReduceSum ReduceOp = iota
	ReduceMean
	ReduceMax
	ReduceMin
	ReduceProd
	ReduceSumSq
	ReduceL1
)

// Reduce: dst [outer, inner] from x [outer, axis, inner].
func Reduce[T Float](p *Pool, op ReduceOp, outer, axis, inner int, dst, x []T) { panic(todo) }

// ReduceAxes reduces the listed axes (0 ≤ axis < rank, any order) of x of the given shape.
func ReduceAxes[T Float](p *Pool, op ReduceOp, shape, axes []int, dst, x []T, scratch func(n int) []T) {
	panic(todo)
}

// Transpose: dst has dimensions shape[perm[0]], shape[perm[1]], …
func Transpose[E any](p *Pool, dst, src []E, shape, perm []int) { panic(todo) }

// ActivationKind is an ONNX recurrent activation function.
type ActivationKind uint8

const (
	ActDefault ActivationKind = iota // what the cell's specification says at this place
	ActTanh
	ActSigmoid
	ActRelu
	ActAffine
	ActLeakyRelu
	ActThresholdedRelu
	ActScaledTanh
	ActHardSigmoid
	ActElu
	ActSoftsign
	ActSoftplus
)

// Activation is a function with its parameters, all given explicitly (ONNX defaults are the caller's to fill in; see ActivationByName).
type Activation struct {
	Kind        ActivationKind
	Alpha, Beta float64
}

// RNNShape describes one direction of a recurrent layer, ONNX layout 0.
type RNNShape struct {
	Seq, Batch, Input, Hidden int
	Reverse                   bool    // the reverse direction
	Lens                      []int   // per batch element, nil = all Seq
	Clip                      float64 // 0 = no clipping
	InputForget               bool    // LSTM: f = 1-i
	LinearBeforeReset         bool    // GRU
	Act                       [3]Activation
	YStride                   int // elements between time steps of Y, 0 = Batch*Hidden (2*Batch*Hidden for a bidirectional Y)
}

// RNNData are the operands of a forward pass; G gates (LSTM 4: i o f c, GRU 3: z r h, RNN 1).
type RNNData[T Float] struct {
	X      []T // [Seq, Batch, Input]
	W      []T // [G*Hidden, Input]
	R      []T // [G*Hidden, Hidden]
	B      []T // [2*G*Hidden] or nil
	P      []T // LSTM peepholes i o f [3*Hidden] or nil
	H0, C0 []T // [Batch, Hidden] or nil
	Y      []T // [Seq, (YStride) Batch, Hidden] or nil
	YH, YC []T // [Batch, Hidden] or nil

	Reserve []T // what backward needs, XxxReserve(s) elements; nil where no backward follows
}

// RNNGrads: the incoming gradients (nil = zero) and the ones asked for (nil = not wanted; overwritten).
type RNNGrads[T Float] struct {
	DY, DYH, DYC                 []T
	DX, DW, DR, DB, DP, DH0, DC0 []T
}

// LSTMReserve is the length of RNNData.Reserve.
func LSTMReserve(s *RNNShape) int { return 7 * s.Seq * s.Batch * s.Hidden }
func GRUReserve(s *RNNShape) int  { return 6 * s.Seq * s.Batch * s.Hidden }
func RNNReserve(s *RNNShape) int  { return 3 * s.Seq * s.Batch * s.Hidden }

// LSTM runs one direction forward.
func LSTM[T Float](p *Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) { panic(todo) }

// LSTMGrad runs it backward; d is what LSTM was given and wrote (W, R, B, P, X, H0, C0, Reserve).
func LSTMGrad[T Float](p *Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	panic(todo)
}

// GRU and GRUGrad likewise.
func GRU[T Float](p *Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) { panic(todo) }
func GRUGrad[T Float](p *Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	panic(todo)
}

// RNN and RNNGrad likewise.
func RNN[T Float](p *Pool, s *RNNShape, d *RNNData[T], scratch func(n int) []T) { panic(todo) }
func RNNGrad[T Float](p *Pool, s *RNNShape, d *RNNData[T], g *RNNGrads[T], scratch func(n int) []T) {
	panic(todo)
}

// ActivationByName finds an ONNX activation (any case) with its default alpha and beta.
func ActivationByName(name string) (Activation, bool) { panic(todo) }
