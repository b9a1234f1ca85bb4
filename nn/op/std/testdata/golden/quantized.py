"""Quantization."""
from golden import *


def run():
    x = some(2, 3, 4, lo=-3, hi=3)
    one, per = lambda v, t="float32": Tensor(np.array(v, np.float32), t), tensor([0.02, 0.05, 0.011], "float32")
    for t, zero in [("uint8", 120), ("int8", -7), ("uint16", 900), ("int16", 77)]:
        case("QuantizeLinear", x, one(0.021), Tensor(np.array(zero), t), nograd="rounds", nolow="ties", nowide="ties")
        case("QuantizeLinear", x, per, tensor([zero, 0, 3], t), nograd="rounds", nolow="ties", nowide="ties")
    for t in ["float64", "int32", "float8e8m0"]:
        # A scale of a type that ONNX Runtime does not take.
        step = Tensor(np.array(2.0), t)
        case("QuantizeLinear", Tensor(x.data * 9, "float32"), step, Tensor(np.array(30), "uint8"), opset=24, nograd="rounds", nolow="ties", nowide="ties", ref=lambda x, s, z: Tensor(np.clip(np.rint(x / 2) + 30, 0, 255), "uint8"))
        case("DequantizeLinear", tensor([[3, 90]], "uint8"), step, Tensor(np.array(30), "uint8"), output_dtype=1, opset=24, nograd="scale", nowide="scale", nolow="scale", ref=lambda x, s, z, output_dtype: tensor([[-54, 120]], "float32"))
    case("QuantizeLinear", x, one(0.021), nograd="rounds", nolow="ties", nowide="ties")
    case("QuantizeLinear", tensor([2.5, 3.5, -0.5, 1e9, -1e9], "float32"), one(1.0), Tensor(np.array(0), "int8"), nograd="rounds", nolow="ties", nowide="ties")
    case("QuantizeLinear", x, tensor([0.02, 0.05, 0.011, 0.3], "float32"), axis=-1, nograd="rounds", nolow="ties", nowide="ties")
    case("QuantizeLinear", x, tensor([0.02, 0.05], "float32"), tensor([3, 5], "uint8"), axis=0, nograd="rounds", nolow="ties", nowide="ties")
    case("QuantizeLinear", some(2, 6, seed=3), some(2, 3, lo=0.01, hi=0.05, seed=4), axis=1, block_size=2, nograd="rounds", nolow="ties", nowide="ties")
    case("QuantizeLinear", some(5, 2, seed=3), some(3, 2, lo=0.01, hi=0.05, seed=4), tensor([[1, 2], [3, 4], [5, 6]], "uint8"), axis=0, block_size=2, nograd="rounds", nolow="ties", nowide="ties")
    for t in ["int8", "uint16"]:
        case("QuantizeLinear", x, one(0.021), output_dtype=CODES[t], nograd="rounds", nolow="ties", nowide="ties")
        case("QuantizeLinear", x, one(0.021), Tensor(np.array(4), t), output_dtype=CODES[t], nograd="rounds", nolow="ties", nowide="ties")
    case("QuantizeLinear", tensor([64, -3, 100], "int32"), one(2.5), Tensor(np.array(3), "uint8"), opset=19, via=lambda x, s, z: ("QuantizeLinear", [Tensor(x.data, "float32"), s, z], {}, 13), nolow="ties", nowide="ties")
    for t in LOW + ["float64"]:
        case("QuantizeLinear", Tensor(x.data, t), one(0.5, t if t != "float64" else "float32"), Tensor(np.array(3), "uint8"), nograd="rounds", ref=lambda x, s, z: Tensor(np.clip(np.rint(x / s) + 3, 0, 255), "uint8"), nolow="ties", nowide="ties")
    case("QuantizeLinear", x, one(0.021), Tensor(np.array(3), "uint8"), precision=CODES["float32"], nograd="rounds", via=lambda x, s, z: ("QuantizeLinear", [x, s, z], {}, 19), nolow="ties", nowide="ties")
    for t, lo, hi in [("int4", -8, 7), ("uint4", 0, 15), ("int2", -2, 1), ("uint2", 0, 3)]:
        def few(x, s, z, lo=lo, hi=hi, t=t, **_):
            return Tensor(np.clip(np.rint(x / s) + z, lo, hi), t)
        case("QuantizeLinear", x, one(0.4), Tensor(np.array(1), t), ref=few, nograd="rounds", opset=25, nolow="ties", nowide="ties")
        case("DequantizeLinear", Tensor(np.clip(np.arange(6) - 2, lo, hi).reshape(2, 3), t), one(0.4), Tensor(np.array(1), t), ref=lambda x, s, z: (x - z) * s, opset=25)
    for t in ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]:
        for saturate in [0, 1]:
            case("QuantizeLinear", tensor([0.3, 1.7, -400, 500, 1.1], "float32"), one(2.0), Tensor(np.array(0), t), saturate=saturate, nograd="rounds", ref=eight(t, saturate), nolow="ties", nowide="ties")
        case("DequantizeLinear", Tensor(np.array([0.25, 1.75, -4, 8]), t), one(0.3), ref=lambda x, s: x * s)
    case("QuantizeLinear", tensor([0.3, 1.6, -2.6, 7, 1.1], "float32"), one(1.0), Tensor(np.array(0), "float4e2m1"), ref=lambda x, s, z: Tensor(np.array([0.5, 1.5, -3, 6, 1]), "float4e2m1"), nograd="rounds", nolow="ties", nowide="ties")
    case("DequantizeLinear", Tensor(np.array([0.5, -1.5, 6]), "float4e2m1"), one(0.3), ref=lambda x, s: x * s)
    dequantize(one, per)
    products(one)
    for v in [[0, 2, -3, -2.5, 1.34, 0.5], [-4.0, -3.0, -2.0, -1.0], [1, 2.1, 1.3, 2.5, 3.34, 4.0]]:
        case("DynamicQuantizeLinear", tensor(v, "float32"), out=3, nograd="rounds")


