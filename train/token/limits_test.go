package token

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
)

// The ends of the blocks of ideographs that BERT's tokenizer names, and what is beside them.
func TestIdeographs(t *testing.T) {
	for _, r := range []rune{0x4e00, 0x9fff, 0x3400, 0x4dbf, 0x20000, 0x2a6df, 0x2a700, 0x2b73f, 0x2b740, 0x2b81f, 0x2b920, 0x2ceaf, 0xf900, 0xfaff, 0x2f800, 0x2fa1f, '中'} {
		if !chinese(r) {
			t.Errorf("%#x is none", r)
		}
	}
	for _, r := range []rune{0x4dff, 0xa000, 0x33ff, 0x4dc0, 0x1ffff, 0x2a6e0, 0x2a6ff, 0x2b820, 0x2b91f, 0x2ceb0, 0xf8ff, 0xfb00, 0x2f7ff, 0x2fa20, 'a', 'あ', '한'} {
		if chinese(r) {
			t.Errorf("%#x is one", r)
		}
	}
}

// TestFit checks truncation of a pair to a common length: the longer text to what the shorter leaves,
// or both to halves, rounded up for the second if they are of equal length.
func TestFit(t *testing.T) {
	for _, c := range []struct{ a, b, room, wantA, wantB int }{
		{3, 3, 6, 3, 3}, {3, 3, 5, 2, 3}, {3, 4, 6, 3, 3}, {2, 9, 6, 2, 4}, {9, 2, 6, 4, 2}, {9, 9, 6, 3, 3}, {9, 8, 7, 4, 3}, {8, 9, 7, 3, 4}, {3, 9, 6, 3, 3}, {4, 9, 6, 3, 3}, {0, 9, 6, 0, 6}, {1, 1, 0, 0, 0}, {2, 2, 9, 2, 2}, {3, 3, 7, 3, 3},
	} {
		texts := [][]int{make([]int, c.a), make([]int, c.b)}
		if (template{}).fit(texts, c.room); len(texts[0]) != c.wantA || len(texts[1]) != c.wantB {
			t.Errorf("%d and %d in %d: %d and %d, want %d and %d", c.a, c.b, c.room, len(texts[0]), len(texts[1]), c.wantA, c.wantB)
		}
	}
	for room, want := range map[int]int{3: 3, 5: 5, 9: 5, 0: 0} {
		texts := [][]int{make([]int, 5)}
		if (template{}).fit(texts, room); len(texts[0]) != want {
			t.Errorf("5 in %d: %d", room, len(texts[0]))
		}
	}
}

// TestMetaspace checks that spaces are replaced, and that words begin with the replacement.
func TestMetaspace(t *testing.T) {
	for _, c := range []struct {
		by, scheme string
		split      bool
		parts      string
		first      bool
		want       string
	}{
		{"", "always", true, "a b  c", true, "▁a|▁b|▁|▁c"}, {"_", "always", true, "a b", false, "_a|_b"}, {"_", "first", true, "a|b", true, "_a|b"}, {"_", "first", true, "a|b", false, "a|b"}, {"_", "never", true, "a b", true, "a|_b"},
		{"_", "always", false, "a b|c", true, "_a_b|_c"}, {"_", "always", true, " a", true, "_a"}, {"__", "never", true, "a b c", true, "a|__b|__c"},
	} {
		f, err := metaspace(c.by, c.scheme, c.split)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f(nil, strings.Split(c.parts, "|"), c.first), "|"); got != c.want {
			t.Errorf("%q %s: %q, want %q", c.by, c.scheme, got, c.want)
		}
	}
	if _, err := metaspace("_", "often", true); err == nil || !strings.Contains(err.Error(), `the prepend_scheme "often" is not supported; there are always, first, never`) {
		t.Error(err)
	}
}

