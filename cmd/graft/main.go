// Command graft runs, trains, changes and verifies ONNX models. `graft help` lists what it can do.
package main

import "github.com/graft-ml/graft/internal/cli"

func main() { cli.Main() }
