#!/usr/bin/env python3
"""Matrix products of the nine networks and square ones: graft, NumPy (OpenBLAS), PyTorch, in turn.

    go build -o /tmp/gemm ./bench/gemm && python3 bench/gemm/compare.py /tmp/gemm [threads [rounds]] [--avx2]

GFLOP/s, the best of all rounds. With one thread processor time is measured, so that other processes
disturb little; with more, wall-clock time: the machine must be idle then. --avx2 keeps all of them
from using AVX-512.

OpenBLAS takes its slowest kernels on a processor that is younger than itself, so that it is told here
which to take, unless OPENBLAS_CORETYPE says it already.
"""
import os
import subprocess
import sys
import time

arguments = [a for a in sys.argv[1:] if a != "--avx2"]
program = arguments[0]
threads = int(arguments[1]) if len(arguments) > 1 else 1
rounds = int(arguments[2]) if len(arguments) > 2 else 3
wide = "--avx2" not in sys.argv and " avx512f " in open("/proc/cpuinfo").read()
os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX" if wide else "Haswell")
if not wide:
    os.environ["GODEBUG"] = "cpu.avx512f=off"
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(threads)
# Before OpenMP starts, because it pins this very thread.
graft = subprocess.Popen([program, "-threads", str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
os.environ["OMP_PROC_BIND"] = "true"

import numpy as np
import torch

torch.set_num_threads(threads)
clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns

SHAPES = [  # m, k, n, A transposed, B transposed
    (512, 512, 512, 0, 0), (1024, 1024, 1024, 0, 0),
    (128, 784, 512, 0, 0), (128, 784, 512, 0, 1), (512, 128, 784, 1, 0),  # mlp: forward, dW
    (128, 512, 256, 0, 1), (128, 256, 512, 0, 0), (256, 128, 512, 1, 0),
    (64, 512, 1000, 0, 0), (512, 64, 1000, 1, 0), (64, 1000, 512, 0, 1),  # classifiers
    (3136, 576, 64, 0, 0), (64, 576, 3136, 0, 0),
    (1024, 256, 256, 0, 1), (1024, 256, 1024, 0, 1), (1024, 1024, 256, 0, 1),  # tinybert
    (1024, 1024, 256, 0, 0), (256, 1024, 256, 1, 0), (1024, 1024, 256, 1, 0),
    (1600, 64, 512, 0, 1), (32, 128, 512, 0, 1), (512, 1600, 64, 1, 0), (512, 1600, 128, 1, 0),  # lstm
    (8, 512, 512, 0, 1), (1, 1024, 1000, 0, 1),
]


def best(f, seconds=0.1):
    least, start = 1 << 62, time.perf_counter()
    while time.perf_counter() - start < seconds:
        t = clock()
        f()
        least = min(least, clock() - t)
    return least


print("| m×k×n | graft | OpenBLAS | PyTorch | graft / better |\n|---|---|---|---|---|")
logs = 0.0
for m, k, n, ta, tb in SHAPES:
    a = torch.randn(k, m).t() if ta else torch.randn(m, k)
    b = torch.randn(n, k).t() if tb else torch.randn(k, n)
    c = torch.empty(m, n)
    x, y, z = a.numpy(), b.numpy(), c.numpy()
    rates = [0.0, 0.0, 0.0]
    for _ in range(rounds):
        print(m, k, n, ta, tb, file=graft.stdin, flush=True)
        rates[0] = max(rates[0], float(graft.stdout.readline()))
        rates[1] = max(rates[1], 2 * m * k * n / best(lambda: np.dot(x, y, out=z)))
        rates[2] = max(rates[2], 2 * m * k * n / best(lambda: torch.mm(a, b, out=c)))
    ratio = rates[0] / max(rates[1:])
    logs += np.log(ratio)
    name = "%d×%d×%d%s%s" % (m, k, n, " Aᵀ" * ta, " Bᵀ" * tb)
    print("| %s | %.1f | %.1f | %.1f | %.2f |" % (name, *rates, ratio), flush=True)
print("| geometric mean | | | | %.2f |" % np.exp(logs / len(SHAPES)))
