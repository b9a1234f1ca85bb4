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
func newLexicon(p *pace, ids map[string]int, prefix string) *lexicon {
	var tokens []string
	for s := range ids {
		p.did(4)
		if rest, ok := strings.CutPrefix(s, prefix); ok && rest != "" {
			tokens = append(tokens, rest)
		}
	}
	slices.SortFunc(tokens, p.compare)
	l := &lexicon{edge: []string{""}, first: []byte{0}, id: []int{-1}}
	type part struct{ from, to, depth int } // tokens that begin with those of a node, which has depth bytes
	parts := []part{{0, len(tokens), 0}}
	for k := 0; k < len(parts); k++ {
		l.child = append(l.child, len(parts))
		x := parts[k]
		if x.from < x.to && len(tokens[x.from]) == x.depth { // the node's own
			x.from++
		}
		for x.from < x.to {
			head := tokens[x.from]
			end := x.from + 1
			for end < x.to && tokens[end][x.depth] == head[x.depth] {
				end++
			}
			p.did(8 + end - x.from)
			n := x.depth + 1
			for last := tokens[end-1]; n < min(len(head), len(last)) && head[n] == last[n]; {
				n++
			}
			id := -1
			if n == len(head) {
				id = ids[prefix+head]
			}
			l.edge, l.first, l.id = append(l.edge, head[x.depth:n]), append(l.first, head[x.depth]), append(l.id, id)
			parts = append(parts, part{x.from, end, n})
			x.from = end
		}
	}
	l.child = append(l.child, len(parts))
	return l
}

// each calls f for each token that text begins with, shorter ones first: with its number of bytes and its ID.
func (l *lexicon) each(p *pace, text string, f func(n, id int)) {
	for i, k := 0, 0; i < len(text); {
		at := l.child[k]
		if k = bytes.IndexByte(l.first[at:l.child[k+1]], text[i]); k < 0 {
			return
		}
		k += at
		p.did(1 + len(l.edge[k])/16)
		if !strings.HasPrefix(text[i:], l.edge[k]) {
			return
		}
		if i += len(l.edge[k]); l.id[k] >= 0 {
			f(i, l.id[k])
		}
	}
}
