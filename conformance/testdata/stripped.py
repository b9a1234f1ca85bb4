"""Draws again what the stripped test cases of pytorch-pfn-extras lost.

Their weights and inputs came from one generator with seed 0: a linear layer of 5 and 10 features with two rows of
inputs first, then, twice, Linear(20, 30)-ReLU-Linear(30, 10) and eight rows of normal inputs. What the files kept
(biases, averages, variances) tells that these are the ones. Prints a JSON object for each folder: name -> shape, data.
"""
import json

import torch

torch.manual_seed(0)
torch.rand(70)  # what came before
for folder in ("stripped", "stripped_t500"):
    net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 10))
    x = torch.randn(8, 20)
    named = {"fc1.weight": net[0].weight, "fc1.bias": net[0].bias, "fc2.weight": net[2].weight, "fc2.bias": net[2].bias, "input_0": x}
    print(json.dumps({"folder": folder, "tensors": {k: {"shape": list(v.shape), "data": v.flatten().tolist()} for k, v in named.items()}}))
