package train

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// A model file has no place for a checksum of its own. Those that a resumed run reads have one in the file beside them: best.onnx in the
// state, head.onnx in the plan. It is of the weights, by name, so that a file may be annotated or its weights moved out of it.

// weightSum returns the checksum, CRC-32C in hexadecimal digits, of g's parameters, or of the tensors that stored has in their place.
func weightSum(g *nn.Graph, stored map[string]*tensor.Dense) string {
	var list []*nn.Param
	for p := range g.Params() {
		if direct.Data(p) != nil && p.Role() != nn.Constant {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *nn.Param) int { return strings.Compare(a.Name(), b.Name()) })
	sum := uint32(0)
	for _, p := range list {
		d := direct.Data(p)
		if stored != nil {
			d = stored[p.Name()]
		}
		if d == nil {
			continue // as if it had no bytes
		}
		sum = crc32.Update(sum, castagnoli, fmt.Appendf(nil, "%s %v %v\n", p.Name(), dtype.Of(d.Dtype()), d.Shape()))
		sum = crc32.Update(sum, castagnoli, dtype.Bytes(d))
	}
	return fmt.Sprintf("%08x", sum)
}

// checkWeights returns an error if a file's parameters do not have the checksum that was stored for those of g; none was before there were any.
func checkWeights(path string, g, file *nn.Graph, want string) error {
	if want == "" {
		return nil
	}
	stored := map[string]*tensor.Dense{}
	for p := range file.Params() {
		stored[p.Name()] = direct.Data(p)
	}
	if got := weightSum(g, stored); got != want {
		return fmt.Errorf("train: the weights in %s have the checksum %s, not %s, which was stored when it was written: the file is damaged or was replaced", path, got, want)
	}
	return nil
}
