"""RNN, GRU and LSTM."""
from golden import *


def run():
    for op, gates in [("RNN", 1), ("GRU", 3), ("LSTM", 4)]:
        layer(op, gates)


def layer(op, gates):
    n, batch, width, hidden = 3, 2, 4, 3
    outs = 3 if op == "LSTM" else 2

    def args(directions=1, bias=True, lens=None, h=False, c=False, p=False, layout=0, seed=1):
        g = gates * hidden
        x = some(n, batch, width, seed=seed) if not layout else some(batch, n, width, seed=seed)
        list = [x, some(directions, g, width, lo=-0.8, hi=0.8, seed=seed + 1), some(directions, g, hidden, lo=-0.7, hi=0.7, seed=seed + 2)]
        state = lambda s: some(directions, batch, hidden, lo=-0.9, hi=0.9, seed=s) if not layout else some(batch, directions, hidden, lo=-0.9, hi=0.9, seed=s)
        list.append(some(directions, 2 * g, lo=-0.5, hi=0.5, seed=seed + 3) if bias else None)
        list.append(tensor(lens, "int32") if lens else None)
        list.append(state(seed + 4) if h else None)
        if op == "LSTM":
            list.append(state(seed + 5) if c else None)
            list.append(some(directions, 3 * hidden, lo=-0.6, hi=0.6, seed=seed + 6) if p else None)
        while list[-1] is None:
            list.pop()
        return list

    case(op, *args(), out=outs, hidden_size=hidden, types=FLOATS)
    case(op, *args(bias=False), out=[False] + [True] * (outs - 1), hidden_size=hidden)
    case(op, *args(lens=[3, 2], h=True, c=True), out=outs, hidden_size=hidden)
    case(op, *args(h=True), out=outs, hidden_size=hidden, direction="reverse")
    case(op, *args(2, lens=[2, 3]), out=outs, hidden_size=hidden, direction="bidirectional")
    case(op, *args(), out=outs, hidden_size=hidden, clip=0.4, nograd="clipped")
    case(op, *args(), out=outs, hidden_size=hidden, opset=7)
    case(op, *args(), out=outs, hidden_size=hidden, opset=1 if op != "GRU" else 3, output_sequence=1, via=lambda *t: (op, list(t), {"hidden_size": hidden}, 7))
    plain = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[op]
    for name, alpha, beta in [("Relu", None, None), ("LeakyRelu", 0.1, None), ("Affine", 0.6, 0.2), ("ThresholdedRelu", 0.1, None), ("ScaledTanh", 0.9, 0.7), ("HardSigmoid", 0.3, 0.6), ("Elu", 0.8, None), ("Softsign", None, None), ("Softplus", None, None)]:
        attrs = {"hidden_size": hidden, "activations": plain[:-1] + [name]}
        fill = len(plain) - 1
        if alpha is not None:
            attrs["activation_alpha"] = [0.0] * 0 + [alpha]
        if beta is not None:
            attrs["activation_beta"] = [beta]
        case(op, *args(), out=outs, attrs=attrs, nograd="jumps" if name == "ThresholdedRelu" else None, nolow="steps" if name == "ThresholdedRelu" else None)
    if op == "GRU":
        case(op, *args(h=True), out=outs, hidden_size=hidden, linear_before_reset=1)
        case(op, *args(2), out=outs, hidden_size=hidden, linear_before_reset=1, direction="bidirectional")
    if op == "LSTM":
        case(op, *args(p=True, h=True, c=True), out=outs, hidden_size=hidden)
        case(op, *args(p=True), out=outs, hidden_size=hidden, input_forget=1)
    layout(op, args, outs, hidden)


def layout(op, args, outs, hidden):
    """Layout 1 is layout 0 with batch first: ONNX Runtime refuses it, so it computes the other."""
    a = args(2, layout=1, h=True, c=True)
    turn = lambda t: None if t is None else Tensor(np.swapaxes(t.data, 0, 1), t.type)
    moved = [0, 5] + ([6] if op == "LSTM" else [])
    b = [turn(t) if i in moved else t for i, t in enumerate(a)]
    import golden
    got = golden.runtime.run("", op, b, {"hidden_size": hidden, "direction": "bidirectional"}, [True] * outs, 7)
    want = [Tensor(got[0].data.transpose(2, 0, 1, 3))] + [turn(t) for t in got[1:]]
    case(op, *a, out=outs, hidden_size=hidden, direction="bidirectional", layout=1, ref=lambda *_, **k: tuple(want))
