package token_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/token"
)

// TestLearn checks that frequent strings are tokens; other texts, of any script, are tokens of bytes.
func TestLearn(t *testing.T) {
	texts := slices.Repeat([]string{"The weather is lovely", "the weather was lovely, the food wasn't", "Überall schönes Wetter 👍🏽"}, 3)
	tok, err := token.Learn(slices.Values(texts), 1100, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := tok.Size(); n < 260 || n > 1100 {
		t.Errorf("%d tokens", n)
	}
	e := tok.Encode("THE WEATHER", 0)
	the, ok := tok.ID("Ġthe")
	weather, too := tok.ID("Ġweather")
	if want := []int{2, the, weather, 3}; !ok || !too || !slices.Equal(e.IDs, want) {
		t.Errorf("got %v, want %v", e.IDs, want)
	}
	if pad, _, _ := tok.Pad(); pad != 0 {
		t.Errorf("filled up with %d", pad)
	}
	for _, s := range []string{"素晴らしい", "café \u0000 Ж", ""} {
		if e := tok.Encode(s, 0); slices.Contains(e.IDs, 1) || len(e.IDs) < 2 {
			t.Errorf("%q: %v", s, e.IDs)
		}
	}
	if e := tok.EncodePair("the", "food", 0); !slices.Equal(e.Types, append([]int{0, 0, 0}, slices.Repeat([]int{1}, len(e.IDs)-3)...)) {
		t.Errorf("types %v of %v", e.Types, e.IDs)
	}
	again, err := token.Parse(tok.JSON())
	if err != nil || !slices.Equal(again.Encode(texts[2], 0).IDs, tok.Encode(texts[2], 0).IDs) {
		t.Errorf("as a file: %v", err)
	}
}

// TestLearnFew checks that with few tokens the alphabet is that of the texts, and that case is kept if requested.
func TestLearnFew(t *testing.T) {
	tok, err := token.Learn(slices.Values([]string{"ab ab AB", "ab"}), 12, false)
	if err != nil {
		t.Fatal(err)
	}
	if n := tok.Size(); n != 11 { // 4, A, B, a, b, Ġ; ab, Ġab; AB comes once
		t.Errorf("%d tokens: %s", n, tok.JSON())
	}
	if got := tok.Encode("ab AB z", 0).IDs; !slices.Equal(got, []int{2, 10, 8, 4, 5, 8, 1, 3}) {
		t.Errorf("got %v", got)
	}
	for size := 9; size <= 11; size++ {
		if tok, err := token.Learn(slices.Values([]string{"ab ab AB", "ab"}), size, false); err != nil || tok.Size() != size {
			t.Errorf("%d tokens for %d: %v", tok.Size(), size, err)
		}
	}
	for second := range strings.SplitSeq("bcdefghi", "") { // of pairs that come as often, the first
		same, err := token.Learn(slices.Values([]string{strings.Repeat("ab ac ad ae af ag ah ai ", 2)}), 4+10+1+int(second[0]-'a'), false)
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := same.ID("Ġa" + second); !ok || id != same.Size()-1 {
			t.Errorf("Ġa%s is %d of %d tokens", second, id, same.Size())
		}
	}
	_, err = token.Learn(slices.Values([]string{"abc"}), 7, true)
	if want := "token: 7 tokens are too few: the texts have 4 different bytes, and there are 4 special tokens"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	empty, err := token.Learn(slices.Values([]string(nil)), 2000, true)
	if err != nil || empty.Size() != 260 || len(empty.Encode("xxxxxxxxx", 0).IDs) != 12 {
		t.Errorf("of no text: %v", err)
	}
}