// TestPatterns checks matches of patterns, and the text between them.
func TestPatterns(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		p    pattern
		s    string
		want string
	}{
		{pattern{String: text("ab")}, "ababxab", "[[0 2] [2 4] [5 7]]"}, {pattern{String: text("a")}, "", "[]"}, {pattern{String: text("a")}, "b", "[]"},
		{pattern{Regex: text(`\s+(?!\S)|\s+`)}, "a   b  ", "[[1 3] [3 4] [5 7]]"}, {pattern{Regex: text(`\s+(?!\S)|\s+`)}, "a b", "[[1 2]]"}, {pattern{Regex: text(`\s+(?!\S)|\s+`)}, "a  b", "[[1 2] [2 3]]"},
		{pattern{Regex: text(`x*`)}, "axxb", "[[1 3]]"}, {pattern{Regex: text(`x*`)}, "éx", "[[2 3]]"}, {pattern{Regex: text(`^a$`)}, "a\na", "[[0 1] [2 3]]"},
	} {
		f, err := c.p.compile()
		if err != nil {
			t.Fatal(err)
		}
		at := f(nil, c.s)
		if got := fmt.Sprint(at); got != c.want {
			t.Errorf("%q: %s, want %s", c.s, got, c.want)
		}
	}
	for _, p := range []pattern{{}, {String: text("")}, {Regex: text("(")}} {
		if _, err := p.compile(); err == nil {
			t.Errorf("%+v is a pattern", p)
		}
	}
	for _, c := range []struct {
		at             [][2]int
		behavior, want string
	}{
		{nil, "Removed", "[]"}, {[][2]int{{0, 5}}, "Removed", "[abcde]"}, {[][2]int{{0, 1}, {2, 4}}, "Removed", "[a cd]"},
		{[][2]int{{2, 3}, {3, 5}}, "Removed", "[c de]"}, {[][2]int{{1, 2}, {2, 4}}, "Isolated", "[a b cd e]"},
		{[][2]int{{1, 2}, {2, 4}}, "MergedWithPrevious", "[a b cde]"}, {[][2]int{{1, 2}, {2, 4}}, "MergedWithNext", "[ab cd e]"},
		{[][2]int{{1, 2}, {2, 4}}, "Contiguous", "[a bcd e]"},
	} {
		if got := fmt.Sprint(behave(nil, "abcde", c.at, c.behavior, true)); got != c.want {
			t.Errorf("%s inverted at %v: %s, want %s", c.behavior, c.at, got, c.want)
		}
	}
	if got := fmt.Sprint(runes(nil, "aé中b", func(r rune) bool { return r > 127 })); got != "[[1 3] [3 6]]" {
		t.Error(got)
	}
}

// TestModelLimits checks invalid vocabularies and tries.
func TestModelLimits(t *testing.T) {
	m, ids, err := newUnigram(nil, json.RawMessage(`[["",0],["a",-1],["",-2],["a",-30],["bcd",-4]]`), nil, false)
	if err != nil || ids[""] != 0 || ids["a"] != 3 || ids["bcd"] != 4 {
		t.Errorf("%v, %v", ids, err)
	}
	if u := m.(*unigram); u.penalty != -40 || u.unk != -1 || len(u.score) != 5 {
		t.Errorf("penalty %v, unknown %d", u.penalty, u.unk)
	}
	number := func(n int) *int { return &n }
	for text, want := range map[string]string{`[]`: "the vocab is empty", `[["a","b"]]`: "token 0 is [a b]: want a text and a score", `[["a",1],[2,3]]`: "token 1 is [2 3]", `{}`: "vocab"} {
		if _, _, err := newUnigram(nil, json.RawMessage(text), nil, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for unk, ok := range map[int]bool{-1: false, 0: true, 1: true, 2: false} {
		if _, _, err := newUnigram(nil, json.RawMessage(`[["a",0],["b",0]]`), number(unk), false); (err == nil) != ok {
			t.Errorf("unk_id %d: %v", unk, err)
		}
	}
	trie := func(n uint32, more int) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, n), make([]byte, more)...)
	}
	for name, c := range map[string]struct {
		b  []byte
		ok bool
	}{
		"none": {nil, true}, "three bytes": {make([]byte, 3), false}, "a length alone": {trie(0, 0), false}, "one unit": {trie(4, 4), true}, "a unit cut off": {trie(4, 3), false}, "no whole unit": {trie(6, 8), false}, "too long": {trie(8, 4), false}, "texts": {trie(4, 9), true},
	} {
		if _, err := newPrecompiled(c.b); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAddedTokens checks that the longest matching added token is used, only between word boundaries
// if declared so, with the white space that it strips.
func TestAddedTokens(t *testing.T) {
	raw, done := newAdded(nil, []addedToken{
		{ID: 0, Content: "ab"}, {ID: 1, Content: "abc"}, {ID: 2, Content: "a"}, {ID: 3, Content: "cat", SingleWord: true}, {ID: 4, Content: "<l>", Left: true}, {ID: 5, Content: "<r>", Right: true},
		{ID: 6, Content: "X", Normalized: true}, {ID: 7, Content: ""},
	}, eachRune(strings.ToLower))
	for text, want := range map[string]string{
		"abcab": "1:abc 0:ab", "aab": "2:a 0:ab", "xabx": "-1:x 0:ab -1:x", "": "", "zz": "-1:zz",
		"cat": "3:cat", "b cat.": "-1:b  3:cat -1:.", "cats": "-1:c 2:a -1:ts", "bcat": "-1:bc 2:a -1:t", "cat_": "-1:c 2:a -1:t_", "cat cat": "3:cat -1:  3:cat", "écat": "-1:éc 2:a -1:t",
		"x  <l>  y": "-1:x 4:<l> -1:  y", "x  <r>  y": "-1:x   5:<r> -1:y", "  <l>": "4:<l>", "<r>  ": "5:<r>", "<r> \n<l>": "5:<r> 4:<l>", "x": "-1:x", "X": "-1:X",
	} {
		var got []string
		raw.cut(nil, text, func(part string, id int) { got = append(got, fmt.Sprintf("%d:%s", id, part)) })
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", text, s, want)
		}
	}
	if len(done) != 1 || done['x'][0].ID != 6 {
		t.Errorf("in normalized text: %v", done)
	}
	for text, want := range map[string]bool{"cat": true, " cat ": true, "acat": false, "cata": false, "1cat": false, "_cat": false, "-cat-": true, "cat\u200d": false, "\u0301cat": false} {
		i := strings.Index(text, "cat")
		if alone(text, i, i+3) != want {
			t.Errorf("%q has the word alone: %v", text, !want)
		}
	}
}

