package token_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/token"
)

// TestRefused checks that unsupported features of a file are named when it is read.
func TestRefused(t *testing.T) {
	words := `"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}`
	for _, c := range []struct{ file, want string }{
		{`[]`, "token: not a tokenizer.json: json: cannot unmarshal array into Go value of type token.file"},
		{`{}`, `token: not a tokenizer.json: it has no "model"`},
		{`{"model":{"type":"Char"}}`, `token: the model is of type "Char", which is not supported; there are WordPiece, BPE, Unigram, WordLevel`},
		{`{"model":{"type":"WordPiece","vocab":{"a":0},"unk_token":"[UNK]"}}`, `token: model WordPiece: the unk_token "[UNK]" is not in the vocab`},
		{`{"model":{"type":"WordPiece","vocab":{"a":0}}}`, `token: model WordPiece: it has no unk_token`},
		{`{"model":{"type":"WordLevel","vocab":{}}}`, `token: model WordLevel: the vocab is empty`},
		{`{"model":{"type":"WordLevel","vocab":{"a":-1}}}`, `token: the token "a" has the negative id -1`},
		{`{"model":{"type":"BPE","vocab":{"a":0},"merges":["ab"]}}`, `token: model BPE: merge 0 is "ab", want two tokens`},
		{`{"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}}`, `token: model BPE: merge 0 has the token "ab", which is not in the vocab`},
		{`{"model":{"type":"Unigram","vocab":[["a"]]}}`, `token: model Unigram: token 0 is [a <nil>]: want a text and a score`},
		{`{"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":3}}`, `token: model Unigram: the unk_id is 3, there are 1 tokens`},
		{`{` + words + `,"normalizer":{"type":"Titlecase"}}`, `token: normalizer "Titlecase" is not supported; there are BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip, StripAccents`},
		{`{` + words + `,"normalizer":{"type":"Precompiled","precompiled_charsmap":"AAAA"}}`, `token: normalizer Precompiled: 3 bytes: too short`},
		{`{` + words + `,"pre_tokenizer":{"type":"UnicodeScripts"}}`, `token: pre_tokenizer "UnicodeScripts" is not supported; there are BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit`},
		{`{` + words + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a(?=b)"},"behavior":"Isolated"}}`, "token: pre_tokenizer Split: regular expression \"a(?=b)\": error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`{` + words + `,"normalizer":{"type":"Replace","pattern":{"Regex":"\\bA"},"content":""}}`, `token: normalizer Replace: regular expression "\\bA": \b, the end of a word, is not supported`},
		{`{` + words + `,"normalizer":{"type":"Replace","pattern":{"Regex":"[\\S]"},"content":""}}`, `token: normalizer Replace: regular expression "[\\S]": \S between brackets is not supported`},
		{`{` + words + `,"normalizer":{"type":"Replace","pattern":{"Regex":"[[:punct:]]"},"content":""}}`, `token: normalizer Replace: regular expression "[[:punct:]]": [: between brackets is not supported`},
		{`{` + words + `,"pre_tokenizer":{"type":"Split","pattern":{"Regex":"a"},"behavior":"Kept"}}`, `token: pre_tokenizer Split: the behavior "Kept" is not supported; there are Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous`},
		{`{` + words + `,"post_processor":{"type":"Other"}}`, `token: post_processor "Other" is not supported; there are BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing`},
		{`{` + words + `,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"[X]","type_id":0}}]}}`, `token: post_processor TemplateProcessing: the special token "[X]" has no id`},
		{`{` + words + `,"normalizer":{"type":"Replace","pattern":{"Regex":"[a-z&&[^b]]"},"content":""}}`, `token: normalizer Replace: regular expression "[a-z&&[^b]]": && between brackets is not supported`},
	} {
		if _, err := token.Parse([]byte(c.file)); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.file, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(path, []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := token.Load(path); err == nil || err.Error() != "token: "+path+`: not a tokenizer.json: it has no "model"` {
		t.Error(err)
	}
	if _, err := token.Load(path + "x"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// TestJSON checks that a stored tokenizer equals the one read from the file.
func TestJSON(t *testing.T) {
	g := readGolden(t)
	a, err := token.Parse(append([]byte(" \n"), g.Tokenizers["bert"]...))
	if err != nil {
		t.Fatal(err)
	}
	b, err := token.Parse(a.JSON())
	if err != nil {
		t.Fatal(err)
	}
	if s := "The [MASK] cat!"; !slices.Equal(a.Encode(s, 0).IDs, b.Encode(s, 0).IDs) || a.Size() != b.Size() || len(a.JSON()) > len(g.Tokenizers["bert"]) {
		t.Error("another tokenizer")
	}
	if id, typ, left := a.Pad(); id != 0 || typ != 0 || left {
		t.Error(id, typ, left)
	}
	if id, ok := a.ID("[SEP]"); id != 3 || !ok {
		t.Error(id, ok)
	}
}

// FuzzParse reads tokenizer.json of any bytes: what is read encodes a text to ids of its vocabulary.
func FuzzParse(f *testing.F) {
	for _, file := range readGolden(f).Tokenizers {
		if len(file) < 1<<16 {
			f.Add([]byte(file))
		}
	}
	f.Add([]byte(`{"model": {"type": "BPE", "vocab": {"a": 0, "b": -1, "ab": 9223372036854775807}, "merges": [["a", "b"], "a b"]}}`))
	f.Add([]byte(`{"model": {"type": "WordPiece", "vocab": {"a": 3, "##b": 3}, "unk_token": "x", "max_input_chars_per_word": -1}}`))
	f.Add([]byte(`{"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", -1e308], ["", 1]]}, "normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tok, err := token.Parse(b)
		if err != nil {
			if strings.Contains(err.Error(), "panic") {
				t.Fatal(err)
			}
			return
		}
		for _, id := range tok.Encode("The cat's a ① café ab", 16).IDs {
			if id < 0 || id >= tok.Size() {
				t.Fatalf("id %d of %d", id, tok.Size())
			}
		}
	})
}

// FuzzEncode checks that no text makes a tokenizer panic, and that ids are within the vocabulary.
func FuzzEncode(f *testing.F) {
	g := readGolden(f)
	var all []*token.Tokenizer
	for _, file := range g.Tokenizers {
		t, err := token.Parse(file)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, t)
	}
	f.Add("The \xff cat's\u200b \xe2\x96 ① café")
	f.Add("\u0130\u2581[MASK]the  \n x")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range all {
			for _, id := range append(tok.Encode(text, 0).IDs, tok.EncodePair(text, "x", 9).IDs...) {
				if id < 0 || id >= tok.Size() {
					t.Fatalf("id %d of %d", id, tok.Size())
				}
			}
		}
	})
}
