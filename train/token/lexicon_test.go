package token

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestLexicon compares the tokens that random texts begin with to those found one by one.
func TestLexicon(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(most int) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = "\x00ab\xff"[r.IntN(4)]
		}
		return string(b)
	}
	for range 2000 {
		ids := map[string]int{}
		for range r.IntN(30) {
			ids[text(6)] = len(ids)
		}
		prefix, s := text(2), text(8)
		var got, want []string
		newLexicon(nil, ids, prefix).each(nil, s, func(n, id int) { got = append(got, fmt.Sprint(n, id)) })
		for n := range len(s) {
			if id, ok := ids[prefix+s[:n+1]]; ok {
				want = append(want, fmt.Sprint(n+1, id))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q after %q of %v: %v, want %v", s, prefix, ids, got, want)
		}
	}
}

// TestLongWords: the time to encode a word is not quadratic in its length, nor in that of the longest token.
func TestLongWords(t *testing.T) {
	const n = 200_000
	long := strings.Repeat("a", 5000)
	for name, c := range map[string]struct {
		model, text string
		tokens      int
	}{
		"WordPiece": {`"WordPiece","unk_token":"?","max_input_chars_per_word":1000000,"vocab":{"?":0,"a":1,"##a":2,"##aab":3}`, strings.Repeat("a", n), n},
		"Unigram":   {`"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["` + long + `",-2]]`, strings.Repeat("a", n), n / 5000},
		"unknown":   {`"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["` + long + `",-2]]`, strings.Repeat("b", n), 1},
	} {
		k, err := Parse([]byte(`{"model":{"type":` + c.model + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(k.Encode(c.text, 0).IDs); got != c.tokens {
			t.Errorf("%s: %d tokens, want %d", name, got, c.tokens)
		}
	}
}
