"""Writes losses.json: losses and their gradients with respect to the model's output, by PyTorch, in float64.

    python3 losses.py > losses.json
"""
import json
import torch
import torch.nn.functional as F

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
cases = []


def tensor(x):
    kind = "int64" if x.dtype == torch.int64 else "float64"
    return {"dtype": kind, "shape": list(x.shape), "data": x.flatten().tolist()}


def case(loss, out, want, f, **options):
    out = out.detach().clone().requires_grad_()
    value = f(out)
    value.backward()
    cases.append({"loss": loss, "options": options, "out": tensor(out), "want": tensor(want), "value": value.item(), "grad": tensor(out.grad)})


x, y = torch.randn(5, 4), torch.tensor([0, 3, 1, -100, 2])
wide, spots = torch.randn(2, 3, 2, 3), torch.randint(0, 3, (2, 2, 3))
weights = [0.5, 2.0, 1.5, 0.25]
w = torch.tensor(weights)
soft = torch.softmax(torch.randn(5, 4), 1)
for reduction in ("mean", "sum"):
    total = reduction == "sum"
    case("CrossEntropy", x, y, lambda o: F.cross_entropy(o, y, reduction=reduction), Sum=total)
    case("CrossEntropy", x, y, lambda o: F.cross_entropy(o, y, w, reduction=reduction), Sum=total, ClassWeights=weights)
    case("CrossEntropy", x, y, lambda o: F.cross_entropy(o, y, w, reduction=reduction, label_smoothing=0.1), Sum=total, ClassWeights=weights, LabelSmoothing=0.1)
    case("CrossEntropy", x, y, lambda o: F.cross_entropy(o, y, reduction=reduction, label_smoothing=0.2, ignore_index=-100), Sum=total, LabelSmoothing=0.2)
    z = torch.tensor([0, 3, 1, 1, 2])
    case("CrossEntropy", x, z, lambda o: F.cross_entropy(o, z, w, reduction=reduction, ignore_index=1), Sum=total, ClassWeights=weights, IgnoreIndex=1)
    case("CrossEntropy", x, z, lambda o: F.cross_entropy(o, z, reduction=reduction, ignore_index=1, label_smoothing=0.3), Sum=total, IgnoreIndex=1, LabelSmoothing=0.3)
    case("CrossEntropy", wide, spots, lambda o: F.cross_entropy(o, spots, reduction=reduction), Sum=total)
    case("CrossEntropy", wide, spots, lambda o: F.cross_entropy(o, spots, reduction=reduction, label_smoothing=0.1), Sum=total, LabelSmoothing=0.1)
    case("CrossEntropy", x, soft, lambda o: F.cross_entropy(o, soft, reduction=reduction), Sum=total)
    case("CrossEntropy", x, soft, lambda o: F.cross_entropy(o, soft, w, reduction=reduction, label_smoothing=0.1), Sum=total, ClassWeights=weights, LabelSmoothing=0.1)
    hot = torch.softmax(torch.randn(2, 3, 2, 3), 1)
    case("CrossEntropy", wide, hot, lambda o: F.cross_entropy(o, hot, reduction=reduction), Sum=total)
    case("NLL", x, y, lambda o: F.nll_loss(o, y, w, reduction=reduction), Sum=total, ClassWeights=weights)
    case("NLL", wide, spots, lambda o: F.nll_loss(o, spots, reduction=reduction), Sum=total)
    a, b = torch.randn(4, 3) * 2, torch.randn(4, 3)
    case("MSE", a, b, lambda o: F.mse_loss(o, b, reduction=reduction), Sum=total)
    case("L1", a, b, lambda o: F.l1_loss(o, b, reduction=reduction), Sum=total)
    case("Huber", a, b, lambda o: F.huber_loss(o, b, reduction=reduction), Sum=total)
    case("Huber", a, b, lambda o: F.huber_loss(o, b, reduction=reduction, delta=0.5), Sum=total, Delta=0.5)
    case("Huber", a, b, lambda o: F.smooth_l1_loss(o, b, reduction=reduction, beta=0.5), Sum=total, Delta=0.5, Smooth=True)
    c, yes = torch.randn(4, 3) * 30, torch.randint(0, 2, (4, 3)).double()
    c[0, 0] = 0
    case("BCEWithLogits", c, yes, lambda o: F.binary_cross_entropy_with_logits(o, yes, reduction=reduction), Sum=total)
    case("BCEWithLogits", c, yes, lambda o: F.binary_cross_entropy_with_logits(o, yes, reduction=reduction, pos_weight=torch.tensor([1.0, 3.0, 0.5])), Sum=total, PosWeight=[1.0, 3.0, 0.5])
    zero = soft.clone()
    zero[0] = torch.tensor([0.0, 1.0, 0.0, 0.0])
    kl = {"mean": "batchmean", "sum": "sum"}[reduction]
    case("KL", x, zero, lambda o: F.kl_div(F.log_softmax(o, 1), zero, reduction=kl), Sum=total)
    case("KL", x, soft.log(), lambda o: F.kl_div(F.log_softmax(o, 1), soft.log(), reduction=kl, log_target=True), Sum=total, LogTarget=True)
print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
