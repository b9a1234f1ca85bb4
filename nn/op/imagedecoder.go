package op

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/graft-ml/graft/nn/dtype"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
	"gorgonia.org/tensor"
)

// ImageDecoderConfig has the attributes of ImageDecoder.
type ImageDecoderConfig struct {
	Format string `onnx:"pixel_format,default=RGB"` // RGB, BGR, Grayscale
}

// Op makes ImageDecoderConfig a Config.
func (ImageDecoderConfig) Op() *Op { return standard("", "ImageDecoder") }

func imageDecoder() *Op {
	return &Op{
		Name: "ImageDecoder", Since: []int{20}, Doc: "Decodes a JPEG, PNG, BMP, TIFF or WebP file to height, width and channels.",
		In: "encoded_stream uint8", Out: "image uint8", Attrs: ImageDecoderConfig{},
		Infer: func(c *Call) ([]Type, error) {
			channels := 3
			switch c.Config.(ImageDecoderConfig).Format {
			case "Grayscale":
				channels = 1
			case "RGB", "BGR":
			default:
				return nil, c.Errorf("pixel_format %q is unknown", c.Config.(ImageDecoderConfig).Format)
			}
			if r := c.In[0].Rank(); r >= 0 && r != 1 {
				return nil, c.wantGot(0, "the bytes of a file", c.In[0])
			}
			v, err := c.Value(0)
			if err != nil {
				return []Type{T(dtype.Uint8, Unknown, Unknown, D(channels))}, err
			}
			d, ok := v.(*tensor.Dense)
			if !ok {
				return nil, c.wantGot(0, "the bytes of a file", TypeOf(v))
			}
			k, data, err := codecOf(c, d)
			if err != nil {
				return nil, err
			}
			size, err := k.config(data)
			if err != nil || size.Width > 1<<16 || size.Height > 1<<16 {
				return nil, c.Errorf("image of %d×%d: %w", size.Width, size.Height, err)
			}
			return c.output(Dims(size.Height, size.Width, channels))
		},
		Func: decodeImage, NoGrad: "decodes a file", Pinned: "the axes are those of an image",
	}
}

// codec reads one image format.
type codec struct {
	magic  string // at the beginning, ? for any byte
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// codecOf finds the format by its first bytes.
func codecOf(c *Call, d *tensor.Dense) (codec, io.Reader, error) {
	data := d.Raw
	for _, k := range []codec{
		{"\xff\xd8", jpeg.DecodeConfig, jpeg.Decode},
		{"\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
		{"BM", bmp.DecodeConfig, bmp.Decode},
		{"II*\x00", tiff.DecodeConfig, tiff.Decode},
		{"MM\x00*", tiff.DecodeConfig, tiff.Decode},
		{"RIFF????WEBP", webp.DecodeConfig, webp.Decode},
	} {
		fits := len(data) >= len(k.magic)
		for i := 0; fits && i < len(k.magic); i++ {
			fits = k.magic[i] == '?' || k.magic[i] == data[i]
		}
		if fits {
			return k, bytes.NewReader(data), nil
		}
	}
	return codec{}, nil, c.Errorf("the image format is unknown: want JPEG, PNG, BMP, TIFF or WebP")
}

func decodeImage(c *Call, in []dtype.Value) ([]dtype.Value, error) {
	d, ok := in[0].(*tensor.Dense)
	if !ok {
		return nil, c.wantGot(0, "the bytes of a file", TypeOf(in[0]))
	}
	k, data, err := codecOf(c, d)
	if err != nil {
		return nil, err
	}
	img, err := k.decode(data)
	if err != nil {
		return nil, c.Errorf("image: %w", err)
	}
	r := img.Bounds()
	var out []uint8
	channels := 3
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			switch p := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA); c.Config.(ImageDecoderConfig).Format {
			case "Grayscale":
				channels = 1
				out = append(out, color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
			case "BGR":
				out = append(out, p.B, p.G, p.R)
			default:
				out = append(out, p.R, p.G, p.B)
			}
		}
	}
	t, err := dtype.FromSlice(out, r.Dy(), r.Dx(), channels)
	return []dtype.Value{t}, err
}
