"""Training operators: updates of weights."""
from golden import *


def run():
    domain = dict(domain="ai.onnx.preview.training", opset=1)
    w, g, a, b = some(2, 3), some(2, 3, seed=2), some(2, 3, seed=3, lo=0.1, hi=1), some(2, 3, seed=4, lo=0.1, hi=1)
    for t in ["float32", "float64"]:
        c = [Tensor(x.data, t) for x in (w, g, a, b)]
        r = Tensor(np.array(0.1), t)
        for step in [0, 3]:
            n = scalar(step)
            case("Adagrad", r, n, *c[:3], out=2, ref=adagrad, **domain)
            case("Adagrad", r, n, *c[:3], out=2, decay_factor=0.2, epsilon=0.1, norm_coefficient=0.3, ref=adagrad, **domain)
            case("Adam", r, n, *c, out=3, ref=adam, **domain)
            case("Adam", r, n, *c, out=3, alpha=0.7, beta=0.8, epsilon=0.05, norm_coefficient=0.3, norm_coefficient_post=0.2, ref=adam, **domain)
            for mode in ["standard", "nesterov"]:
                case("Momentum", r, n, *c[:3], out=2, alpha=0.9, beta=0.7, mode=mode, norm_coefficient=0.05, ref=momentum, **domain)
    two = [w, some(4, seed=5), g, some(4, seed=6), a, some(4, seed=7)]
    case("Momentum", Tensor(np.array(0.1, np.float32)), scalar(2), *two, out=4, alpha=0.9, beta=0.7, mode="standard", norm_coefficient=0.0, **domain,
         ref=lambda r, t, w, w2, g, g2, v, v2, **k: tuple(x for pair in zip(momentum(r, t, w, g, v, **k), momentum(r, t, w2, g2, v2, **k)) for x in pair))


def adagrad(r, t, w, g, h, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0):
    g = norm_coefficient * w + g
    h = h + g * g
    return w - r / (1 + t * decay_factor) * g / (np.sqrt(h) + epsilon), h


def adam(r, t, w, g, v, h, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0, norm_coefficient_post=0.0):
    g = norm_coefficient * w + g
    v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
    if t > 0:
        r = r * np.sqrt(1 - beta ** t) / (1 - alpha ** t)
    return (1 - norm_coefficient_post) * (w - r * v / (np.sqrt(h) + epsilon)), v, h


def momentum(r, t, w, g, v, alpha, beta, mode, norm_coefficient):
    g = norm_coefficient * w + g
    v = alpha * v + (beta if t > 0 else 1) * g
    return w - r * (g + alpha * v if mode == "nesterov" else v), v
