package safetensors_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/safetensors"
	"gorgonia.org/tensor"
)

// Example writes tensors to a file by name and reads them again.
func Example() {
	w, err := dtype.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := safetensors.Write(&file, map[string]*tensor.Dense{"layer.weight": w}); err != nil {
		log.Fatal(err)
	}
	tensors, err := safetensors.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(safetensors.Names(tensors), tensors["layer.weight"].Data())
	// Output: [layer.weight] [1 2 3 4]
}