// TestByteLevel checks that bytes are mapped to printable characters, and that words are split as by GPT-2.
func TestByteLevel(t *testing.T) {
	for c, want := range map[byte]rune{'!': '!', 'a': 'a', '~': '~', ' ': 'Ġ', '\n': 'Ċ', 0: 'Ā', 0x7f: 'ġ', 0xa0: 'ł', 0xa1: '¡', 0xac: '¬', 0xad: 'Ń', 0xae: '®', 0xff: 'ÿ'} {
		if got := byteRune(c); got != want {
			t.Errorf("byte %#x is %c, want %c", c, got, want)
		}
	}
	for _, c := range []struct {
		prefix, split bool
		text, want    string
	}{
		{true, true, "it's a  dog", "Ġit|'s|Ġa|Ġ|Ġdog"}, {false, true, "it's 12é!", "it|'s|Ġ12|Ã©|!"}, {true, true, " x", "Ġx"}, {true, false, "a b", "ĠaĠb"}, {false, false, "a b", "aĠb"}, {true, true, "", ""},
	} {
		f, err := byteLevel(c.prefix, c.split)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f(nil, []string{c.text}, true), "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// The best way through a word by the sums of scores, unknown characters, and merges in their order.
func TestWaysThroughWords(t *testing.T) {
	list := json.RawMessage(`[["<u>",0],["a",-1],["b",-1.5],["ab",-2],["abc",-9],["c",-3],["é",-4],["<0xE4>",-9],["<0xB8>",-9],["<0xAD>",-9]]`)
	zero := 0
	for _, c := range []struct {
		bytes bool
		unk   *int
		word  string
		want  string
	}{
		{false, &zero, "ab", "[3]"}, {false, &zero, "abc", "[3 5]"}, {false, &zero, "é", "[6]"}, {false, &zero, "aéb", "[1 6 2]"}, {false, &zero, "axyb", "[1 0 2]"}, {false, &zero, "中", "[0]"}, {true, &zero, "中", "[7 8 9]"}, {true, &zero, "中x", "[0]"},
		{false, nil, "axb", "[1 2]"}, {false, &zero, "", "[]"}, {false, &zero, "x", "[0]"},
	} {
		m, _, err := newUnigram(nil, list, c.unk, c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(m.encode(nil, nil, c.word)); got != c.want {
			t.Errorf("%q: %s, want %s", c.word, got, c.want)
		}
	}
	if _, _, err := newUnigram(nil, json.RawMessage(`{"a":1}`), nil, false); err == nil || !strings.HasPrefix(err.Error(), "model Unigram: vocab: json") {
		t.Error(err)
	}
	tok, err := Parse([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"bc":4,"abc":5,"aa":6},"merges":["b c","a b","a bc","a a"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"a": "[0]", "ab": "[3]", "bc": "[4]", "abc": "[5]", "abab": "[3 3]", "aaa": "[6 0]", "aaaa": "[6 6]", "abcabc": "[5 5]", "cab": "[2 3]", "aab": "[0 3]", "bcbc": "[4 4]", "": "[]"} {
		if got := fmt.Sprint(tok.Encode(text, 0).IDs); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	alike, err := Parse([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"bc":3,"abc":0,"ab":4},"merges":["b c","a bc","a b"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(alike.Encode("abcabc", 0).IDs); got != "[0 0]" { // "a" and "abc" have the same id
		t.Errorf("tokens of one id: %s", got)
	}
	with, err := Parse([]byte(`{"added_tokens":[{"id":0,"content":"[A]"},{"id":1,"content":"[B]","normalized":true}],"model":{"type":"BPE","vocab":{"[A]":0,"[B]":1,"a":2},"merges":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(with.Encode("a[A]a[B]a", 0).IDs); got != "[2 0 2 1 2]" {
		t.Errorf("with added tokens: %s", got)
	}
	first, err := Parse([]byte(`{"added_tokens":[{"id":0,"content":"[A]","normalized":true}],"model":{"type":"BPE","vocab":{"[A]":0,"a":1},"merges":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(first.Encode("a[A]", 0).IDs); got != "[1 0]" {
		t.Errorf("with a normalized token of id 0: %s", got)
	}
	one := 1
	m, _, err := newUnigram(nil, json.RawMessage(`[["a",-1],["<u>",0]]`), &one, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.encode(nil, nil, "axa")); got != "[0 1 0]" {
		t.Errorf("a token of id 0: %s", got)
	}
	if _, err := Parse([]byte(`{"model":{"type":"BPE","vocab":{"a":0},"merges":5}}`)); err == nil || !strings.HasPrefix(err.Error(), "token: model BPE: merges: json: cannot unmarshal number") {
		t.Error(err)
	}
}

// TestHostileFiles checks files with unbounded nesting or replacements, and templates of one text that
// refer to a second one.
func TestHostileFiles(t *testing.T) {
	file := func(part, value string) []byte {
		return []byte(`{"model":{"type":"BPE","vocab":{"a":0,"[A]":1},"merges":[]},"added_tokens":[{"content":"a","normalized":true}],"` + part + `":` + value + `}`)
	}
	nested := func(list string, n int, inner string) string {
		return strings.Repeat(`{"type":"Sequence","`+list+`":[`, n) + inner + strings.Repeat(`]}`, n)
	}
	sequence := func(list string, n int, part string) string {
		return `{"type":"Sequence","` + list + `":[` + strings.Repeat(part+",", n-1) + part + `]}`
	}
	double := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	for _, c := range []struct{ part, value, want string }{
		{"normalizer", nested("normalizers", 15, `{"type":"NFC"}`), ""},
		{"normalizer", nested("normalizers", 16, `{"type":"NFC"}`), "token: it is nested more than 32 deep"},
		{"pre_tokenizer", nested("pretokenizers", 4000, `{"type":"Whitespace"}`), "token: it is nested more than 32 deep"},
		{"post_processor", nested("processors", 4000, `{"type":"ByteLevel"}`), "token: it is nested more than 32 deep"},
		{"normalizer", sequence("normalizers", 14, double), ""},
		{"normalizer", sequence("normalizers", 40, double), "token: the normalizer and the pre_tokenizer may make a text more than 16384 times as long"},
		{"normalizer", sequence("normalizers", 40, `{"type":"Replace","pattern":{"Regex":"."},"content":"aa"}`), "more than 16384 times as long"},
		{"normalizer", sequence("normalizers", 40, `{"type":"ByteLevel"}`), "more than 16384 times as long"},
		{"pre_tokenizer", sequence("pretokenizers", 40, `{"type":"Metaspace","replacement":"  ","split":false}`), "more than 16384 times as long"},
		{"post_processor", `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}}],"pair":[{"Sequence":{"id":"A"}},{"Sequence":{"id":"B"}}]}`, ""},
		{"post_processor", `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"B"}}],"pair":[]}`, `"single" has more than the sequence A, once`},
		{"post_processor", `{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}},{"Sequence":{"id":"A"}}],"pair":[]}`, `"single" has more than the sequence A, once`},
	} {
		tok, err := Parse(file(c.part, c.value))
		switch {
		case c.want == "" && err == nil:
			tok.Encode("a", 0)
			tok.EncodeWords([]string{"a", "a"}, 0)
		case c.want == "" || err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s %.80s: %v, want %s", c.part, c.value, err, c.want)
		}
	}
	defer budget.Limit(0)
	budget.Limit(1 << 20)
	if _, err := Parse([]byte(`{"model":{"type":"WordPiece","vocab":{"` + strings.Repeat("x", 500_000) + `":0},"unk_token":"x"}}`)); err == nil || !strings.Contains(err.Error(), "500061 bytes of JSON, decoded: takes 15") {
		t.Error("a long token:", err)
	}
	for text, want := range map[string]int{`1`: 0, `[]`: 1, `{"[[":"]\\"}`: 1, `{"a":["\"[",[{}]]}`: 4} {
		if got := depth(nil, []byte(text)); got != want {
			t.Errorf("%s is %d deep, want %d", text, got, want)
		}
	}
}

// What an error quotes of a file is shortened.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 3000)
	for _, text := range []string{
		`{"model":{"type":"` + long + `"}}`, `{"model":{"type":"BPE","vocab":{"a":0},"merges":["` + long + `"]}}`,
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"normalizer":{"type":"` + long + `"}}`,
		`{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(` + long + `"}}}`,
		`{"model":{"type":"BPE","vocab":{"a":` + strings.Repeat("9", 3000) + `},"merges":[]}}`,
	} {
		if _, err := Parse([]byte(text)); err == nil || len(err.Error()) > 700 {
			t.Errorf("%.60s: %.1000v", text, err)
		}
	}
}
