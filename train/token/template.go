package token

import (
	"encoding/json"
	"fmt"
)

// template has the special tokens around one text and around two.
type template struct {
	single, pair []slot
	left         bool   // truncate at the start
	strategy     string // which of two texts to truncate: OnlyFirst, OnlySecond, otherwise both
}

// slot is a text, by its number, or the id of a special token.
type slot struct{ text, id, typ int } // text −1: a token

// newTemplate reads the "post_processor" of a file; null adds nothing.
func newTemplate(b json.RawMessage, ids map[string]int) (t template, err error) {
	t = template{single: []slot{{0, 0, 0}}, pair: []slot{{0, 0, 0}, {1, 0, 1}}}
	kind, err := kindOf("post_processor", b)
	if err != nil || kind == "" {
		return t, err
	}
	type piece struct {
		Sequence *struct {
			ID   string
			Type int `json:"type_id"`
		}
		SpecialToken *struct {
			ID   string
			Type int `json:"type_id"`
		}
	}
	var c struct {
		List         []json.RawMessage `json:"processors"`
		Single, Pair []piece
		Sep, Cls     [2]any
		Special      map[string]struct{ IDs []int } `json:"special_tokens"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return t, fmt.Errorf("post_processor %s: %w", kind, err)
	}
	switch kind {
	case "ByteLevel":
		return t, nil
	case "Sequence":
		for _, b := range c.List {
			if k, _ := kindOf("post_processor", b); k == "ByteLevel" {
				continue
			}
			if t, err = newTemplate(b, ids); err != nil {
				return t, err
			}
		}
		return t, nil
	case "BertProcessing", "RobertaProcessing":
		sep, ok := c.Sep[1].(float64)
		cls, too := c.Cls[1].(float64)
		if !ok || !too {
			return t, fmt.Errorf("post_processor %s: want cls and sep as a token and its id", kind)
		}
		first, last := slot{-1, int(cls), 0}, slot{-1, int(sep), 0}
		t.single = []slot{first, {0, 0, 0}, last}
		if t.pair = []slot{first, {0, 0, 0}, last, {1, 0, 1}, {-1, int(sep), 1}}; kind == "RobertaProcessing" {
			t.pair = []slot{first, {0, 0, 0}, last, last, {1, 0, 0}, last}
		}
		return t, nil
	case "TemplateProcessing":
	default:
		return t, fmt.Errorf("post_processor %q is not supported; there are BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing", kind)
	}
	read := func(list []piece) (slots []slot, err error) {
		for _, p := range list {
			if s := p.Sequence; s != nil {
				n := 0
				if s.ID == "B" {
					n = 1
				}
				slots = append(slots, slot{n, 0, s.Type})
			} else if s := p.SpecialToken; s != nil {
				list := c.Special[s.ID].IDs
				if id, ok := ids[s.ID]; ok && list == nil {
					list = []int{id}
				}
				if list == nil {
					return nil, fmt.Errorf("post_processor TemplateProcessing: the special token %q has no id", s.ID)
				}
				for _, id := range list {
					slots = append(slots, slot{-1, id, s.Type})
				}
			}
		}
		return slots, nil
	}
	if t.single, err = read(c.Single); err != nil {
		return t, err
	}
	times := 0
	for _, s := range t.single {
		if s.text >= 0 {
			times++
		}
		if s.text > 0 || times > 1 {
			return t, fmt.Errorf("post_processor TemplateProcessing: \"single\" has more than the sequence A, once")
		}
	}
	t.pair, err = read(c.Pair)
	return t, err
}

// apply truncates texts to at most limit tokens in all, including the special tokens that it adds.
func (t template) apply(p *pace, limit int, texts ...[]int) (e Encoding) {
	slots := t.single
	if len(texts) > 1 {
		slots = t.pair
	}
	if limit > 0 {
		room := limit
		for _, s := range slots {
			if s.text < 0 {
				room--
			}
		}
		t.fit(texts, max(room, 0))
	}
	for _, s := range slots {
		list := []int{s.id}
		if s.text >= 0 {
			list = texts[s.text]
		}
		for _, id := range list {
			p.did(1)
			e.IDs, e.Types = append(e.IDs, id), append(e.Types, s.typ)
		}
	}
	return e
}

// fit truncates texts to room tokens in all: the one that the strategy names; otherwise the longer one to what the shorter leaves, or
// both to halves, rounded up for the longer one. A single text, and a text that is still too long, is always truncated.
func (t template) fit(texts [][]int, room int) {
	cut := func(i, n int) {
		n = min(max(n, 0), len(texts[i]))
		if t.left {
			texts[i] = texts[i][len(texts[i])-n:]
		} else {
			texts[i] = texts[i][:n]
		}
	}
	if len(texts) == 1 {
		cut(0, room)
		return
	}
	switch t.strategy {
	case "OnlyFirst":
		cut(0, room-len(texts[1]))
	case "OnlySecond":
		cut(1, room-len(texts[0]))
	}
	short, long := 0, 1
	if len(texts[0]) > len(texts[1]) {
		short, long = 1, 0
	}
	n := len(texts[short])
	if n+len(texts[long]) <= room {
		return
	}
	if 2*n > room {
		cut(short, room/2)
		cut(long, room/2+room%2)
		return
	}
	cut(long, room-n)
}
