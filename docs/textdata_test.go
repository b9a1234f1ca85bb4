package docs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

var reviewWords = strings.Fields("[PAD] [UNK] [CLS] [SEP] the film book play meal was not wonderful great lovely terrible dull awful ! . , and service fast")

// reviews writes a table of texts and what is thought of them, the same as JSON lines, and a tokenizer.
func reviews(t *testing.T, dir, name string, rows int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var b, lines strings.Builder
	b.WriteString("id,sentence,label\n")
	for i := range rows {
		good, not := r.IntN(2) == 0, r.IntN(3) == 0
		words := reviewWords[11:14]
		if !good {
			words = reviewWords[14:17]
		}
		s := "The " + reviewWords[5+r.IntN(4)] + " was "
		if not {
			s += "not "
		}
		s += words[r.IntN(3)] + []string{"!", ".", ", and the service was fast."}[r.IntN(3)]
		label := "bad"
		if good != not {
			label = "good"
		}
		fmt.Fprintf(&b, "%d,\"%s\",%s\n", i, s, label)
		fmt.Fprintf(&lines, "{\"sentence\":%q,\"label\":%q}\n", s, label)
	}
	vocab := map[string]int{}
	for i, w := range reviewWords {
		vocab[w] = i
	}
	tok, err := json.Marshal(map[string]any{
		"added_tokens":   []any{map[string]any{"id": 0, "content": "[PAD]", "special": true}},
		"normalizer":     map[string]any{"type": "BertNormalizer"},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
		"post_processor": map[string]any{"type": "BertProcessing", "sep": []any{"[SEP]", 3}, "cls": []any{"[CLS]", 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{name + ".csv": b.String(), name + ".jsonl": lines.String(), "tokenizer.json": string(tok)} {
		write(t, filepath.Join(dir, path), content)
	}
}

// sentences writes words, one on each line, with what they are, which depends on the words around; the same as JSON lines; and a tokenizer that
// cuts names into pieces.
func sentences(t *testing.T, dir, name string, rows int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	pieces := strings.Fields("ka lo mi ra ten vor sel du pan ori")
	made := func() string {
		s := ""
		for range 2 + r.IntN(2) {
			s += pieces[r.IntN(len(pieces))]
		}
		return strings.ToUpper(s[:1]) + s[1:]
	}
	var b, lines strings.Builder
	b.WriteString("-DOCSTART- -X- O\n\n")
	for range rows {
		var words, tags []string
		add := func(tag string, list ...string) {
			for _, w := range list {
				words, tags = append(words, w), append(tags, tag)
			}
		}
		switch r.IntN(3) {
		case 0:
			add("person", made())
			add("other", "lives", "in")
			add("place", made())
		case 1:
			add("other", "nobody", "in")
			add("place", made())
			add("other", "knows")
			add("person", made())
		default:
			add("other", "yesterday")
			add("person", made())
			add("other", "met")
			add("person", made())
		}
		add("other", ".")
		for i, w := range words {
			fmt.Fprintf(&b, "%s X %s\n", w, tags[i])
		}
		b.WriteString("\n")
		line, err := json.Marshal(map[string]any{"words": words, "tags": tags})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", line)
	}
	vocab := map[string]int{}
	add := func(list ...string) {
		for _, w := range list {
			vocab[w] = len(vocab)
		}
	}
	add("[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", "lives", "in", "nobody", "knows", "yesterday", "met")
	for _, p := range pieces {
		add(p, "##"+p)
	}
	tok, err := json.Marshal(map[string]any{
		"normalizer":     map[string]any{"type": "BertNormalizer"},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": vocab},
		"post_processor": map[string]any{"type": "BertProcessing", "sep": []any{"[SEP]", 3}, "cls": []any{"[CLS]", 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{name + ".conll": b.String(), name + ".jsonl": lines.String(), "names.json": string(tok)} {
		write(t, filepath.Join(dir, path), content)
	}
}
