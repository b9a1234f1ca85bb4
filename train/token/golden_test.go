package token_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/graft-ml/graft/train/token"
)

// golden is what testdata/golden.cjs writes.
type golden struct {
	Tokenizers map[string]json.RawMessage
	Texts      []string
	Pairs      [][2]string
	IDs        map[string][][]int
	Two, Cut   map[string][][2][]int
	Words      map[string][]wordsGolden
}

// wordsGolden is words, their tokens, and which word each token is of; the last two of a tokenizer are cut to 7 tokens.
type wordsGolden struct {
	words   []string
	ids, of []int
}

func (w *wordsGolden) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&w.words, &w.ids, &w.of})
}

func readGolden(t testing.TB) (g golden) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestGolden compares tokens with those of the original library, for each kind of tokenizer and text.
func TestGolden(t *testing.T) {
	g := readGolden(t)
	if len(g.Tokenizers) < 24 || len(g.Texts) < 33 {
		t.Fatalf("%d tokenizers, %d texts", len(g.Tokenizers), len(g.Texts))
	}
	for name, file := range g.Tokenizers {
		t.Run(name, func(t *testing.T) {
			tok, err := token.Parse(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range g.Texts {
				if got := tok.Encode(s, 0).IDs; !slices.Equal(got, g.IDs[name][i]) {
					t.Errorf("%q: got %v, want %v", s, got, g.IDs[name][i])
				}
			}
			list := g.Words[name]
			if len(list) < 25 {
				t.Fatalf("words of %d texts", len(list))
			}
			for i, w := range list {
				limit := 0
				if i >= len(list)-2 {
					limit = 7
				}
				if e := tok.EncodeWords(w.words, limit); !slices.Equal(e.IDs, w.ids) || !slices.Equal(e.Words, w.of) {
					t.Errorf("%q: got %v of %v, want %v of %v", w.words, e.IDs, e.Words, w.ids, w.of)
				}
			}
			for i, p := range g.Pairs {
				e := tok.EncodePair(p[0], p[1], 0)
				if want := g.Two[name][i]; !slices.Equal(e.IDs, want[0]) || !slices.Equal(e.Types, want[1]) {
					t.Errorf("%q: got %v, want %v", p, e, want)
				}
				one, two := tok.Encode(p[0], 7), tok.EncodePair(p[0], p[1], 7)
				if want := g.Cut[name][i]; want[0] != nil && !slices.Equal(one.IDs, want[0]) || want[1] != nil && !slices.Equal(two.IDs, want[1]) {
					t.Errorf("%q cut to 7: got %v and %v, want %v", p, one.IDs, two.IDs, want)
				}
			}
		})
	}
}
