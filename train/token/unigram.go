package token

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram divides a text into the tokens with the largest product of probabilities (Kudo, 2018), by the Viterbi algorithm.
type unigram struct {
	ids     map[string]int
	tokens  *lexicon
	score   []float64 // logarithms of probabilities
	unk     int       // −1: none
	penalty float64   // score of an unknown character
	bytes   bool      // unknown characters become tokens of their bytes
}

// newUnigram reads a list of tokens with their scores.
func newUnigram(p *pace, b json.RawMessage, unk *int, bytes bool) (model, map[string]int, error) {
	var list [][2]any
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, nil, fmt.Errorf("model Unigram: vocab: %w", err)
	}
	m := &unigram{ids: map[string]int{}, unk: -1, bytes: bytes}
	least := math.Inf(1)
	for i, item := range list {
		p.did(8)
		s, text := item[0].(string)
		x, number := item[1].(float64)
		if !text || !number {
			return nil, nil, fmt.Errorf("model Unigram: token %d is %v: want a text and a score", i, item)
		}
		if _, ok := m.ids[s]; !ok || s != "" {
			m.ids[s] = i
		}
		m.score = append(m.score, x)
		least = min(least, x)
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("model Unigram: the vocab is empty")
	}
	if unk != nil {
		if m.unk = *unk; *unk < 0 || *unk >= len(list) {
			return nil, nil, fmt.Errorf("model Unigram: the unk_id is %d, there are %d tokens", *unk, len(list))
		}
	}
	m.penalty, m.tokens = least-10, newLexicon(p, m.ids, "")
	return m, m.ids, nil
}

func (m *unigram) encode(p *pace, to []int, word string) []int {
	type step struct {
		from, id int
		score    float64
	}
	best := make([]step, len(word)+1)
	for i := range best {
		p.did(1)
		best[i].from = -1
	}
	best[0].from = 0
	better := func(at, from, id int, score float64) {
		if s := best[from].score + score; best[at].from < 0 || s > best[at].score {
			best[at] = step{from, id, s}
		}
	}
	for i := 0; i < len(word); {
		p.did(1)
		_, n := utf8.DecodeRuneInString(word[i:])
		m.tokens.each(p, word[i:], func(n, id int) { better(i+n, i, id, m.score[id]) })
		better(i+n, i, -1, m.penalty) // worse than any token
		i += n
	}
	var back []step
	var ends []int
	for at := len(word); at > 0; at = best[at].from {
		p.did(1)
		back, ends = append(back, best[at]), append(ends, at)
	}
	for k := len(back) - 1; k >= 0; k-- {
		p.did(1)
		if id := back[k].id; id >= 0 && id != m.unk {
			to = append(to, id)
			continue
		}
		from := back[k].from // adjacent unknown characters become one token
		for k > 0 && (back[k-1].id < 0 || back[k-1].id == m.unk) {
			k--
			p.did(1)
		}
		if id, ok := m.ids[word[from:ends[k]]]; ok { // the text is the unknown token's own
			to = append(to, id)
			continue
		}
		if m.bytes {
			if list, ok := byteTokens(p, to, m.ids, word[from:ends[k]]); ok {
				to = list
				continue
			}
		}
		if m.unk >= 0 {
			to = append(to, m.unk)
		}
	}
	return to
}
