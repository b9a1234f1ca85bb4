package phrase

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Sentences writes sentences whose words are labeled person, place or other, depending on the words around them, to base.conll, with
// a word on each line, and as JSON lines with words and tags to base.jsonl; and a WordPiece tokenizer that splits names into syllables.
func Sentences(base, tokenizer string, count int, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 1))
	syllables := strings.Fields("ka lo mi ra ten vor sel du pan ori")
	name := func() string {
		s := ""
		for range 2 + r.IntN(2) {
			s += syllables[r.IntN(len(syllables))]
		}
		return strings.ToUpper(s[:1]) + s[1:]
	}
	var conll, lines strings.Builder
	conll.WriteString("-DOCSTART- -X- O\n\n")
	for range count {
		var words, tags []string
		add := func(tag string, list ...string) {
			for _, w := range list {
				words, tags = append(words, w), append(tags, tag)
			}
		}
		switch r.IntN(3) {
		case 0:
			add("person", name())
			add("other", "lives", "in")
			add("place", name())
		case 1:
			add("other", "nobody", "in")
			add("place", name())
			add("other", "knows")
			add("person", name())
		default:
			add("other", "yesterday")
			add("person", name())
			add("other", "met")
			add("person", name())
		}
		add("other", ".")
		for i, w := range words {
			fmt.Fprintf(&conll, "%s X %s\n", w, tags[i])
		}
		conll.WriteString("\n")
		line, err := json.Marshal(map[string]any{"words": words, "tags": tags})
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s\n", line)
	}
	vocabulary := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", "lives", "in", "nobody", "knows", "yesterday", "met"}
	for _, s := range syllables {
		vocabulary = append(vocabulary, s, "##"+s)
	}
	return write(map[string]string{base + ".conll": conll.String(), base + ".jsonl": lines.String()}, tokenizer, vocabulary, nil)
}
