#!/usr/bin/env python3
"""Makes digits.onnx, the model that the demonstration starts from: a small convolutional net that reads rendered digits.

    go run ./internal/glyph/dump -out /tmp/train -n 20000 -seed 1
    go run ./internal/glyph/dump -out /tmp/val   -n 4000  -seed 2
    python3 cmd/graft/demo/train_glyphs.py --train /tmp/train --val /tmp/val --out cmd/graft/demo/digits.onnx

The images come from the Go generator, so both sides see the same data. Written with PyTorch 1.13; a run takes about
a minute on one core. The file keeps what fine-tuning needs: batch normalization as a node of its own, an initializer
for each parameter under the parameter's name, and a free batch dimension N.
"""
import argparse

import numpy as np
import onnx
import torch
from torch import nn


class Net(nn.Module):
    """Three times convolution, batch normalization, ReLU; then the mean over the image and a linear classifier."""

    def __init__(self, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.conv3, self.bn3 = nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64)
        self.pool, self.mean = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        x = self.pool(torch.relu(self.bn2(self.conv2(x))))
        x = torch.relu(self.bn3(self.conv3(x)))
        return self.head(torch.flatten(self.mean(x), 1))


def load(prefix):
    return torch.from_numpy(np.load(prefix + ".images.npy")), torch.from_numpy(np.load(prefix + ".labels.npy"))


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        hits = sum(int((model(a).argmax(1) == b).sum()) for a, b in zip(x.split(500), y.split(500)))
    return hits / len(y)


def train(model, x, y, epochs, batch):
    order = torch.Generator().manual_seed(2)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    steps = epochs * (len(x) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=4e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        for rows in torch.randperm(len(x), generator=order)[:len(x) // batch * batch].split(batch):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            schedule.step()
        print("epoch %d, last loss %.4f" % (epoch + 1, loss.item()), flush=True)


def export(model, path):
    # PRESERVE on a model in eval mode, not EVAL: the latter folds batch normalization into the convolutions.
    torch.onnx.export(model.eval(), torch.zeros(1, 1, 28, 28), path, opset_version=13,
                      input_names=["image"], output_names=["scores"],
                      dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}},
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    graph = onnx.load(path).graph
    have = {i.name for i in graph.initializer}
    missing = [n for n, _ in model.named_parameters() if n not in have]
    if missing or sum(n.op_type == "BatchNormalization" for n in graph.node) != 3:
        raise SystemExit("the export lost %s or a batch normalization" % missing)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--train", required=True)
    ap.add_argument("--val", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch", type=int, default=100)
    args = ap.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    (x, y), (vx, vy) = load(args.train), load(args.val)
    model = Net(int(y.max()) + 1)
    train(model, x, y, args.epochs, args.batch)
    got = accuracy(model, vx, vy)
    print("validation accuracy %.4f" % got)
    if got < 0.97:
        raise SystemExit("too low: nothing written")
    export(model, args.out)


if __name__ == "__main__":
    main()
