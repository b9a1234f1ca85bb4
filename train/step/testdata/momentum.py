"""What PyTorch makes of the model of onnxio/testdata/traininginfo.py: five steps of SGD with momentum on one batch.

    momentum.py FILE.npz
"""
import sys

import numpy as np
import torch

torch.manual_seed(1)
x, t = torch.randn(7, 3), torch.randn(7, 2)
w = torch.tensor(np.arange(6, dtype=np.float32).reshape(3, 2) / 10, requires_grad=True)
b = torch.zeros(2, requires_grad=True)
rule = torch.optim.SGD([w, b], lr=0.1, momentum=0.9)
losses = []
for _ in range(5):
    rule.zero_grad()
    loss = ((x @ w + b - t) ** 2).mean()
    loss.backward()
    rule.step()
    losses.append(loss.item())
np.savez(sys.argv[1], X=x.numpy(), T=t.numpy(), W=w.detach().numpy(), B=b.detach().numpy(), loss=np.array(losses))
