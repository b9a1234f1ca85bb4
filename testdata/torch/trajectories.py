#!/usr/bin/env python3
"""Golden training trajectories: what PyTorch does in ten steps, for three small nets, three optimizers, two precisions.

    python3 testdata/torch/trajectories.py [FOLDER]

Written with PyTorch 1.13 on one thread; the default folder is the one of this script. README.md describes the files.
"""
import os
import sys
import warnings

import numpy as np
import torch
from torch import nn

STEPS = 10


class MLP(nn.Module):
    """Regression: two hidden layers, mean squared error."""
    loss = nn.MSELoss

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(6, 12), nn.Linear(12, 8), nn.Linear(8, 3)

    def forward(self, x):
        return self.fc3(torch.tanh(self.fc2(torch.relu(self.fc1(x)))))

    @staticmethod
    def data(gen):
        x = torch.randn(STEPS, 8, 6, generator=gen)
        return x, torch.stack([x[..., 0] * x[..., 1], x[..., 2:4].sum(-1), x[..., 5].abs()], -1)


class ConvBN(nn.Module):
    """Classification: two convolutions with batch normalization (momentum 0.1 and 0.3), max-pooling, cross-entropy."""
    loss = nn.CrossEntropyLoss

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(2, 5, 3, padding=1, bias=False), nn.BatchNorm2d(5)
        self.conv2, self.bn2 = nn.Conv2d(5, 7, 3, stride=2, bias=False), nn.BatchNorm2d(7, eps=1e-3, momentum=0.3)
        self.pool, self.fc = nn.MaxPool2d(2), nn.Linear(28, 4)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(torch.flatten(x, 1))

    @staticmethod
    def data(gen):
        y = torch.arange(6).repeat(STEPS, 1) % 4
        x = 0.5 + 2 * torch.randn(STEPS, 6, 2, 10, 10, generator=gen)
        x[..., 0, :, 0] += y[..., None]     # something to learn
        return x, y


class LSTM(nn.Module):
    """Classification of sequences: one LSTM layer, the last step's output, cross-entropy."""
    loss = nn.CrossEntropyLoss

    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(4, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][:, -1])

    @staticmethod
    def data(gen):
        x = torch.randn(STEPS, 6, 7, 4, generator=gen)
        return x, x[..., 0].sum(-1).gt(0).long() + x[..., 1].sum(-1).gt(1).long()


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}


def initial(case):
    """The net as it is exported, and its data: weights and inputs are float32 numbers in either precision."""
    torch.manual_seed(11)
    model = case()
    gen = torch.Generator().manual_seed(12)
    with torch.no_grad():
        for name, t in list(model.named_parameters()) + list(model.named_buffers()):
            if name.startswith("bn") and t.is_floating_point():
                # Not all ones and zeros: the exporter would tie equal initializers.
                t.add_(torch.rand(t.shape, generator=gen) * 0.2)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            # ONNX attributes are float32 and its momentum is one minus PyTorch's: train with what the file says.
            m.eps, m.momentum = float(np.float32(m.eps)), 1 - float(np.float32(1 - m.momentum))
    x, y = case.data(gen)
    return model, (x * 8).round() / 8, y    # coarse inputs compress well


def trajectory(case, optimizer, dtype):
    """Arrays of one run: see README.md."""
    model, x, y = initial(case)
    model = model.to(dtype).train()
    x, y = x.to(dtype), y.to(dtype) if y.is_floating_point() else y
    norms = {n: m for n, m in model.named_modules() if isinstance(m, nn.BatchNorm2d)}
    population = {n: m.running_var.clone() for n, m in norms.items()}

    def follow(name):
        def hook(m, inputs):
            if m.training:
                var = inputs[0].detach().var((0, 2, 3), unbiased=False)
                population[name] = (1 - m.momentum) * population[name] + m.momentum * var
        return hook
    for n, m in norms.items():
        m.register_forward_pre_hook(follow(n))

    loss_fn, opt, out = case.loss(), OPTIMIZERS[optimizer](model.parameters()), {}
    losses, buffers = [], {}
    for step in range(STEPS):
        opt.zero_grad()
        loss = loss_fn(model(x[step]), y[step])
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out.update({"grad/" + n: p.grad.clone() for n, p in model.named_parameters()})
        opt.step()
        for n, m in norms.items():
            for key, t in (("running_mean", m.running_mean), ("running_var", m.running_var),
                           ("running_var_population", population[n])):
                buffers.setdefault("%s.%s" % (n, key), []).append(t.clone())
    out.update({"param/" + n: p.detach() for n, p in model.named_parameters()})
    out.update({"buffer/" + n: torch.stack(t) for n, t in buffers.items()})
    with torch.no_grad():
        out["output"] = model.eval()(x[0])
    out = {optimizer + "/" + n: t.numpy() for n, t in out.items()}
    out[optimizer + "/loss"] = np.array(losses)
    return out


def export(case, name, folder):
    """The initial net, in eval mode, every parameter under its PyTorch name, batch dimension N."""
    model, x, _ = initial(case)
    torch.onnx.export(model.eval(), x[0], os.path.join(folder, name + ".onnx"), opset_version=13,
                      input_names=["input"], output_names=["output"],
                      dynamic_axes={"input": {0: "N"}, "output": {0: "N"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    for name, case in (("mlp", MLP), ("convbn", ConvBN), ("lstm", LSTM)):
        export(case, name, folder)
        model, x, y = initial(case)
        with torch.no_grad():
            output = model.eval()(x[0])
        for dtype in (torch.float32, torch.float64):
            arrays = dict(input=x.numpy(), target=y.numpy(), output=output.numpy())
            for optimizer in OPTIMIZERS:
                arrays.update(trajectory(case, optimizer, dtype))
            path = os.path.join(folder, "%s.%s.npz" % (name, str(dtype).split(".")[1]))
            np.savez_compressed(path, **arrays)
            print(path, os.path.getsize(path), *("%s %.4f to %.4f" % (o, *arrays[o + "/loss"][[0, -1]]) for o in OPTIMIZERS))


if __name__ == "__main__":
    main()
