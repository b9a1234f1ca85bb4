#!/usr/bin/env python3
"""Exports networks of torchvision for bench/steps, with seeded weights and ten classes, and times PyTorch's own steps.

    torchvision_export.py DIR [NAME ...]      writes DIR/NAME.onnx and DIR/torch.json, milliseconds by name

The batch axis is a symbol; images are small, so that twenty steps take seconds. Dropout and stochastic depth are left out.
A timed step is forward, loss, backward, clipping of the norm and SGD with momentum on a batch of four, the least of eight, on two threads.

    torchvision_export.py --serve NAME THREADS    does a step for each line of its input and answers with the milliseconds
"""
import json
import os
import sys
import time
import warnings

import torch
import torchvision.models as tv
from torch import nn
from torchvision.models import convnext, densenet, resnet, swin_transformer, video, vision_transformer
from torchvision.models.segmentation import deeplabv3, fcn, lraspp_mobilenet_v3_large

CLASSES, BATCH = 10, 4


def pooled(model, head):
    """A classifier whose layers for images of 224 × 224 are replaced by the mean and one layer."""
    model.avgpool, model.classifier = nn.AdaptiveAvgPool2d(1), nn.Linear(head, CLASSES)
    return model


class Output(nn.Module):
    """The segmentation of a network that answers with a dictionary."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def segmentation(make):
    body = resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 1], replace_stride_with_dilation=[False, True, True])
    body = tv._utils.IntermediateLayerGetter(body, return_layers={"layer4": "out"})
    return Output(make(body))


def lraspp():
    return Output(lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=CLASSES))


NETS = {  # name: network, size of its images
    "alexnet": (lambda: pooled(tv.alexnet(), 256), 64),
    "convnext-small": (lambda: convnext.ConvNeXt([convnext.CNBlockConfig(32, 64, 2), convnext.CNBlockConfig(64, None, 2)], num_classes=CLASSES), 64),
    "convnext_tiny": (lambda: tv.convnext_tiny(num_classes=CLASSES), 32),
    "deeplabv3-small": (lambda: segmentation(lambda b: deeplabv3.DeepLabV3(b, deeplabv3.DeepLabHead(2048, CLASSES), None)), 64),
    "densenet121": (lambda: tv.densenet121(num_classes=CLASSES), 64),
    "efficientnet_b0": (lambda: tv.efficientnet_b0(num_classes=CLASSES), 64),
    "fcn-small": (lambda: segmentation(lambda b: fcn.FCN(b, fcn.FCNHead(2048, CLASSES), None)), 64),
    "googlenet": (lambda: tv.googlenet(num_classes=CLASSES, aux_logits=False, init_weights=False), 64),
    "inception_v3": (lambda: tv.inception_v3(num_classes=CLASSES, aux_logits=False, init_weights=False), 96),
    "lraspp": (lraspp, 64),
    "mnasnet0_5": (lambda: tv.mnasnet0_5(num_classes=CLASSES), 64),
    "mobilenet_v2": (lambda: tv.mobilenet_v2(num_classes=CLASSES), 64),
    "mobilenet_v3_small": (lambda: tv.mobilenet_v3_small(num_classes=CLASSES), 64),
    "r3d-small": (lambda: video.resnet.VideoResNet(video.resnet.BasicBlock, [video.resnet.Conv3DSimple] * 4, [1] * 4, video.resnet.BasicStem, num_classes=CLASSES), 32),
    "regnet_x_400mf": (lambda: tv.regnet_x_400mf(num_classes=CLASSES), 64),
    "regnet_y_400mf": (lambda: tv.regnet_y_400mf(num_classes=CLASSES), 64),
    "resnet18": (lambda: tv.resnet18(num_classes=CLASSES), 64),
    "resnext-small": (lambda: resnet.ResNet(resnet.Bottleneck, [1] * 4, CLASSES, groups=32, width_per_group=4), 64),
    "shufflenet_v2_x0_5": (lambda: tv.shufflenet_v2_x0_5(num_classes=CLASSES), 64),
    "squeezenet1_1": (lambda: tv.squeezenet1_1(num_classes=CLASSES), 64),
    "swin-small": (lambda: swin_transformer.SwinTransformer([4, 4], 48, [2, 2], [3, 6], [4, 4], stochastic_depth_prob=0, num_classes=CLASSES), 64),
    "vgg11": (lambda: pooled(tv.vgg11(), 512), 32),
    "vgg11_bn": (lambda: pooled(tv.vgg11_bn(), 512), 64),
    "vit-small": (lambda: vision_transformer.VisionTransformer(64, 16, 4, 4, 128, 256, num_classes=CLASSES), 64),
}


def build(name):
    torch.manual_seed(20240)
    make, size = NETS[name]
    model = make()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.p = 0.0
        if isinstance(m, tv.efficientnet.StochasticDepth):
            m.p = 0.0
    for tensor in [*model.parameters(), *model.buffers()]:  # equal tensors would be exported as one
        if tensor.is_floating_point() and tensor.numel() > 1 and (tensor == tensor.flatten()[0]).all():
            tensor.data += 0.02 * torch.randn_like(tensor).abs()
    shape = (BATCH, 3, 8, size, size) if name.startswith("r3d") else (BATCH, 3, size, size)
    return model, torch.randn(shape)


def stepper(name):
    """A function that does a step and returns its milliseconds."""
    model, x = build(name)
    model.train()
    with torch.no_grad():
        out = model(x)
    y = torch.randint(0, CLASSES, (out.shape[0], *out.shape[2:]))
    rule = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    loss = nn.CrossEntropyLoss()

    def step():
        start = time.perf_counter()
        rule.zero_grad()
        loss(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        rule.step()
        return 1000 * (time.perf_counter() - start)

    return step


def timed(name):
    step = stepper(name)
    return min(step() for _ in range(8))


def serve(name, threads):
    """A step for each line of the standard input."""
    torch.set_num_threads(threads)
    step = stepper(name)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(step(), flush=True)


def main():
    warnings.filterwarnings("ignore")
    if sys.argv[1] == "--serve":
        return serve(sys.argv[2], int(sys.argv[3]))
    torch.set_num_threads(2)
    folder, names = sys.argv[1], sys.argv[2:] or list(NETS)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "torch.json")
    times = {}
    if os.path.exists(path):
        with open(path) as f:
            times = json.load(f)
    for name in names:
        model, x = build(name)
        model.eval()
        torch.onnx.export(model, x, os.path.join(folder, name + ".onnx"), opset_version=14, input_names=["input"], output_names=["output"],
                          dynamic_axes={"input": {0: "N"}, "output": {0: "N"}}, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
        times[name] = round(timed(name), 2)
        print(name, sum(p.numel() for p in model.parameters()), times[name], flush=True)
        with open(path, "w") as f:
            json.dump(times, f, indent=1, sort_keys=True)


main()
