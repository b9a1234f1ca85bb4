"""The part of onnxruntime that docs/export-step.md uses, for a Python without the package: ONNX Runtime itself runs in a
node process, as internal/oracle/ort.js serves it. ORT_JS names that script, GRAFT_ORT the folder of onnxruntime-node."""
import base64
import json
import os
import subprocess

import numpy
import onnx


class Port:
    def __init__(self, name):
        self.name = name


class InferenceSession:
    def __init__(self, path):
        with open(path, "rb") as f:
            model = f.read()
        self.model = base64.b64encode(model).decode()
        graph = onnx.load_from_string(model).graph
        self.inputs = [Port(v.name) for v in graph.input]
        self.outputs = [Port(v.name) for v in graph.output]
        with open(os.environ["ORT_JS"]) as f:
            command = ["node", "-e", f.read(), "--", os.environ["GRAFT_ORT"]]
        self.node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.node.stdout.readline()

    def get_inputs(self):
        return self.inputs

    def get_outputs(self):
        return self.outputs

    def run(self, names, feeds):
        inputs = {}
        for name, x in feeds.items():
            x = numpy.asarray(x)
            inputs[name] = {"dtype": str(x.dtype), "shape": list(x.shape), "data": base64.b64encode(x.tobytes()).decode()}
        print(json.dumps({"model": self.model, "optimize": True, "inputs": inputs}), file=self.node.stdin, flush=True)
        answer = json.loads(self.node.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"])
        out = answer["outputs"]
        names = names or [p.name for p in self.outputs]
        return [numpy.frombuffer(base64.b64decode(out[n]["data"]), out[n]["dtype"]).reshape(out[n]["shape"]) for n in names]
