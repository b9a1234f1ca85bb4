// Command models takes every model of a folder the whole way: it loads and runs it, compares the outputs with ONNX
// Runtime's, trains it, prunes it, writes it as Go source and exports its training step. What came of it is a table.
//
//	go run ./bench/models -models DIR [-o FILE] [NAME…]
//
// DIR holds a folder for each model: model.onnx and the inputs of a test case, test_data_set_0. ONNX Runtime must be
// installed (make oracles).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/onnxio"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "models:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	folder := flag.String("models", "", "folder of the models; empty: models in the folder GRAFT_SHARED")
	page := flag.String("o", "", "Markdown file to write; empty: standard output")
	flag.Parse()
	if *folder == "" {
		shared := os.Getenv("GRAFT_SHARED")
		if shared == "" {
			return errors.New("there are no models: neither -models nor GRAFT_SHARED is set")
		}
		*folder = filepath.Join(shared, "models")
	}
	files, err := filepath.Glob(filepath.Join(*folder, "*", "model.onnx"))
	if err != nil {
		return err
	}
	if only := flag.Args(); len(only) > 0 {
		files = slices.DeleteFunc(files, func(f string) bool { return !slices.Contains(only, name(f)) })
	}
	if len(files) == 0 {
		return fmt.Errorf("%s has no NAME/model.onnx of the names asked for", *folder)
	}
	ort, err := oracle.Start()
	if err != nil {
		return fmt.Errorf("%w; make oracles installs it", err)
	}
	defer ort.Close()
	t := table{runtime: ort.Version()}
	for _, file := range files {
		fmt.Fprintln(os.Stderr, name(file))
		t.rows = append(t.rows, try(ctx, file, ort))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if *page == "" {
		return t.write(os.Stdout)
	}
	return onnxio.WriteFile(*page, t.write)
}

// name returns the name of a model: that of its folder.
func name(file string) string { return filepath.Base(filepath.Dir(file)) }
