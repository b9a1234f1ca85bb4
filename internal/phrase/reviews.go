// Package phrase writes seeded texts for tests, with tokenizers for them: reviews that are good or bad, and sentences whose words
// have labels.
package phrase

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

var reviewWords = strings.Fields("[PAD] [UNK] [CLS] [SEP] the film book play meal was not wonderful great lovely terrible dull awful ! . , and service fast")

// ReviewTokens returns the size of the vocabulary of the tokenizer that Reviews writes.
func ReviewTokens() int { return len(reviewWords) }

// Reviews writes rows of short reviews, each labeled good or bad, as a table with the columns id, sentence and label to base.csv and
// as JSON lines to base.jsonl, and a WordPiece tokenizer for them.
func Reviews(base, tokenizer string, rows int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	var table, lines strings.Builder
	table.WriteString("id,sentence,label\n")
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
		fmt.Fprintf(&table, "%d,\"%s\",%s\n", i, s, label)
		fmt.Fprintf(&lines, "{\"sentence\":%q,\"label\":%q}\n", s, label)
	}
	padding := []any{map[string]any{"id": 0, "content": "[PAD]", "special": true}}
	return write(map[string]string{base + ".csv": table.String(), base + ".jsonl": lines.String()}, tokenizer, reviewWords, padding)
}

// write writes the files, and a WordPiece tokenizer with the vocabulary and added tokens.
func write(files map[string]string, tokenizer string, vocabulary []string, added []any) error {
	ids := map[string]int{}
	for i, w := range vocabulary {
		ids[w] = i
	}
	description := map[string]any{
		"normalizer":     map[string]any{"type": "BertNormalizer"},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "vocab": ids},
		"post_processor": map[string]any{"type": "BertProcessing", "sep": []any{"[SEP]", 3}, "cls": []any{"[CLS]", 2}},
	}
	if added != nil {
		description["added_tokens"] = added
	}
	text, err := json.Marshal(description)
	if err != nil {
		return err
	}
	files[tokenizer] = string(text)
	for path, content := range files {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
