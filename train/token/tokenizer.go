package token

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/terminal"
)

// Tokenizer converts texts to token ids. It is immutable and safe for concurrent use.
type Tokenizer struct {
	normalize normalizer
	split     splitter
	model     model
	template  template
	raw, done added // tokens that are found before and after normalization

	ids     map[string]int
	size    int
	pad     int
	padType int
	left    bool
	spaced  bool // EncodeWords adds a space before each word
	most    int
	compact []byte
}

// Encoding is the tokens of a text, or of a pair.
type Encoding struct {
	IDs   []int // token ids, including special tokens
	Types []int // type of each token, from the file: which text of a pair it belongs to (BERT's token_type_ids)
	Words []int // of EncodeWords: the index of the word of each token, −1 for special tokens
}

// model splits a word into tokens.
type model interface {
	encode(p *pace, to []int, word string) []int
}

// file is the part of a tokenizer.json that is read.
type file struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	Model         json.RawMessage `json:"model"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Truncation    *struct {
		Length    int    `json:"max_length"`
		Direction string `json:"direction"`
		Strategy  string `json:"strategy"`
	} `json:"truncation"`
	Padding *struct {
		ID        int    `json:"pad_id"`
		TypeID    int    `json:"pad_type_id"`
		Direction string `json:"direction"`
	} `json:"padding"`
}

// Load reads a tokenizer.json file.
func Load(path string) (*Tokenizer, error) { return LoadUntil(context.Background(), path) }

// LoadUntil is Load, and ends with ctx.
func LoadUntil(ctx context.Context, path string) (*Tokenizer, error) {
	b, err := disk.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	t, err := parsed(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("token: %s: %w", path, err)
	}
	return t, nil
}

// Parse reads the content of a tokenizer.json file.
func Parse(b []byte) (*Tokenizer, error) { return ParseUntil(context.Background(), b) }

// ParseUntil is Parse, and ends with ctx. It may go on reading b for a moment after that.
func ParseUntil(ctx context.Context, b []byte) (*Tokenizer, error) {
	t, err := parsed(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return t, nil
}

func parsed(ctx context.Context, b []byte) (*Tokenizer, error) {
	var t *Tokenizer
	var bad error
	if err := awaited(ctx, func(p *pace) { t, bad = parse(p, b) }); err != nil { // it may still set t and bad
		return nil, err
	}
	return t, terminal.Short(bad)
}

func parse(p *pace, b []byte) (*Tokenizer, error) {
	var f file
	t := &Tokenizer{pad: -1}
	if len(b) > chargeFrom {
		if err := budget.Keep(t, perText*int64(len(b))+perValue*int64(bytes.Count(b, []byte(","))+bytes.Count(b, []byte("[")))); err != nil {
			return nil, fmt.Errorf("%d bytes of JSON, decoded: %w", len(b), err)
		}
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	if depth(p, b) > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	if n := growth(f.Normalizer) * growth(f.PreTokenizer); n > maxGrowth {
		return nil, fmt.Errorf("the normalizer and the pre_tokenizer may make a text more than %d times as long", maxGrowth)
	}
	if len(f.Model) == 0 || string(f.Model) == "null" {
		return nil, fmt.Errorf("not a tokenizer.json: it has no \"model\"")
	}
	var err error
	if t.model, t.ids, err = newModel(p, f.Model); err != nil {
		return nil, err
	}
	t.ids = maps.Clone(t.ids) // the model must not use added tokens for words
	numberAdded(f.Added, t.ids)
	for token, id := range t.ids {
		if id < 0 {
			return nil, fmt.Errorf("the token %q has the negative id %d", token, id)
		}
		t.size = max(t.size, id+1)
	}
	if t.normalize, err = newNormalizer(f.Normalizer); err != nil {
		return nil, err
	}
	if t.split, err = newSplitter(f.PreTokenizer); err != nil {
		return nil, err
	}
	t.spaced = wantsSpaces(f.PreTokenizer)
	if t.template, err = newTemplate(f.PostProcessor, t.ids); err != nil {
		return nil, err
	}
	t.raw, t.done = newAdded(p, f.Added, t.normalize)
	if f.Truncation != nil {
		t.most = f.Truncation.Length
		t.template.left, t.template.strategy = strings.EqualFold(f.Truncation.Direction, "left"), f.Truncation.Strategy
	}
	if f.Padding != nil {
		t.pad, t.padType = f.Padding.ID, f.Padding.TypeID
		t.left = strings.EqualFold(f.Padding.Direction, "left")
	}
	for _, name := range []string{"[PAD]", "<pad>", "<|endoftext|>", "</s>"} {
		if id, ok := t.ids[name]; ok && t.pad < 0 {
			t.pad = id
		}
	}
	t.pad = max(t.pad, 0)
	var compact bytes.Buffer
	err = json.Compact(&compact, b)
	t.compact = compact.Bytes()
	return t, err
}

// Size returns the number of ids: the largest plus one.
func (t *Tokenizer) Size() int { return t.size }

// ID returns the id of a token; ok is false if there is none.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Pad returns the id and type of the padding token: those of the file, or else the id of the first of [PAD], <pad>,
// <|endoftext|> and </s> that exists, or 0. left reports whether texts are padded at the start.
func (t *Tokenizer) Pad() (id, typ int, left bool) { return t.pad, t.padType, t.left }

// MaxLength returns the number of tokens that the file truncates texts to, or 0.
func (t *Tokenizer) MaxLength() int { return t.most }

// JSON returns the file's content without whitespace, which Parse reads. The caller must not change it.
func (t *Tokenizer) JSON() []byte { return t.compact }

// Encode tokenizes a text and adds special tokens. At most limit tokens are returned (0: any number); special tokens
// are never cut off.
func (t *Tokenizer) Encode(text string, limit int) Encoding { return t.encode(nil, limit, text) }

// EncodeUntil is Encode with a context, for texts of any length: a megabyte takes a second or more.
func (t *Tokenizer) EncodeUntil(ctx context.Context, text string, limit int) (e Encoding, err error) {
	err = until(ctx, func(p *pace) { e = t.encode(p, limit, text) })
	return e, err
}

// EncodePair is Encode for a pair of texts: the longer one is truncated first, or the one that the file names.
func (t *Tokenizer) EncodePair(first, second string, limit int) Encoding {
	return t.encode(nil, limit, first, second)
}

// EncodePairUntil is EncodePair with a context.
func (t *Tokenizer) EncodePairUntil(ctx context.Context, first, second string, limit int) (e Encoding, err error) {
	err = until(ctx, func(p *pace) { e = t.encode(p, limit, first, second) })
	return e, err
}

func (t *Tokenizer) encode(p *pace, limit int, texts ...string) Encoding {
	ids := make([][]int, len(texts))
	for i, s := range texts {
		ids[i] = t.tokens(p, s)
	}
	return t.template.apply(p, limit, ids...)
}

// tokens returns the tokens of a text without those that a template adds.
func (t *Tokenizer) tokens(p *pace, text string) (ids []int) {
	first := true
	t.raw.cut(p, strings.ToValidUTF8(text, "\ufffd"), func(part string, id int) {
		if id >= 0 {
			ids, first = append(ids, id), false
			return
		}
		t.done.cut(p, t.normalize(p, part), func(part string, id int) {
			if id >= 0 {
				ids, first = append(ids, id), false
				return
			}
			for _, word := range t.split(p, []string{part}, first) {
				p.did(1)
				if word != "" {
					ids = t.model.encode(p, ids, word)
				}
			}
			first = false
		})
	})
	return ids
}
