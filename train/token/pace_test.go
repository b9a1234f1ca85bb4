package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"golang.org/x/text/unicode/norm"
)

// endsAfter is a context that ends after a number of looks.
func endsAfter(t *testing.T, looks int) *kerneltest.EndsAfter {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &kerneltest.EndsAfter{Context: ctx, Left: looks}
}

// TestEncodingLooks: a long text has the same tokens with a context, at which each kind of tokenizer looks in proportion to the text, and with which it ends.
func TestEncodingLooks(t *testing.T) {
	var g struct{ Tokenizers map[string]json.RawMessage }
	b, err := os.ReadFile(filepath.Join("testdata", "golden.json"))
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	short := strings.Repeat("The cat's  a ① café, and 12 世界! ", 100)
	long := strings.Repeat(short, 4)
	for name, file := range g.Tokenizers {
		tok, err := Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		looks := func(s string) int {
			ctx := endsAfter(t, 1<<30)
			e, err := tok.EncodeUntil(ctx, s, 0)
			if err != nil || !reflect.DeepEqual(e, tok.Encode(s, 0)) {
				t.Fatalf("%s: %d tokens with a context, %v", name, len(e.IDs), err)
			}
			return 1<<30 - ctx.Left
		}
		few, many := looks(short), looks(long)
		if few < 3 || many < 2*few {
			t.Errorf("%s: %d looks, %d for four times the text", name, few, many)
		}
		for left := 0; left < many; left += max(1, many/5) {
			if e, err := tok.EncodeUntil(endsAfter(t, left), long, 0); !errors.Is(err, context.Canceled) || e.IDs != nil {
				t.Errorf("%s: ended at look %d of %d: %d tokens, %v", name, left, many, len(e.IDs), err)
			}
		}
		pair, err := tok.EncodePairUntil(t.Context(), "a cat", "the", 0)
		if err != nil || !reflect.DeepEqual(pair, tok.EncodePair("a cat", "the", 0)) {
			t.Errorf("%s: %v, %v", name, pair, err)
		}
		words := strings.Fields(short)
		of, err := tok.EncodeWordsUntil(t.Context(), words, 0)
		if err != nil || !reflect.DeepEqual(of, tok.EncodeWords(words, 0)) {
			t.Errorf("%s: words %v", name, err)
		}
		if _, err := tok.EncodeWordsUntil(endsAfter(t, 2), slices.Repeat(words, 4), 0); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, words: %v", name, err)
		}
	}
}

