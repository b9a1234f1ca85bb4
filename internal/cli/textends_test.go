package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/token"
)

// TestTextsEnd: texts are read, a tokenizer is learned from them and they are tokenized until the context ends.
func TestTextsEnd(t *testing.T) {
	tok, err := token.Parse([]byte(`{"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	words := file("words.conll", "a b\nc d\n")
	vocabulary := file("tokenizer.json", string(tok.JSON()))
	x := &texts{tok: tok, textFormat: textFormat{Column: "text", Length: 8}}
	pair := &texts{tok: tok, textFormat: textFormat{Column: "text", Pair: "other", Length: 8}}
	list := []string{"a", "b"}
	d := &dataset{}
	d.texts = x
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, f := range map[string]func() error{
		"feed":        func() error { _, err := x.feed(ctx, list, nil); return err },
		"feed a pair": func() error { _, err := pair.feed(ctx, list, list); return err },
		"set":         func() error { _, err := x.set(ctx, list, nil, data.Of[data.Sample]()); return err },
		"word source": func() error { _, err := x.wordSource(ctx, [][]string{list}); return err },
		"words":       func() error { _, _, err := x.conll(ctx, words, "", false); return err },
		"all texts":   func() error { _, err := d.allTexts(ctx, words); return err },
		"a tokenizer": func() error {
			_, err := textual{text: "text", tokenizer: vocabulary}.newTexts(ctx, nn.New("m"))
			return err
		},
		"JSON objects": func() error { _, err := objects(ctx, []byte(`{"a":1}`)); return err },
		"lines":        func() error { _, err := d.lines(ctx, file("a.jsonl", strings.Repeat(`{"a":1}`, 3))); return err },
	} {
		if err := f(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
