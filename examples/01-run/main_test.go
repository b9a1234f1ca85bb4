package main

import "context"

func Example() {
	if err := run(context.Background(), "../../cmd/graft/demo/digits.onnx", ""); err != nil {
		panic(err)
	}
	// Output:
	// 100.0 % class 7
	//   0.0 % class 2
	//   0.0 % class 4
}
