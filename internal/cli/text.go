package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/token"
	"github.com/spf13/cobra"
)

// Entries of a model's metadata: a textFormat as JSON, and the content of the tokenizer.json.
const (
	metaText      = "graft.text"
	metaTokenizer = "graft.tokenizer"
)

// textual holds the flags about texts and their tokenization.
type textual struct {
	text, pair, tokenizer string
	length                int
	learned               *token.Tokenizer // made of the texts to train on; nil: none was
}

// textFlags adds the flags to a command.
func (t *textual) textFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&t.text, "text", "", "column, or key of JSON lines, with the text that the model reads; default: what the model says")
	f.StringVar(&t.pair, "text-pair", "", "column with a second text")
	f.StringVar(&t.tokenizer, "tokenizer", "", "tokenizer.json that makes tokens of texts; default: the model's own, or, of a network that graft new made, one that is made of the texts")
	f.IntVar(&t.length, "max-length", 0, "tokens of a text at most; default: what the model or the tokenizer says, or 128")
}

// textFormat is the metadata about a model's texts, besides the tokenizer.
type textFormat struct {
	Column string `json:"column"`
	Pair   string `json:"pair,omitempty"`
	Length int    `json:"max_length"`
	Target string `json:"target,omitempty"`
	Words  bool   `json:"words,omitempty"` // each word has a class
}

// texts converts texts to inputs of a model.
type texts struct {
	textFormat
	tok    *token.Tokenizer
	inputs []*nn.Value
	roles  []string // of the inputs
	fixed  int      // length that the model fixes; 0: any
}

// The roles of a model's inputs, with the names that exporters use.
var textRoles = map[string]string{
	"input_ids": "input_ids", "input_word_ids": "input_ids", "tokens": "input_ids", "token_ids": "input_ids", "ids": "input_ids",
	"attention_mask": "attention_mask", "input_mask": "attention_mask", "mask": "attention_mask",
	"token_type_ids": "token_type_ids", "segment_ids": "token_type_ids", "input_type_ids": "token_type_ids",
	"position_ids": "position_ids",
}

// newTexts determines how g reads texts, from the flags and its metadata. nil: it does not.
func (t textual) newTexts(ctx context.Context, g *nn.Graph) (*texts, error) {
	x := &texts{}
	if b, ok := g.Meta()[metaText]; ok {
		d := json.NewDecoder(strings.NewReader(b))
		d.DisallowUnknownFields() // an unknown setting of a later version is an error
		if err := d.Decode(&x.textFormat); err != nil {
			return nil, fmt.Errorf("metadata %s: %w", metaText, err)
		}
	}
	x.Column, x.Pair = cmp.Or(t.text, x.Column), cmp.Or(t.pair, x.Pair)
	if x.Column == "" {
		if t.tokenizer != "" || t.pair != "" || t.length != 0 {
			return nil, errors.New("--tokenizer, --text-pair and --max-length are for texts: --text names the column of the texts")
		}
		return nil, nil
	}
	var err error
	switch own, ok := g.Meta()[metaTokenizer]; {
	case t.tokenizer != "":
		x.tok, err = token.LoadUntil(ctx, t.tokenizer)
	case t.learned != nil:
		x.tok = t.learned
	case ok:
		if x.tok, err = token.ParseUntil(ctx, []byte(own)); err != nil {
			err = fmt.Errorf("metadata %s: %w", metaTokenizer, err)
		}
	default:
		err = errors.New("the model has no tokenizer: --tokenizer tokenizer.json gives one")
	}
	if err != nil {
		return nil, err
	}
	if err := x.bind(g); err != nil {
		return nil, err
	}
	stored := x.Length
	if err := x.limit(t.length); err != nil {
		return nil, err
	}
	if t.length == 0 && stored == 0 && x.fixed == 0 {
		x.Length = x.longest(g)
	}
	return x, nil
}

// longest returns the largest number of tokens that the model accepts, at most x.Length: its position embedding may be
// shorter.
func (x *texts) longest(g *nn.Graph) int {
	runs := func(n int) bool {
		s, err := x.inputsOf(token.Encoding{IDs: make([]int, n), Types: make([]int, n)}, nil)
		if err != nil {
			return false
		}
		feed, err := x.collate([]data.Sample{s})
		if err == nil {
			_, err = g.Eval(context.Background(), feed, g.Outputs()[0].Name())
		}
		return err == nil
	}
	if slices.ContainsFunc(x.inputs, func(v *nn.Value) bool { return v.Type().Shape[0].Known() }) || runs(x.Length) || !runs(1) {
		return x.Length // the first batch shows other errors
	}
	return sort.Search(x.Length-1, func(n int) bool { return !runs(n + 1) })
}

