package generate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
)

// TestTorchvision checks that the source of torchvision's networks compiles in an empty module,
// computes the same as the files and exports them again; repeated blocks become functions, so that the
// source stays short.
func TestTorchvision(t *testing.T) {
	dir := t.TempDir()
	oracle.Torch(t, filepath.Join("testdata", "networks.py"), dir)
	all := map[string]*nn.Graph{}
	for name, most := range map[string]int{"resnet18": 79, "mobilenetv2": 79, "efficientnetb0": 90, "densenet121": 190, "vit": 75, "swin": 90} {
		g := load(t, filepath.Join(dir, name+".onnx"))
		s, err := generate.Generate(context.Background(), g, generate.Options{Package: name})
		if err != nil {
			t.Fatal(err)
		}
		if s.Lines > most || s.Functions == 0 || s.Difference < 0 || s.Difference > 1e-5 {
			t.Errorf("%s: %d lines, want at most %d; %d functions; differs by %g", name, s.Lines, most, s.Functions, s.Difference)
		}
		all[name] = g
	}
	compareAll(t, newModule(t), all)
}

// The source of models of the shared folder is as short as this.
func TestLines(t *testing.T) {
	root := oracle.Shared(t, "models")
	for name, most := range map[string]int{"torch-bert-mini": 75, "squeezenet1.1": 75, "torch-unet": 55, "torch-resnet-mini": 50, "ultraface-slim-320": 99} {
		file := filepath.Join(root, name, "model.onnx")
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		s, err := generate.Generate(context.Background(), load(t, file), generate.Options{Package: "net"})
		if err != nil {
			t.Fatal(err)
		}
		if s.Lines > most {
			t.Errorf("%s: %d lines, want at most %d", name, s.Lines, most)
		}
	}
}
