package std

import (
	"github.com/graft-ml/graft/internal/imagefile"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ImageDecoderConfig has the attributes of ImageDecoder.
type ImageDecoderConfig struct {
	Format string `onnx:"pixel_format,default=RGB"` // RGB, BGR or Grayscale
}

// Operator makes ImageDecoderConfig a Config.
func (ImageDecoderConfig) Operator() op.Name { return op.Name{Name: "ImageDecoder"} }

func imageDecoder() *op.Op {
	return &op.Op{
		Name: "ImageDecoder", Since: []int{20}, Doc: "Decodes a JPEG, PNG, BMP, TIFF, WebP or PNM file to height, width and channels.",
		In: "encoded_stream uint8", Out: "image uint8", Attrs: ImageDecoderConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			channels := 3
			switch c.Config.(ImageDecoderConfig).Format {
			case "Grayscale":
				channels = 1
			case "RGB", "BGR":
			default:
				return nil, c.Errorf("pixel_format %q is unknown", c.Config.(ImageDecoderConfig).Format)
			}
			if r := c.In[0].Rank(); r >= 0 && r != 1 {
				return nil, c.Mismatch(0, "the bytes of a file", c.In[0])
			}
			v, err := c.Value(0)
			if err != nil {
				return []op.Type{op.T(dtype.Uint8, op.Unknown(), op.Unknown(), op.D(channels))}, err
			}
			d, ok := v.(*tensor.Dense)
			if !ok {
				return nil, c.Mismatch(0, "the bytes of a file", op.TypeOf(v))
			}
			width, height, err := imagefile.Size(dtype.Bytes(d))
			if err != nil {
				return nil, c.Errorf("image: %w", err)
			}
			return convOutput(c, op.Dims(height, width, channels))
		},
		Func: decodeImage, NoGrad: "decodes a file", Pinned: "the axes are those of an image",
	}
}

func decodeImage(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	d, ok := in[0].(*tensor.Dense)
	if !ok {
		return nil, c.Mismatch(0, "the bytes of a file", op.TypeOf(in[0]))
	}
	p, err := imagefile.Decode(dtype.Bytes(d))
	if err != nil {
		return nil, c.Errorf("image: %w", err)
	}
	pixels, channels := p.Pix, 3
	switch c.Config.(ImageDecoderConfig).Format {
	case "Grayscale":
		pixels, channels = p.Gray(), 1
	case "BGR":
		for i := 0; i < len(pixels); i += 3 {
			pixels[i], pixels[i+2] = pixels[i+2], pixels[i]
		}
	}
	t, err := dtype.FromSlice(pixels, p.Height, p.Width, channels)
	return []dtype.Value{t}, err
}
