package dtype_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn/dtype"
)

// Example makes tensors, accesses their elements in place, and converts them by the rules of ONNX's Cast.
func Example() {
	x, err := dtype.FromSlice([]float32{0.5, -1.75, 300}, 3)
	if err != nil {
		log.Fatal(err)
	}
	dtype.Slice[float32](x)[0] = 2.5 // no copy
	for _, to := range []dtype.DType{dtype.Float16, dtype.Float8E4M3FN, dtype.Int8, dtype.Int4} {
		y, err := dtype.ConvertTo(to, x)
		if err != nil {
			log.Fatal(err)
		}
		values, err := dtype.Float64s(y)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(to, values)
	}
	// Output:
	// float16 [2.5 -1.75 300]
	// float8e4m3fn [2.5 -1.75 288]
	// int8 [2 -1 44]
	// int4 [2 -2 -4]
}
