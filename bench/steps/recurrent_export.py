#!/usr/bin/env python3
"""Exports recurrent networks of PyTorch for bench/steps, seeded, with batch and length of the sequences open.

    recurrent_export.py DIR      writes DIR/NAME.onnx
"""
import os
import sys
import warnings

import torch
from torch import nn


class Tagger(nn.Module):
    """A class for each position."""

    def __init__(self, kind, layers=2, **settings):
        super().__init__()
        self.body = kind(6, 10, num_layers=layers, **settings)
        self.head = nn.Linear(20 if settings.get("bidirectional") else 10, 5)

    def forward(self, x):
        y = self.head(self.body(x)[0])
        return y.permute(0, 2, 1) if self.body.batch_first else y.permute(1, 2, 0)


class Classifier(nn.Module):
    """A class for a sequence of numbers of words."""

    def __init__(self, kind):
        super().__init__()
        self.words, self.body, self.head = nn.Embedding(40, 8), kind(8, 12, batch_first=True), nn.Linear(12, 4)

    def forward(self, ids):
        last = self.body(self.words(ids))[1]
        return self.head((last[0] if isinstance(last, tuple) else last)[-1])


BOTH = {"batch_first": True, "bidirectional": True}
NETS = {
    "lstm_tag": lambda: Tagger(nn.LSTM, **BOTH),
    "gru_tag": lambda: Tagger(nn.GRU, **BOTH),
    "gru_tag_seqfirst": lambda: Tagger(nn.GRU, 1),
    "rnn_relu": lambda: Tagger(nn.RNN, batch_first=True, nonlinearity="relu"),
    "rnn_tanh": lambda: Tagger(nn.RNN, 1, **BOTH),
    "lstm_nobias": lambda: Tagger(nn.LSTM, 1, batch_first=True, bias=False),
    "lstm_cls": lambda: Classifier(nn.LSTM),
    "gru_cls": lambda: Classifier(nn.GRU),
}


def main():
    warnings.filterwarnings("ignore")
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, make in NETS.items():
        torch.manual_seed(3)
        model = make().eval()
        first, out = {0: "N", 1: "T"}, {0: "N", 2: "T"}
        x = torch.randn(2, 7, 6)
        if name == "gru_tag_seqfirst":
            first = {0: "T", 1: "N"}
        if isinstance(model, Classifier):
            x, out = torch.randint(0, 40, (2, 7)), {0: "N"}
        torch.onnx.export(model, x, os.path.join(sys.argv[1], name + ".onnx"), opset_version=14, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": first, "y": out}, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)


main()
