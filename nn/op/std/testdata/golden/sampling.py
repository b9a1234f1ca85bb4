"""Resizing, sampling at positions, regions, images."""
from golden import *


def run():
    x, none = some(1, 2, 3, 5), None
    flat = tensor([], "float32")
    scales = lambda *v: Tensor(np.array(v, np.float32))
    up, down, mixed = scales(1, 1, 2.6, 1.7), scales(1, 1, 0.6, 0.7), scales(1, 1, 2, 0.5)
    coordinates = ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "half_pixel_symmetric"]
    for c in coordinates:
        for s in [(flat, up), (flat, down)] if c != "align_corners" else [(flat, none, ints(1, 2, 7, 9)), (flat, none, ints(1, 2, 2, 3))]:
            case("Resize", x, *s, coordinate_transformation_mode=c, mode="linear")
            case("Resize", x, *s, coordinate_transformation_mode=c, mode="cubic", nolow="sums")
            case("Resize", x, *s, coordinate_transformation_mode=c, mode="nearest")
    case("Resize", x, flat, up, types=["float64", "int8", "int32", "uint8"])
    case("Resize", x, flat, up, types=["float16", "bfloat16", "int64", "uint32", "bool"], only=True)
    case("Resize", x, flat, up, mode="linear", types=FLOATS)
    for n in ["round_prefer_ceil", "floor", "ceil"]:
        for s in [up, down]:
            case("Resize", x, flat, s, nearest_mode=n, coordinate_transformation_mode="asymmetric")
    case("Resize", x, flat, none, ints(1, 2, 7, 4), mode="linear")
    case("Resize", x, flat, none, ints(1, 2, 2, 9))
    case("Resize", x, flat, up, mode="cubic", cubic_coeff_a=-0.5)
    case("Resize", x, flat, up, mode="cubic", exclude_outside=1)
    case("Resize", x, flat, down, mode="cubic", exclude_outside=1, antialias=1)
    case("Resize", x, flat, down, mode="linear", antialias=1)
    case("Resize", some(1, 1, 6, 7), flat, scales(1, 1, 0.4, 0.6), mode="cubic", antialias=1)
    case("Resize", x, scales(0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3), none, ints(1, 2, 4, 6), mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.5, tol=1e-4, nograd="borders")
    case("Resize", x, scales(0, 0, 0.2, 0.1, 1, 1, 0.9, 1.3), none, ints(1, 2, 4, 6), coordinate_transformation_mode="tf_crop_and_resize")
    case("Resize", x, scales(0, 0, -0.4, 0.1, 1, 1, 1.6, 0.8), none, ints(1, 2, 5, 6), mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-3.5, tol=1e-4, nograd="borders")
    case("Resize", x, flat, scales(1.5, 2.5), mode="linear", axes=[2, 3])
    case("Resize", x, flat, scales(2.5, 1.5), mode="linear", axes=[3, 2])
    case("Resize", x, flat, none, ints(6, 6), mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger")
    case("Resize", x, flat, none, ints(6, 6), mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_smaller")
    case("Resize", x, up, opset=10, mode="linear")
    case("Resize", x, mixed, opset=10)
    case("Resize", some(1, 1, 2, 3, 4), flat, scales(1, 1, 1.5, 2, 0.5), mode="linear")
    case("Resize", some(2, 3, 5), flat, scales(1, 1, 1.6), mode="linear")
    case("Upsample", x, scales(1, 1, 2, 3), opset=9, types=["float64", "int32", "uint8"], vary=[0])
    case("Upsample", x, scales(1, 1, 2, 3), opset=9, types=["float16", "bool", "int8"], vary=[0], only=True)
    case("Upsample", x, scales(1, 1, 2, 3), opset=9, types=["bfloat16", "string"], vary=[0], only=True, ref=lambda x, s: Tensor(x.repeat(2, 2).repeat(3, 3), "string" if x.dtype == object else None))
    case("Resize", x, flat, scales(1, 1, 2, 3), types=["string"], vary=[0], only=True, ref=lambda x, r, s: Tensor(x.repeat(2, 2).repeat(3, 3)))
    case("Upsample", x, scales(1, 1, 2, 3), opset=9, mode="linear")
    case("Upsample", x, opset=7, scales=[1.0, 1.0, 2.0, 3.0])
    case("Upsample", x, opset=1, height_scale=2.0, width_scale=3.0, via=lambda x: ("Upsample", [x], {"scales": [1.0, 1.0, 2.0, 3.0]}, 7))
    grids(x)
    regions()


def grids(x):
    grid = some(1, 4, 3, 2, lo=-1.3, hi=1.3, seed=4)
    names = {"linear": ("linear", 20), "cubic": ("cubic", 20), "nearest": ("nearest", 20)}
    for mode in names:
        for padding in ["zeros", "border", "reflection"]:
            for align in [0, 1]:
                case("GridSample", x, grid, mode=mode, padding_mode=padding, align_corners=align, nolow="positions are rounded")
    case("GridSample", x, grid, mode="bilinear", opset=16)
    case("GridSample", x, grid, mode="bicubic", opset=16, nolow="positions are rounded")
    case("GridSample", x, grid, types=["float64"])
    case("GridSample", x, grid, types=LOW, only=True, tol=0.1, nolow="positions are rounded")
    for t in ["int8", "int64", "uint16", "bool"]:
        exact = convert(x, t)
        case("GridSample", exact, grid, mode="nearest", ref=lambda x, g, mode, t=t: Tensor(nearest(x, g), t), nograd="integers")
    case("GridSample", some(1, 2, 2, 3, 4), some(1, 2, 3, 2, 3, lo=-1.2, hi=1.2, seed=4))
    case("GridSample", some(1, 2, 2, 3, 4), some(1, 2, 3, 2, 3, lo=-1.2, hi=1.2, seed=4), mode="nearest", align_corners=1)
    theta = tensor([[[1.2, 0.1, 0.3], [-0.2, 0.8, -0.1]], [[0.5, -0.3, 0.2], [0.4, 1.5, 0.6]]], "float32")
    case("AffineGrid", theta, ints(2, 3, 2, 4), types=FLOATS)
    case("AffineGrid", theta, ints(2, 3, 2, 4), align_corners=1)
    solid = tensor([[[1.2, 0.1, 0.3, 0.2], [-0.2, 0.8, -0.1, 0.5], [0.3, -0.6, 0.9, 0.4]]], "float32")
    case("AffineGrid", solid, ints(1, 2, 2, 3, 4))
    case("AffineGrid", solid, ints(1, 2, 2, 3, 4), align_corners=1)


def nearest(x, grid):
    y = np.zeros((x.shape[0], x.shape[1]) + grid.shape[1:3], x.dtype)
    for n, i, j in np.ndindex(grid.shape[:3]):
        gx, gy = grid[n, i, j]
        w, h = int(np.rint(((gx + 1) * x.shape[3] - 1) / 2)), int(np.rint(((gy + 1) * x.shape[2] - 1) / 2))
        if 0 <= w < x.shape[3] and 0 <= h < x.shape[2]:
            y[n, :, i, j] = x[n, :, h, w]
    return y


def regions():
    x = some(2, 2, 6, 7)
    rois, at = tensor([[0.7, 1.3, 5.2, 4.6], [1.6, 0.4, 4.9, 5.1], [-1, 2, 3.3, 9]], "float32"), ints(1, 0, 1)
    case("RoiAlign", x, rois, at, output_height=2, output_width=3, types=["float64"], **asked(output_height=2, output_width=3))
    case("RoiAlign", x, rois, at, output_height=2, output_width=3, types=LOW, only=True, tol=0.1, nolow="positions are rounded", **asked(output_height=2, output_width=3))
    case("RoiAlign", x, rois, at, output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.75, **asked(output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.75))
    case("RoiAlign", x, rois, at, output_height=3, output_width=2, coordinate_transformation_mode="output_half_pixel", **asked(output_height=3, output_width=2, coordinate_transformation_mode="output_half_pixel"))
    case("RoiAlign", x, rois, at, output_height=2, output_width=2, opset=10)
    case("RoiAlign", x, rois, at, mode="max", output_height=2, output_width=2, sampling_ratio=1, **asked(mode="max", output_height=2, output_width=2, sampling_ratio=1))
    case("RoiAlign", x, rois, at, **asked())


def asked(**attrs):
    return {"via": lambda *t: ("RoiAlign", list(t), attrs, 16)}
