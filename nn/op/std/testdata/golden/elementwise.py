"""Operators on single elements, with and without broadcasting."""
from golden import *

SPECIAL = tensor([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan], "float32").data

RANGES = {"Sqrt": (0.1, 4), "Log": (0.1, 4), "Acosh": (1.2, 4), "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Tan": (-1.2, 1.2), "HardSwish": (-4.3, 4.4), "Reciprocal": (0.3, 2)}


def unary():
    for op in ["Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "HardSwish", "Log", "Mish", "Reciprocal", "Sigmoid", "Sin", "Sinh",
               "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "Ceil", "Floor", "Round"]:
        lo, hi = RANGES.get(op, (-3, 3))
        case(op, some(2, 5, lo=lo, hi=hi), types=FLOATS, nolow="steps" if op in ("Ceil", "Floor", "Round") else None)
        case(op, Tensor(SPECIAL), nograd="not smooth at some elements", nolow="steps" if op in ("Ceil", "Floor", "Round") else None)
        if op not in ("Acosh", "Acos", "Asin", "Atanh", "Log"):
            wide = 80 if op not in ("Sin", "Cos", "Tan") else 20
            case(op, some(3, 3, lo=0.01 if op == "Sqrt" else -wide, hi=wide), nograd="saturates", nolow="beyond float16", tol=1e-5)
    for op in ["Abs", "Neg", "Sign", "Relu"]:
        types = {"Abs": NUMERIC, "Sign": NUMERIC}.get(op, FLOATS + SIGNED)
        case(op, some(2, 5), types=types)
        case(op, Tensor(SPECIAL), nograd="not smooth at some elements")
    case("IsNaN", Tensor(SPECIAL), types=FLOATS)
    case("IsInf", Tensor(SPECIAL), types=FLOATS, ref=lambda x: np.isinf(x))
    case("IsInf", Tensor(SPECIAL), detect_negative=0)
    case("IsInf", Tensor(SPECIAL), detect_positive=0)
    case("Identity", some(2, 3), types=ANY + ["int32", "uint8"])
    case("Identity", tensor([[1 + 2j, -0.5j]], "complex64"), ref=lambda x: Tensor(x))
    case("Not", tensor([[True, False, True]], "bool"))
    for t in INTEGERS:
        case("BitwiseNot", tensor([0, 1, 5, 100], t))
    for op, attr in [("Elu", {"alpha": 0.7}), ("Celu", {"alpha": 1.7}), ("LeakyRelu", {"alpha": 0.2}), ("ThresholdedRelu", {"alpha": 0.6}), ("Selu", {"alpha": 1.2, "gamma": 0.8}),
                     ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}), ("Gelu", {"approximate": "tanh"}), ("Shrink", {"lambd": 0.6, "bias": 0.3}), ("Swish", {"alpha": 1.3})]:
        ref = None
        if op == "Swish":
            ref = lambda x, alpha=1.0: x / (1 + np.exp(-alpha * x))
        jumps = "jumps" if op == "ThresholdedRelu" else None
        case(op, some(2, 5), types=FLOATS, ref=ref, nograd=jumps)
        case(op, some(2, 5, lo=-3, hi=3), types=FLOATS, attrs=attr, ref=ref)
        for k, v in attr.items():
            case(op, some(7, lo=-4, hi=4), attrs={k: v}, ref=ref)
    case("Shrink", some(2, 5), types=SIGNED + UNSIGNED, lambd=2.5, bias=1.0, only=True)


def via_modern(op, opset=13):
    """An operator of before version 7: B is aligned with A from axis on, with broadcast=1."""
    def other(a, b, broadcast=0, axis=None):
        return b

    def make(attrs):
        def call(a, b):
            shape = list(b.shape)
            if "axis" in attrs:
                shape += [1] * (len(a.shape) - attrs["axis"] - len(shape))
            return op, [a, Tensor(b.data.reshape(shape), b.type)], {}, opset
        return call
    return make


