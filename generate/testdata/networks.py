"""Networks of torchvision with seeded weights, as torch.onnx.export writes them with BatchNormalization kept.

    networks.py FOLDER
"""
import os
import sys
import warnings

import torch
import torchvision.models as tv
from torchvision.models.densenet import DenseNet
from torchvision.models.swin_transformer import SwinTransformer
from torchvision.models.vision_transformer import VisionTransformer

warnings.filterwarnings("ignore")
torch.set_num_threads(2)
nets = {
    "resnet18": tv.resnet18, "mobilenetv2": tv.mobilenet_v2, "efficientnetb0": tv.efficientnet_b0, "densenet121": tv.densenet121,
    "vit": lambda: VisionTransformer(64, 16, 4, 4, 64, 128, num_classes=10),
    "swin": lambda: SwinTransformer([4, 4], 24, [2, 2], [3, 6], [4, 4], stochastic_depth_prob=0, num_classes=10),
}
for name, make in nets.items():
    torch.manual_seed(3)
    model = make().eval()
    for tensor in [*model.parameters(), *model.buffers()]:  # equal tensors would be exported as one
        if tensor.is_floating_point() and tensor.numel() > 1 and (tensor == tensor.flatten()[0]).all():
            tensor.data += 0.02 * torch.randn_like(tensor).abs()
    torch.onnx.export(model, torch.randn(2, 3, 64, 64), os.path.join(sys.argv[1], name + ".onnx"), opset_version=14, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.PRESERVE, input_names=["input"], dynamic_axes={"input": {0: "N"}})
