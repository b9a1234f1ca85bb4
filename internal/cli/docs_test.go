package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The recipe of the page about training has settings that train takes.
func TestTrainingPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "training.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n")
	text, _, closed := strings.Cut(text, "```")
	if !found || !closed {
		t.Fatal("no recipe in the page")
	}
	path := filepath.Join(t.TempDir(), "train.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if model, err := applyRecipe(newTrain(newProcess(Options{})), path); err != nil || model != "resnet.onnx" {
		t.Errorf("%s, %v", model, err)
	}
}