def eight(t, saturate):
    def f(x, s, z, **_):
        import elementwise
        return elementwise.through(t, saturate)((x / s).astype(np.float32))
    return f


def dequantize(one, per):
    q = np.arange(24).reshape(2, 3, 4) * 5 % 97
    for t, zero in [("uint8", 120), ("int8", -7), ("uint16", 900), ("int16", 77), ("int32", 0)]:
        case("DequantizeLinear", Tensor(q, t), one(0.021), Tensor(np.array(zero), t) if t != "int32" else None)
        case("DequantizeLinear", Tensor(q, t), per, tensor([zero, 0, 3], t) if t != "int32" else None, axis=1)
    case("DequantizeLinear", Tensor(q, "uint8"), tensor([0.02, 0.05, 0.011, 0.3], "float32"), axis=-1)
    case("DequantizeLinear", Tensor(q, "int8"), tensor([0.02, 0.05], "float32"), tensor([3, 5], "int8"), axis=0)
    case("DequantizeLinear", Tensor(q.reshape(4, 6), "uint8"), some(4, 3, lo=0.01, hi=0.05, seed=4), axis=1, block_size=2)
    case("DequantizeLinear", Tensor(q.reshape(6, 4)[:5], "uint8"), some(3, 4, lo=0.01, hi=0.05, seed=4), Tensor(np.arange(12).reshape(3, 4), "uint8"), axis=0, block_size=2)
    for t in LOW:
        case("DequantizeLinear", Tensor(q, "uint8"), one(0.25, t), Tensor(np.array(3), "uint8"), ref=lambda x, s, z, t=t: Tensor((x.astype(np.float32) - 3) * np.float32(s), t))
        case("DequantizeLinear", Tensor(q, "uint8"), one(0.25), Tensor(np.array(3), "uint8"), output_dtype=CODES[t], nograd="rounds", opset=23, ref=lambda x, s, z, t=t, **_: Tensor((x.astype(np.float32) - 3) * np.float32(s), t))


def products(one):
    for ta, tb in [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")]:
        a, b = Tensor(np.abs(np.rint(some(2, 3).data * 60)) if ta == "uint8" else np.rint(some(2, 3).data * 60), ta), Tensor(np.abs(np.rint(some(3, 4, seed=2).data * 60)) if tb == "uint8" else np.rint(some(3, 4, seed=2).data * 60), tb)
        zero = lambda v, t: Tensor(np.array(v), t)
        case("QLinearMatMul", a, one(0.02), zero(3, ta), b, one(0.03), zero(5, tb), one(0.11), zero(7, ta), opset=20)
        case("QLinearMatMul", a, one(0.02), zero(3, ta), b, tensor([0.03, 0.01, 0.02, 0.05], "float32"), tensor([0, 0, 0, 0], tb), one(0.11), zero(7, ta), opset=20)
        case("QLinearMatMul", Tensor(np.stack([a.data, a.data[::-1]]), ta), one(0.02), zero(3, ta), b, one(0.03), zero(5, tb), one(0.11), zero(7, ta), opset=21)
    for t in ["float8e4m3fn", "float8e5m2"]:
        p, r, none = Tensor(np.array([[1, -2, 0.5], [4, 0.25, 8]]), t), Tensor(np.array([[1, 2], [-0.5, 4], [2, 0]]), t), Tensor(np.array(0.0), t)
        case("QLinearMatMul", p, one(0.5), none, r, one(2.0), none, one(1.0), none, opset=21, nograd="rounds", nowide="scales", nolow="scales", ref=lambda *_, t=t: Tensor(np.array([[3, -6], [20, 9]]) if t == "float8e4m3fn" else np.array([[3, -6], [20, 8]]), t))
    for t in LOW:
        case("QLinearMatMul", a, one(0.02, t), zero(3, ta), b, one(0.03, t), zero(5, tb), one(0.11, t), zero(7, ta), opset=21, nowide="scales are rounded", nolow="scales are rounded",
             ref=lambda a, sa, za, b, sb, zb, sy, zy: Tensor(np.clip(np.rint((a.astype(float) - 3) @ (b.astype(float) - 5) * (float(sa) * float(sb) / float(sy))) + 7, -128, 127), "int8"))