// TestStagesLook: each loop over a text, over its words or over a vocabulary looks at the context.
func TestStagesLook(t *testing.T) {
	const n = 6 * between
	letters, words := strings.Repeat("a", n), strings.Repeat("a é", n)
	ids, counts, texts, at := map[string]int{}, map[string]int{}, []string{}, [][2]int{}
	list, tokens := [][2]any{}, []addedToken{}
	for i := range n {
		s := fmt.Sprint(i)
		ids[s], counts[s], texts = i, 1, append(texts, "a")
		list, tokens = append(list, [2]any{s, -1.0}), append(tokens, addedToken{Content: s})
		at = append(at, [2]int{i, i + 1})
	}
	ids["a"], ids["aa"] = n, n+1
	vocab, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	pairs := &bpe{ids: ids, merges: map[[2]int]merge{{n, n}: {0, n + 1}}}
	one, _, err := newUnigram(nil, json.RawMessage(`[["a",-1],["<0x61>",0]]`), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	find, err := pattern{Regex: new(string)}.compile()
	if err != nil {
		t.Fatal(err)
	}
	endless, err := expression(`a.*z|a`)
	if err != nil {
		t.Fatal(err)
	}
	unfound, err := expression(`a.*z`)
	if err != nil {
		t.Fatal(err)
	}
	charsmap := &precompiled{units: []uint32{0}}
	for name, f := range map[string]func(p *pace){
		"lower case":    func(p *pace) { eachRune(lower)(p, words) },
		"NFD":           func(p *pace) { form(norm.NFD)(p, words) },
		"precompiled":   func(p *pace) { charsmap.normalize(p, words) },
		"replaced":      func(p *pace) { replaced(p, letters, at, "b") },
		"trimmed":       func(p *pace) { added{'x': {{Content: "x", Left: true}}}.cut(p, strings.Repeat(" ", n)+"x", none) },
		"behave":        func(p *pace) { behave(p, letters, at, "Isolated", false) },
		"characters":    func(p *pace) { runes(p, words, unicode.IsLetter) },
		"empty matches": func(p *pace) { find(p, letters) },
		"matches":       func(p *pace) { endless(p, letters[:200]) },
		"a long match":  func(p *pace) { unfound(p, letters) },
		"text":          func(p *pace) { finderOf(t, "a")(p, letters) },
		"words":         func(p *pace) { splitterOf(t, `{"type":"WhitespaceSplit"}`)(p, []string{words}, true) },
		"parts":         func(p *pace) { splitterOf(t, `{"type":"WhitespaceSplit"}`)(p, texts, true) },
		"metaspace": func(p *pace) {
			splitterOf(t, `{"type":"Metaspace","prepend_scheme":"never","split":false}`)(p, texts, true)
		},
		"added tokens":     func(p *pace) { newAdded(p, tokens, eachRune(lower)) },
		"their search":     func(p *pace) { added{}.cut(p, letters, none) },
		"many to search":   func(p *pace) { added{'a': tokens}.cut(p, "a", none) },
		"BPE: characters":  func(p *pace) { pairs.characters(p, letters) },
		"BPE: merges":      func(p *pace) { pairs.join(p, nil, slices.Repeat([]int{n}, n)) },
		"unigram":          func(p *pace) { one.encode(p, nil, letters) },
		"unigram: unknown": func(p *pace) { one.encode(p, nil, strings.Repeat("b", n)) },
		"unigram: a vocab": func(p *pace) { _, _, _ = newUnigram(p, vocab, nil, false) },
		"bytes":            func(p *pace) { byteTokens(p, nil, map[string]int{"<0x61>": 1}, letters) },
		"lexicon":          func(p *pace) { newLexicon(p, ids, "") },
		"template":         func(p *pace) { template{single: []slot{{}}}.apply(p, 0, make([]int, n)) },
		"JSON":             func(p *pace) { depth(p, []byte(letters)) },
		"CoNLL":            func(p *pace) { _, _ = parseConll(p, []byte(strings.Repeat("a b\n", n/2)), false) },
		"counts":           func(p *pace) { _, _ = wordCounts(p, slices.Values(texts), nil) },
		"pairs":            func(p *pace) { _, _, _ = learnPairs(p, counts, 60) },
		"wordPiece": func(p *pace) {
			wordPiece{newLexicon(nil, ids, ""), newLexicon(nil, ids, ""), 0, n}.encode(p, nil, letters)
		},
		"merges of a model": func(p *pace) { _, _ = newBPE(p, json.RawMessage("["+strings.Repeat(`"a a",`, n)+`"a a"]`), *pairs) },
	} {
		ctx := endsAfter(t, 1<<30)
		f(&pace{ctx: ctx, left: between})
		if looks := 1<<30 - ctx.Left; looks < 3 {
			t.Errorf("%s: %d looks", name, looks)
		}
		if err := until(endsAfter(t, 2), f); err != context.Canceled {
			t.Errorf("%s, ended after two looks: %v", name, err)
		}
	}
}

func none(string, int) {}

func finderOf(t *testing.T, s string) finder {
	find, err := pattern{String: &s}.compile()
	if err != nil {
		t.Fatal(err)
	}
	return find
}

func splitterOf(t *testing.T, file string) splitter {
	split, err := newSplitter(json.RawMessage(file))
	if err != nil {
		t.Fatal(err)
	}
	return split
}

// TestBlocks: what is converted in blocks is what it is at once, wherever characters and their accents are cut.
func TestBlocks(t *testing.T) {
	p := &pace{ctx: t.Context()}
	for _, s := range []string{"a", "é", "e\u0301", "世", "\u1100\u1161\u11a8", "e\u0301\u0323\u0302", "\u0345\u03b1", "\U0001d15e", "\u0f73\u0301"} {
		text := "x" + strings.Repeat(s, block*5/4/len(s))
		for name, f := range map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD} {
			if form(f)(p, text) != f.String(text) {
				t.Errorf("%s of many %q", name, s)
			}
		}
		if p.inBlocks(text, strings.ToUpper) != strings.ToUpper(text) {
			t.Errorf("capitals of many %q", s)
		}
	}
}

// TestLoadingEnds: reading a tokenizer, learning one and reading words end with their context.
func TestLoadingEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "words.conll")
	if err := os.WriteFile(path, []byte("a b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	file := []byte(`{"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}`)
	texts := func(yield func(string) bool) {
		for yield("ab ac") {
		}
	}
	for name, f := range map[string]func(ctx context.Context) error{
		"Parse":     func(ctx context.Context) error { _, err := ParseUntil(ctx, file); return err },
		"Load":      func(ctx context.Context) error { _, err := LoadUntil(ctx, path); return err },
		"ReadConll": func(ctx context.Context) error { _, err := ReadConllUntil(ctx, path); return err },
		"Learn":     func(ctx context.Context) error { _, err := LearnUntil(ctx, texts, 100, false); return err },
	} {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{ended, endsAfter(t, 0)} {
			if name == "Load" && ctx != ended {
				continue // it is not a tokenizer
			}
			if err := f(ctx); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "token: ") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := f(nil); err == nil || !strings.Contains(err.Error(), "the context is nil") {
			t.Errorf("%s without a context: %v", name, err)
		}
	}
}