def binary():
    a, b, row = some(2, 3), some(2, 3, lo=0.6, hi=3, seed=2), some(3, lo=0.6, hi=2.5, seed=3)
    column = some(4, 1, lo=0.5, hi=2, seed=4)
    for op in ["Add", "Sub", "Mul", "Div"]:
        case(op, a, b, types=NUMERIC)
        case(op, a, row, types=["float64", "int64"])
        case(op, column, row)
        case(op, scalar(1.25, "float32"), a if op != "Div" else b)
        case(op, some(2, 3, 4), some(3, 1, lo=0.7, hi=2, seed=5))
        make = via_modern(op)
        case(op, some(2, 3, 4), some(3, 4, lo=0.5, hi=2, seed=6), opset=6, broadcast=1, via=make({}))
        case(op, some(2, 3, 4), some(3, lo=0.5, hi=2, seed=6), opset=6, broadcast=1, axis=1, via=make({"axis": 1}))
    for t in ["int32", "int64"]:
        case("Div", tensor([7, -7, 8, -9], t), tensor([2, 2, -3, -4], t))
    for op in ["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"]:
        types = NUMERIC + (["bool", "string"] if op == "Equal" else [])
        x, y = some(2, 4), Tensor(np.where(np.arange(8).reshape(2, 4) % 3 == 0, some(2, 4).data, some(2, 4, seed=9).data))
        case(op, x, y, types=types)
        case(op, x, some(4, seed=3), types=["float64", "int32"])
        case(op, Tensor(SPECIAL), Tensor(np.roll(SPECIAL, 1)))
        if "Or" not in op:
            case(op, Tensor(x.data.repeat(3).reshape(2, 4, 3)), Tensor(y.data), opset=6 if op != "Equal" else 1, broadcast=1, axis=0, only=op == "Equal", via=via_modern(op)({"axis": 0}), types=["int32"] if op == "Equal" else [])
            case(op, x, some(4, seed=3), opset=6 if op != "Equal" else 1, broadcast=1, only=op == "Equal", via=via_modern(op)({}), types=["int64"] if op == "Equal" else [])
    p, q = tensor([[True, False, True], [False, False, True]], "bool"), tensor([True, True, False], "bool")
    for op in ["And", "Or", "Xor"]:
        case(op, p, q)
        case(op, p, Tensor(np.array([[True], [False]])))
        case(op, p, q, opset=1, broadcast=1, via=via_modern(op)({}))
        case(op, p, tensor([True, False], "bool"), opset=1, broadcast=1, axis=0, via=via_modern(op)({"axis": 0}))
    for t in INTEGERS:
        x, y = tensor([[12, 10, 99], [7, 1, 64]], t), tensor([10, 3, 77], t)
        for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
            case(op, x, y)
        if t in UNSIGNED:
            for direction in ["LEFT", "RIGHT"]:
                case("BitShift", tensor([[16, 4, 200], [1, 7, 9]], t), tensor([1, 2, 7], t), direction=direction, ref=shifted(t))
    base, power = some(2, 3, lo=0.4, hi=2), some(3, lo=-2, hi=3, seed=4)
    case("Pow", base, power, types=FLOATS)
    for t in ["int32", "int64", "float64"]:
        case("Pow", base, tensor([2, 3, 0], t))
        if t != "float64":
            case("Pow", tensor([[2, -3, 5], [1, 0, 4]], t), tensor([2, 3, 0], t))
            case("Pow", tensor([[2, -3, 5], [1, 0, 4]], t), tensor([2.0, 3, 1], "float32"))
    for t in ["int8", "uint8", "uint32", "int16", "uint64"]:
        case("Pow", tensor([[2, 3, 5], [1, 0, 4]], t), tensor([2, 3, 0], t), ref=lambda x, y: np.power(x, y).astype(x.dtype))
    for e in [2.0, 3.0, 0.5, -1.0, 1.0, 0.0]:
        case("Pow", base, scalar(e, "float32"))
    case("Pow", some(2, 3, 4, lo=0.5, hi=2), some(3, seed=6), opset=1, broadcast=1, axis=1, via=via_modern("Pow")({"axis": 1}))
    case("Pow", some(2, 3, lo=0.5, hi=2), some(3, seed=6), opset=1, broadcast=1, via=via_modern("Pow")({}))
    for t in INTEGERS:
        case("Mod", tensor([7, 8, 20, 5] if t in UNSIGNED else [7, -8, 20, -5], t), tensor([3, 5, 7, 5] if t in UNSIGNED else [3, 5, -7, -4], t))
    for t in SIGNED:
        case("Mod", tensor([7, -8, 20, -5], t), tensor([3, 5, -7, -4], t), fmod=1)
    case("Mod", some(2, 3, lo=-5, hi=5), tensor([1.5, -2.25, 0.75], "float32"), types=FLOATS, fmod=1)
    case("PRelu", some(2, 3, 2), some(3, 1, lo=0.1, hi=0.9, seed=2), types=FLOATS + ["int32", "int64", "uint32", "uint64"])
    case("PRelu", some(2, 3, 2), scalar(0.25, "float32"))
    case("PRelu", some(2, 3, 4), some(3, lo=0.1, hi=0.9, seed=2), opset=6, via=lambda x, s: ("PRelu", [x, Tensor(s.data.reshape(3, 1), s.type)], {}, 9))
    for op in ["Max", "Min"]:
        case(op, a, some(3, seed=7), some(2, 1, seed=8), types=NUMERIC)
        case(op, a)
        case(op, Tensor(SPECIAL), Tensor(np.roll(SPECIAL, 3)), nograd="ties", nolow="nan")
    for op in ["Sum", "Mean"]:
        case(op, a, some(3, seed=7), some(2, 1, seed=8), types=FLOATS)
        case(op, a)
    case("Clip", some(2, 4), scalar(-0.7, "float32"), scalar(0.9, "float32"), types=NUMERIC)
    case("Clip", some(2, 4), None, scalar(0.9, "float32"))
    case("Clip", some(2, 4), scalar(-0.7, "float32"))
    case("Clip", some(2, 4))
    case("Clip", some(2, 4), opset=6, min=-0.7, max=0.9, via=lambda x: ("Clip", [x, scalar(-0.7, "float32"), scalar(0.9, "float32")], {}, 13))
    case("Clip", some(2, 4), opset=6, min=-0.7)
    case("Clip", some(2, 4), opset=6, max=0.7)
    cond = tensor([[True, False, True], [False, True, True]], "bool")
    case("Where", cond, a, some(3, seed=5), types=ANY + ["int32", "uint8"])
    case("Where", Tensor(np.array([True, False, False])), scalar(0.5, "float32"), some(2, 3, seed=5))


