// Command graft-ort is graft with ONNX Runtime available: --runtime ort of run, train, eval, predict and lr-find computes in it.
//
//	graft-ort run squeezenet1.1.onnx --input cat.jpg --runtime ort --provider cuda
//	graft-ort train digits.onnx --data digits/ --runtime ort -o trained.onnx
package main

import (
	"github.com/graft-ml/graft/internal/cli"
	"github.com/graft-ml/graft/ort"
)

func main() {
	cli.MainWith(cli.Options{Runtimes: map[string]func(cli.RuntimeSettings) (cli.Runtime, error){
		"ort": func(s cli.RuntimeSettings) (cli.Runtime, error) {
			r := ort.Runtime{Provider: s.Provider, Device: s.Device, Threads: s.Threads}
			_, err := r.Open() // before the work begins
			return r, err
		},
	}})
}
