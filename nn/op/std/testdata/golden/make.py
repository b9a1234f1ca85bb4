#!/usr/bin/python3
"""Writes the files beside it: make golden. It needs onnx, NumPy, node and ONNX Runtime (.ci/oracles)."""
import importlib
import sys

sys.dont_write_bytecode = True

import golden

FAMILIES = ["elementwise", "reduction", "movement", "picking", "windows", "normalization", "sampling", "recurrent", "quantized", "spectral",
            "attention", "features", "sequences", "updates"]

if __name__ == "__main__":
    golden.start()
    for family in (sys.argv[1:] or FAMILIES):
        importlib.import_module(family).run()
    sys.exit(0 if golden.write() else 1)