def shifted(t):
    def f(x, y, direction):
        y = y.astype(x.dtype)
        return Tensor(np.left_shift(x, y) if direction == "LEFT" else np.right_shift(x, y), t)
    return f


def casts():
    x = tensor([[1.4, -2.6, 0.0], [3.5, 100.25, -7.5]], "float32")
    for to in ["float32", "float64", "float16", "int8", "int16", "int32", "int64", "bool"]:
        case("Cast", x, to=CODES[to], nograd=None if to == "float64" else "rounds")
        case("CastLike", x, tensor([1], to), nograd="rounds", via=lambda x, y, to=to: ("Cast", [x], {"to": CODES[to]}, LATEST))
    case("Cast", x, to=CODES["bfloat16"], nograd="rounds", ref=lambda x, to: Tensor(x, "bfloat16"), nolow="rounds twice")
    case("Cast", Tensor(x.data, "bfloat16"), to=CODES["float32"], ref=lambda x, to: Tensor(x, "float32"))
    for t in ["float64", "float16", "bfloat16", "int8", "uint32", "bool"]:
        case("CastLike", convert(x, t), tensor([1], "float32"), nograd="rounds", nolow="target", nowide="target", ref=lambda x, y: Tensor(x.astype(np.float32), "float32"))
    case("CastLike", tensor(["1.5", "-2"], "string"), tensor([1], "float32"), ref=lambda x, y: tensor([1.5, -2], "float32"))
    case("CastLike", tensor([12, -3], "int32"), tensor(["a"], "string"), ref=lambda x, y: tensor(["12", "-3"], "string"))
    case("CastLike", x, tensor([1], "bfloat16"), nograd="rounds", nolow="rounds twice", nowide="rounds", ref=lambda x, y: Tensor(x, "bfloat16"))
    for mode, out in [("up", [1, 4, 4, 8]), ("down", [1, 2, 4, 4]), ("nearest", [1, 4, 4, 4])]:
        power = tensor([1, 3.5, 4, 5], "float32")
        case("Cast", power, to=24, round_mode=mode, nograd="rounds", nolow="rounds", nowide="rounds", ref=lambda x, to, round_mode, out=out: Tensor(np.array(out), "float8e8m0"))
        case("CastLike", power, Tensor(np.array([1.0]), "float8e8m0"), round_mode=mode, nograd="rounds", nolow="rounds", nowide="rounds", ref=lambda x, y, round_mode, out=out: Tensor(np.array(out), "float8e8m0"))
    positive = Tensor(np.abs(x.data))
    for to in UNSIGNED:
        case("Cast", positive, to=CODES[to])
        case("CastLike", positive, tensor([1], to), via=lambda x, y, to=to: ("Cast", [x], {"to": CODES[to]}, LATEST))
    for t in INTEGERS + ["float64", "float16", "bool"]:
        for to in ["float32", "int32", "uint8", "bool", "float16", "int64"]:
            if t != to:
                case("Cast", tensor([[1, 0, 7]], t), to=CODES[to], nograd="rounds")
    case("Cast", tensor([["1.5", "-2", "1e3"]], "string"), to=CODES["float32"])
    case("Cast", tensor([["12", "-2"]], "string"), to=CODES["int64"])
    case("Cast", tensor([[12, -3]], "int32"), to=CODES["string"])
    case("Cast", tensor([[1.5, -2.25]], "float32"), to=CODES["string"])
    whole = tensor([0.3, 1.7, -500, 500, 1e6, -1e6, np.inf, np.nan], "float32")
    for to in ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]:
        for saturate in [1, 0]:
            big = whole if saturate or "e4m3" in to else tensor([0.3, 1.7, -500, 500, np.nan], "float32")  # ONNX Runtime saturates all the same
            case("Cast", big, to=CODES[to], saturate=saturate, nograd="rounds", nolow="beyond it", ref=through(to, saturate))
            case("CastLike", big, Tensor(np.zeros(1, np.float32), to), saturate=saturate, nograd="rounds", nolow="beyond it", ref=lambda x, y, saturate, to=to: through(to, saturate)(x))


def through(to, saturate):
    """ONNX Runtime casts to eight bits and back."""
    def f(x, **_):
        nodes = [helper.make_node("Cast", ["x"], ["y"], to=CODES[to], saturate=saturate), helper.make_node("Cast", ["y"], ["z"], to=1)]
        info = helper.ValueInfoProto()
        info.name = "z"
        model = helper.make_model(helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, x.shape)], [info]), opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        import golden
        y = golden.runtime.ask(model, {"x": passed(Tensor(x, "float32"))}, ["z"])[0]
        return Tensor(y.data, to)
    return f


def run():
    unary()
    binary()
    casts()
