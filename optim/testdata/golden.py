"""Writes golden.json: weights and state of every rule after each of twelve
steps, and the values of schedules. Run with PyTorch 1.13 or later:

    /usr/bin/python3 golden.py > golden.json

Rules that PyTorch 1.13 lacks, and NAdam, whose 1.13 has one factor too many in
the correction of the coming step, are written out below from their papers.
"""
import json
import math

import torch

STEPS = 12
SHAPES = {"vector": [12], "matrix": [3, 4], "filters": [2, 2, 3]}


class Reference(torch.optim.Optimizer):
    """A rule given as a function of parameter, gradient, state and options."""

    def __init__(self, params, **options):
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                s = self.state[p]
                s["step"] = s.get("step", 0) + 1
                self.rule(p, p.grad, s, s["step"], **{k: v for k, v in group.items() if k != "params"})


def start(s, p, *names):
    for n in names:
        if n not in s:
            s[n] = torch.zeros_like(p)
    return [s[n] for n in names]


class NAdam(Reference):
    def rule(self, p, g, s, t, lr=2e-3, b1=0.9, b2=0.999, eps=1e-8, wd=0, md=4e-3):
        m, v = start(s, p, "exp_avg", "exp_avg_sq")
        g = g + wd * p
        mu = b1 * (1 - 0.5 * 0.96 ** (t * md))
        nxt = b1 * (1 - 0.5 * 0.96 ** ((t + 1) * md))
        s["mu_product"] = s.get("mu_product", 1.0) * mu
        m.copy_(b1 * m + (1 - b1) * g)
        v.copy_(b2 * v + (1 - b2) * g * g)
        mhat = nxt * m / (1 - s["mu_product"] * nxt) + (1 - mu) * g / (1 - s["mu_product"])
        p.sub_(lr * mhat / ((v / (1 - b2 ** t)).sqrt() + eps))


class Lion(Reference):
    def rule(self, p, g, s, t, lr=1e-4, b1=0.9, b2=0.99, wd=0):
        (m,) = start(s, p, "exp_avg")
        update = torch.sign(torch.add(b1 * m, g, alpha=1 - b1))
        p.mul_(1 - lr * wd).sub_(lr * update)
        m.mul_(b2).add_(g, alpha=1 - b2)


class LAMB(Reference):
    def rule(self, p, g, s, t, lr=1e-3, b1=0.9, b2=0.999, eps=1e-6, wd=0.01):
        m, v = start(s, p, "exp_avg", "exp_avg_sq")
        m.mul_(b1).add_(g, alpha=1 - b1)
        v.mul_(b2).addcmul_(g, g, value=1 - b2)
        r = (m / (1 - b1 ** t)) / ((v / (1 - b2 ** t)).sqrt() + eps) + wd * p
        pn, rn = p.norm(), r.norm()
        p.sub_(lr * (pn / rn if pn > 0 and rn > 0 else 1.0) * r)


class Adafactor(Reference):
    def rule(self, p, g, s, t, lr=1e-2, decay=0.8, eps2=1e-3, clip=1.0, wd=0):
        eps1 = torch.finfo(p.dtype).eps
        keep = 1 - t ** -decay
        alpha = max(eps2, (p * p).mean().sqrt().item()) * min(lr, 1 / math.sqrt(t))
        p.mul_(1 - lr * wd)
        if p.dim() > 1:
            row = s.setdefault("row_var", torch.zeros_like(p.mean(-1, keepdim=True)))
            col = s.setdefault("col_var", torch.zeros_like(p.mean(-2, keepdim=True)))
            row.copy_(keep * row + (1 - keep) * (g * g).mean(-1, keepdim=True))
            col.copy_(keep * col + (1 - keep) * (g * g).mean(-2, keepdim=True))
            est = (row @ col) / row.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            (v,) = start(s, p, "variance")
            v.copy_(keep * v + (1 - keep) * g * g)
            est = v
        u = g / est.clamp(min=eps1 * eps1).sqrt()
        p.sub_(alpha / max(1.0, (u * u).mean().sqrt().item() / clip) * u)


