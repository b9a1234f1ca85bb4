// Command accuracy runs models for compare.py: each line of its input names a model, files with the elements of its
// inputs in their order, and the file that the elements of its output are written to. It answers with a line: ok, or
// the error.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := run(strings.Fields(lines.Text())); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}

func run(words []string) error {
	if len(words) < 2 {
		return errors.New("want a model, its inputs and the file of the output")
	}
	g, err := onnxio.Load(words[0])
	if err != nil {
		return err
	}
	var in []*tensor.Dense
	for i, v := range g.Inputs() {
		d := dtype.New(v.Type().DType, v.Type().Sizes()...)
		b, err := os.ReadFile(words[1+i])
		if err != nil {
			return err
		}
		if n := len(dtype.Bytes(d)); n != len(b) {
			return fmt.Errorf("%s has %d bytes, want %d", words[1+i], len(b), n)
		}
		copy(dtype.Bytes(d), b)
		in = append(in, d)
	}
	out, err := g.Run(context.Background(), in...)
	if err != nil {
		return err
	}
	return os.WriteFile(words[len(words)-1], dtype.Bytes(out[0]), 0o644)
}
