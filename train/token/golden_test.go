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

// Tokens are those of the original library, one by one, for each kind of tokenizer and text.
func TestGolden(t *testing.T) {
	g := readGolden(t)
	if len(g.Tokenizers) < 16 || len(g.Texts) < 30 {
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
			for i, p := range g.Pairs {
				e := tok.EncodePair(p[0], p[1], 0)
				if want := g.Two[name][i]; !slices.Equal(e.IDs, want[0]) || !slices.Equal(e.Types, want[1]) {
					t.Errorf("%q: got %v, want %v", p, e, want)
				}
				one, two := tok.Encode(p[0], 7), tok.EncodePair(p[0], p[1], 7)
				if want := g.Cut[name][i]; !slices.Equal(one.IDs, want[0]) || !slices.Equal(two.IDs, want[1]) {
					t.Errorf("%q cut to 7: got %v and %v, want %v", p, one.IDs, two.IDs, want)
				}
			}
		})
	}
}
