// Command graft runs, inspects and verifies ONNX models. `graft help` lists what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root := newRoot()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return
	}
	if !errors.Is(err, errSilent) {
		fmt.Fprintln(os.Stderr, "graft:", err)
	}
	stop()
	os.Exit(1)
}

// errSilent makes the command exit with 1 after it has said why.
var errSilent = errors.New("failed")