def rules():
    o = torch.optim
    return [
        ("sgd", "matrix", lambda p: o.SGD(p, lr=1e-3)),
        ("sgd decay", "matrix", lambda p: o.SGD(p, lr=0.1, weight_decay=0.1)),
        ("sgd momentum", "matrix", lambda p: o.SGD(p, lr=0.1, momentum=0.9)),
        ("sgd dampening", "matrix", lambda p: o.SGD(p, lr=0.1, momentum=0.8, dampening=0.3, weight_decay=0.05)),
        ("sgd nesterov", "matrix", lambda p: o.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.05, nesterov=True)),
        ("adam", "matrix", lambda p: o.Adam(p)),
        ("adam decay", "matrix", lambda p: o.Adam(p, lr=0.02, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1)),
        ("adam amsgrad", "matrix", lambda p: o.Adam(p, lr=0.02, amsgrad=True)),
        ("adam beta1 off", "matrix", lambda p: o.Adam(p, betas=(0, 0.999))),
        ("adamw", "matrix", lambda p: o.AdamW(p)),
        ("adamw off", "matrix", lambda p: o.AdamW(p, weight_decay=0)),
        ("adamw amsgrad", "matrix", lambda p: o.AdamW(p, lr=0.03, betas=(0.85, 0.95), weight_decay=0.2, amsgrad=True)),
        ("rmsprop", "matrix", lambda p: o.RMSprop(p)),
        ("rmsprop decay", "matrix", lambda p: o.RMSprop(p, lr=0.02, alpha=0.9, eps=1e-6, weight_decay=0.1)),
        ("rmsprop centered", "matrix", lambda p: o.RMSprop(p, centered=True, eps=1e-3)),
        ("rmsprop momentum", "matrix", lambda p: o.RMSprop(p, lr=1e-3, centered=True, momentum=0.9, eps=1e-3, weight_decay=0.1)),
        ("adagrad", "matrix", lambda p: o.Adagrad(p)),
        ("adagrad decay", "matrix", lambda p: o.Adagrad(p, lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.2, eps=1e-6)),
        ("nadam", "matrix", lambda p: NAdam(p, lr=2e-3)),
        ("nadam decay", "matrix", lambda p: NAdam(p, lr=0.02, b1=0.8, b2=0.99, wd=0.1, md=0.01)),
        ("radam", "matrix", lambda p: o.RAdam(p)),
        ("radam decay", "matrix", lambda p: o.RAdam(p, lr=0.02, betas=(0.8, 0.99), weight_decay=0.1)),
        ("lion", "matrix", lambda p: Lion(p, lr=1e-4)),
        ("lion decay", "matrix", lambda p: Lion(p, lr=0.01, b1=0.8, b2=0.95, wd=0.1)),
        ("lamb", "matrix", lambda p: LAMB(p, lr=1e-3)),
        ("lamb off", "vector", lambda p: LAMB(p, lr=0.02, wd=0)),
        ("adafactor", "matrix", lambda p: Adafactor(p, lr=1e-2)),
        ("adafactor vector", "vector", lambda p: Adafactor(p, lr=0.3, decay=0.7, wd=0.1)),
        ("adafactor filters", "filters", lambda p: Adafactor(p, lr=0.3, clip=0.5, wd=0.1)),
        ("adadelta", "matrix", lambda p: o.Adadelta(p)),
        ("adadelta decay", "matrix", lambda p: o.Adadelta(p, lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1)),
        ("adamax", "matrix", lambda p: o.Adamax(p)),
        ("adamax decay", "matrix", lambda p: o.Adamax(p, lr=0.02, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)),
    ]


def rate(step):
    return 1 - 0.05 * (step % 4)


def number(x):
    return float(x) if not torch.is_tensor(x) else [float(v) for v in x.flatten()]


def run(make, shape, w0, grads, dtype):
    torch.set_default_dtype(dtype)
    p = torch.tensor(w0, dtype=dtype).reshape(shape).requires_grad_()
    opt = make([p])
    lr = opt.param_groups[0]["lr"]
    weights = []
    for step, g in enumerate(grads):
        opt.param_groups[0]["lr"] = lr * rate(step)
        p.grad = torch.tensor(g, dtype=dtype).reshape(shape)
        opt.step()
        weights.append(number(p.detach()))
    state = {}
    for k, v in opt.state[p].items():
        if k != "step" and v is not None:
            v = number(v)
            state[k] = v if isinstance(v, list) else [v]
    return {"weights": weights, "state": state}


def schedules():
    n = 20
    s = torch.optim.lr_scheduler
    make = {
        "step": lambda o: s.StepLR(o, 6),
        "multistep": lambda o: s.MultiStepLR(o, [4, 11, 15], gamma=0.3),
        "exponential": lambda o: s.ExponentialLR(o, 0.9),
        "cosine": lambda o: s.CosineAnnealingLR(o, n, eta_min=0.1),
        "linear": lambda o: s.LinearLR(o, 1 / 3, 1, total_iters=n),
        "polynomial": lambda o: s.PolynomialLR(o, n, power=2),
        "onecycle": lambda o: s.OneCycleLR(o, 1.0, total_steps=n),
        "onecycle straight": lambda o: s.OneCycleLR(o, 1.0, total_steps=n, pct_start=0.4, div_factor=10, final_div_factor=100, anneal_strategy="linear"),
        "onecycle threephase": lambda o: s.OneCycleLR(o, 1.0, total_steps=n, three_phase=True),
    }
    out = {}
    for name, f in make.items():
        o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        sched, values = f(o), []
        for step in range(n):
            values.append(o.param_groups[0]["lr"])
            o.step()
            if step < n - 1:
                sched.step()
        out[name] = values
    metrics = [5, 4, 4.1, 4.2, 4.0, 3, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 2, 2, 2, 2, 2, 2, 2, 2]
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    sched, values = s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=0.1), []
    for m in metrics:
        sched.step(m)
        values.append(o.param_groups[0]["lr"])
    out["plateau"] = values
    return out, metrics


def main():
    torch.manual_seed(1)
    w0 = [round(float(v), 4) for v in torch.randn(12)]
    grads = [[round(float(v), 4) for v in torch.randn(12)] for _ in range(STEPS)]
    grads[0][3] = grads[1][3] = 0.0  # a state that starts late
    grads[5] = [0.0] * 12
    cases = []
    for name, shape, make in rules():
        cases.append({
            "name": name, "shape": SHAPES[shape],
            "float64": run(make, SHAPES[shape], w0, grads, torch.float64),
            "float32": run(make, SHAPES[shape], w0, grads, torch.float32),
        })
    torch.set_default_dtype(torch.float64)
    values, metrics = schedules()
    print(json.dumps({"w": w0, "grads": grads, "cases": cases, "schedules": values, "metrics": metrics}))


main()
