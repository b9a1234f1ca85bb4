package token

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// bpe merges the characters of a word pair by pair, in the order of the merges in training (Sennrich et al., 2016).
type bpe struct {
	ids            map[string]int
	merges         map[[2]int]merge
	unk            int // −1: none
	prefix, suffix string
	bytes          bool // unknown characters become tokens of their bytes
	fuse           bool // adjacent unknown characters become one token
	whole          bool // a word that is a token is not split
}

// merge is the index of a pair in the list of merges, and the id of the merged token.
type merge struct{ rank, id int }

// newBPE reads the merges: "a b", or ["a", "b"].
func newBPE(p *pace, b json.RawMessage, m bpe) (*bpe, error) {
	var pairs [][2]string
	if err := json.Unmarshal(b, &pairs); err != nil {
		var lines []string
		if err := json.Unmarshal(b, &lines); err != nil {
			return nil, fmt.Errorf("model BPE: merges: %w", err)
		}
		pairs = nil
		for i, line := range lines {
			p.did(4)
			first, second, ok := strings.Cut(line, " ")
			if !ok {
				return nil, fmt.Errorf("model BPE: merge %d is %q, want two tokens", i, line)
			}
			pairs = append(pairs, [2]string{first, second})
		}
	}
	m.merges = make(map[[2]int]merge, len(pairs))
	for i, x := range pairs {
		p.did(32)
		joined := x[0] + strings.TrimPrefix(x[1], m.prefix)
		var id [3]int
		for k, s := range []string{x[0], x[1], joined} {
			var ok bool
			if id[k], ok = m.ids[s]; !ok {
				return nil, fmt.Errorf("model BPE: merge %d has the token %q, which is not in the vocab", i, s)
			}
		}
		m.merges[[2]int{id[0], id[1]}] = merge{i, id[2]}
	}
	return &m, nil
}

func (m *bpe) encode(p *pace, to []int, word string) []int {
	if id, ok := m.ids[word]; ok && m.whole {
		return append(to, id)
	}
	return m.join(p, to, m.characters(p, word))
}

// characters returns the tokens of a word's characters.
func (m *bpe) characters(p *pace, word string) (ids []int) {
	unknown := false // whether the last token stands for unknown characters
	for i, r := range word {
		p.did(4)
		n := utf8.RuneLen(r)
		s := word[i : i+n]
		if i > 0 {
			s = m.prefix + s
		}
		if i+n == len(word) {
			s += m.suffix
		}
		if id, ok := m.ids[s]; ok {
			ids, unknown = append(ids, id), false
			continue
		}
		if m.bytes {
			if list, ok := byteTokens(p, ids, m.ids, s); ok {
				ids, unknown = list, false
				continue
			}
		}
		if m.unk >= 0 && !(m.fuse && unknown) {
			ids, unknown = append(ids, m.unk), true
		}
	}
	return ids
}

// join applies the merges, the earliest in the list first, and the same merge from left to right.
func (m *bpe) join(p *pace, to, ids []int) []int {
	next, prev := make([]int, len(ids)), make([]int, len(ids))
	var queue pairs
	offer := func(i int) {
		if i >= 0 && next[i] < len(ids) {
			if x, ok := m.merges[[2]int{ids[i], ids[next[i]]}]; ok {
				heap.Push(&queue, pair{x, i, ids[i], ids[next[i]]})
			}
		}
	}
	for i := range ids {
		p.did(1)
		next[i], prev[i] = i+1, i-1
	}
	for i := range ids {
		p.did(8)
		offer(i)
	}
	for queue.Len() > 0 {
		p.did(32)
		x := heap.Pop(&queue).(pair)
		j := next[x.at]
		if ids[x.at] != x.first || j >= len(ids) || ids[j] != x.second {
			continue // one of them has been merged since
		}
		ids[x.at], ids[j] = x.id, -1
		if next[x.at] = next[j]; next[j] < len(ids) {
			prev[next[j]] = x.at
		}
		offer(prev[x.at])
		offer(x.at)
	}
	for i := 0; i < len(ids); i = next[i] {
		p.did(1)
		to = append(to, ids[i])
	}
	return to
}

// pair is two adjacent tokens that a merge applies to.
type pair struct {
	merge
	at, first, second int
}

type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return p[i].rank < p[j].rank || p[i].rank == p[j].rank && p[i].at < p[j].at
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
