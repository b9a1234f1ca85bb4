package token

import (
	"bytes"
	"slices"
	"strings"
)

// lexicon finds the tokens that a text begins with. It is a trie: a node continues the token of another one by its edge, and the children of
// node k, which differ in the first byte of theirs, are from child[k] to child[k+1].
type lexicon struct {
	edge  []string
	first []byte // of the edges
	id    []int  // −1: of no token
	child []int
}

// newLexicon returns a lexicon of the tokens that begin with prefix, without it.
func newLexicon(ids map[string]int, prefix string) *lexicon {
	var tokens []string
	for s := range ids {
		if rest, ok := strings.CutPrefix(s, prefix); ok && rest != "" {
			tokens = append(tokens, rest)
		}
	}
	slices.Sort(tokens)
	l := &lexicon{edge: []string{""}, first: []byte{0}, id: []int{-1}}
	type part struct{ from, to, depth int } // tokens that begin with those of a node, which has depth bytes
	parts := []part{{0, len(tokens), 0}}
	for k := 0; k < len(parts); k++ {
		l.child = append(l.child, len(parts))
		p := parts[k]
		if p.from < p.to && len(tokens[p.from]) == p.depth { // the node's own
			p.from++
		}
		for p.from < p.to {
			head := tokens[p.from]
			end := p.from + 1
			for end < p.to && tokens[end][p.depth] == head[p.depth] {
				end++
			}
			n := p.depth + 1
			for last := tokens[end-1]; n < min(len(head), len(last)) && head[n] == last[n]; {
				n++
			}
			id := -1
			if n == len(head) {
				id = ids[prefix+head]
			}
			l.edge, l.first, l.id = append(l.edge, head[p.depth:n]), append(l.first, head[p.depth]), append(l.id, id)
			parts = append(parts, part{p.from, end, n})
			p.from = end
		}
	}
	l.child = append(l.child, len(parts))
	return l
}

// each calls f for each token that text begins with, shorter ones first: with its number of bytes and its ID.
func (l *lexicon) each(text string, f func(n, id int)) {
	for i, k := 0, 0; i < len(text); {
		at := l.child[k]
		if k = bytes.IndexByte(l.first[at:l.child[k+1]], text[i]); k < 0 {
			return
		}
		k += at
		if !strings.HasPrefix(text[i:], l.edge[k]) {
			return
		}
		if i += len(l.edge[k]); l.id[k] >= 0 {
			f(i, l.id[k])
		}
	}
}