// bind finds the model's inputs.
func (x *texts) bind(g *nn.Graph) error {
	x.inputs = g.Inputs()
	for _, v := range x.inputs {
		name, _, _ := strings.Cut(strings.ToLower(v.Name()), ":") // TensorFlow writes input_ids:0
		x.roles = append(x.roles, textRoles[name])
	}
	if len(x.inputs) == 1 && x.roles[0] == "" {
		x.roles[0] = "input_ids"
	}
	at := slices.Index(x.roles, "input_ids")
	if at < 0 {
		return fmt.Errorf("the model takes no text: none of its inputs %v is called input_ids; a step of a recipe renames one: {\"do\": \"rename\", \"value\": %q, \"to\": \"input_ids\"}", ports(x.inputs), x.inputs[0].Name())
	}
	for i, v := range x.inputs {
		typ := v.Type()
		switch {
		case x.roles[i] == "":
			return fmt.Errorf("input %s cannot be computed from texts: want the names input_ids, attention_mask, token_type_ids and position_ids", ports(x.inputs[i:])[0])
		case typ.Rank() != 2 || i == at && !typ.DType.IsInteger():
			return fmt.Errorf("input %s does not take tokens: want whole numbers [N,length]", ports(x.inputs[i:])[0])
		case typ.Shape[1].Known():
			x.fixed = typ.Shape[1].Size
		}
	}
	if n := rowsLookedUp(x.inputs[at]); n > 0 && x.tok.Size() > n {
		return fmt.Errorf("the tokenizer has %d tokens, the model knows %d: it is another model's tokenizer", x.tok.Size(), n)
	}
	return nil
}

// rowsLookedUp returns the length of the embedding table that ids index; 0: unknown.
func rowsLookedUp(ids *nn.Value) int {
	for _, n := range ids.Users() {
		if len(n.Inputs()) == 2 && n.In(1) == ids {
			if t := n.In(0).Type(); n.In(0).Param() != nil && t.Rank() == 2 && t.DType.IsFloat() && t.Shape[0].Known() {
				return t.Shape[0].Size
			}
		}
	}
	return 0
}

// limit determines the maximum length of texts.
func (x *texts) limit(flag int) error {
	if flag < 0 {
		return fmt.Errorf("--max-length %d: want 1 or more", flag)
	}
	if x.fixed > 0 && flag > x.fixed {
		return fmt.Errorf("--max-length %d: the model takes %d tokens", flag, x.fixed)
	}
	x.Length = cmp.Or(flag, x.Length, x.fixed, x.tok.MaxLength(), 128)
	if x.fixed > 0 {
		x.Length = min(x.Length, x.fixed)
	}
	return nil
}

// describe stores how texts are read in the model's metadata.
func (x *texts) describe(e *nn.Edit) {
	b, err := json.Marshal(x.textFormat)
	e.Fail(err)
	e.SetMeta(metaText, string(b))
	e.SetMeta(metaTokenizer, string(x.tok.JSON()))
}

// said returns a line about the texts, to be printed before training.
func (x *texts) said(s data.Dataset[data.Sample]) (string, error) {
	most, cut, total := 0, 0, 0
	at := slices.Index(x.roles, "input_ids")
	for i := range s.Len() {
		t, err := s.At(i, nil)
		if err != nil {
			return "", err
		}
		n := t.X[at].Shape()[0]
		total, most = total+n, max(most, n)
		if n >= x.Length {
			cut++
		}
	}
	line := fmt.Sprintf("texts of column %s: %.1f tokens on average, %d at most; the tokenizer has a vocabulary of %d and is stored in the model", x.Column, float64(total)/float64(max(1, s.Len())), most, x.tok.Size())
	if cut > 0 && !x.Words { // for words, the note about windows reports it
		line += fmt.Sprintf("; %d texts fill the %d tokens or are cut to them (--max-length)", cut, x.Length)
	}
	if !slices.Contains(x.roles, "attention_mask") {
		line += "; the model has no attention_mask: it also reads the padding"
	}
	return line, nil
}
