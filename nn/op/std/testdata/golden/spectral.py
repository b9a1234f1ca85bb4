"""Windows and spectra."""
from golden import *


def run():
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        for n in [1, 5, 8]:
            case(op, scalar(n))
            if n > 1:
                case(op, scalar(n, "int32"), periodic=0)
        for t in ["float64", "float16", "bfloat16"]:
            case(op, scalar(6), output_datatype=CODES[t], ref=lambda n, t=t, op=op, **_: Tensor(cosines(op, 6, 1), t))
        for t in ["int8", "int64", "uint8", "uint64"]:
            case(op, scalar(7), output_datatype=CODES[t], periodic=0)
    one = lambda v, t="int64": scalar(v, t)
    case("MelWeightMatrix", one(8), one(16), one(8192), one(0.0, "float32"), one(4096.0, "float32"), nograd="fixed")
    case("MelWeightMatrix", one(5, "int32"), one(33, "int32"), one(16000, "int32"), one(125.0, "float32"), one(7500.0, "float32"), nograd="fixed")
    for t in ["float64", "float16", "bfloat16", "int8", "int64", "uint8"]:
        case("MelWeightMatrix", one(4), one(16), one(8000), one(100.0, "float32"), one(3800.0, "float32"), output_datatype=CODES[t], via=lambda *a: ("MelWeightMatrix", list(a), {}, 17), nograd="fixed", rounded=t, nowide="edges")
    for t in ["float64", "float16", "bfloat16"]:
        case("MelWeightMatrix", one(4), one(16), one(8000), one(100.0, t), one(3800.0, t), via=lambda a, b, c, d, e: ("MelWeightMatrix", [a, b, c, Tensor(d.data, "float32"), Tensor(e.data, "float32")], {}, 17), nograd="fixed", nowide="edges", nolow="edges")
    spectra()


def cosines(op, n, periodic):
    a = {"HannWindow": (0.5, 0.5, 0), "HammingWindow": (25 / 46, 21 / 46, 0), "BlackmanWindow": (0.42, 0.5, 0.08)}[op]
    p = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
    return a[0] - a[1] * np.cos(p) + a[2] * np.cos(2 * p)


def spectra():
    low = dict(nolow="cancels")
    x, z = some(2, 6, 1), some(2, 5, 2)
    for o in [17, 20]:
        case("DFT", x, opset=o, types=["float64"], **low)
        case("DFT", z, opset=o, inverse=1, **low)
        case("DFT", x, opset=o, onesided=1, **low)
        case("DFT", some(2, 5, 1, seed=3), scalar(8), opset=o, **low)
        case("DFT", some(2, 5, 1, seed=3), scalar(3), opset=o, onesided=1, **low)
    case("DFT", some(3, 4, 2), opset=17, axis=0, **low, ref=lambda x, axis: pairs(np.fft.fft(x[..., 0] + 1j * x[..., 1], axis=0)))
    case("DFT", some(3, 4, 2), None, scalar(0), opset=20, **low, ref=lambda x, n, a: pairs(np.fft.fft(x[..., 0] + 1j * x[..., 1], axis=0)))
    case("DFT", some(2, 4, 3, 1), None, scalar(-2), opset=20, **low, ref=lambda x, n, a: pairs(np.fft.fft(x[..., 0], axis=2)))
    case("DFT", x, types=LOW, only=True, ref=lambda x: pairs(np.fft.fft(x[..., 0], axis=1)), tol=0.05, **low)
    signal = some(2, 9, 1)
    case("STFT", signal, scalar(2), some(5, lo=0.1, hi=1, seed=2), scalar(5), types=["float64"], **low)
    case("STFT", signal, scalar(3), some(4, lo=0.1, hi=1, seed=2), onesided=0, **low)
    case("STFT", signal, scalar(3, "int32"), None, scalar(4, "int32"), **low)
    case("STFT", some(2, 8, 2), scalar(3), some(4, lo=0.1, hi=1, seed=2), onesided=0, **low,
         ref=lambda x, step, w, onesided: pairs(np.stack([np.fft.fft((x[:, i:i + 4, 0] + 1j * x[:, i:i + 4, 1]) * w, axis=1) for i in [0, 3]], 1)))
    case("STFT", signal, scalar(3), some(4, lo=0.1, hi=1, seed=2), types=LOW, only=True, tol=0.05, **low)


def pairs(z):
    return np.stack([z.real, z.imag], -1)
