package cli

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// png encodes the mask or image of an answer, an array [C, H, W], as the PNG file that predict writes, in base64. It returns
// {"mask": "…"} or {"image": "…"}.
func (a *answerer) png(x answer) (map[string]any, error) {
	d, ok := x.whole[a.names()[0]].(*tensor.Dense)
	if !ok || d.Dims() != 3 {
		return nil, fmt.Errorf("png: the output %s is not [channels, height, width]", a.names()[0])
	}
	v, err := dtype.Float64s(d)
	if err != nil {
		return nil, err
	}
	row, err := dtype.FromSlice(v, append([]int{1}, d.Shape()...)...)
	if err != nil {
		return nil, err
	}
	img, err := a.image(row, a.drawnSize(row, x.size))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, err
	}
	return map[string]any{a.kind: base64.StdEncoding.EncodeToString(b.Bytes())}, nil
}
