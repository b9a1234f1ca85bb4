package token

import "encoding/json"

// Limits of a file: maxDepth of nested lists and objects, each of which is parsed once more than the one around it, and
// maxGrowth of a text. Published tokenizers nest some six deep and make a text at most some 2,000 times as long, at the worst.
const (
	maxDepth  = 32
	maxGrowth = 1 << 14
)

// A tokenizer is charged perValue bytes for each value of its file, in maps from tokens to numbers and back, and perText for each byte, which
// the parts that contain it, and the token, have again, and nothing if the file has
// at most chargeFrom bytes.
const (
	perValue   = 400
	perText    = 3
	chargeFrom = 4096
)

// depth returns how deep lists and objects of valid JSON are nested.
func depth(p *pace, b []byte) (most int) {
	at, quoted := 0, false
	for i := 0; i < len(b); i++ {
		p.did(1)
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			at++
			most = max(most, at)
		case c == '}' || c == ']':
			at--
		}
	}
	return most
}

// growth returns an upper bound of how many times as long a normalizer or pre_tokenizer makes a text by replacing parts of it. In a
// sequence the factors multiply, so that few lines could fill any memory.
func growth(b json.RawMessage) float64 {
	var c struct {
		Type          string
		Normalizers   []json.RawMessage
		Pretokenizers []json.RawMessage
		Pattern       pattern
		Content       string
		Replacement   string
	}
	_ = json.Unmarshal(b, &c) // values of another type are refused where they are used
	switch c.Type {
	case "Sequence":
		all := 1.0
		for _, list := range [][]json.RawMessage{c.Normalizers, c.Pretokenizers} {
			for _, b := range list {
				all *= growth(b)
			}
		}
		return all
	case "Replace":
		replaced := 1
		if s := c.Pattern.String; s != nil {
			replaced = max(len(*s), 1)
		}
		return max(float64(len(c.Content))/float64(replaced), 1)
	case "Metaspace":
		return float64(max(len(c.Replacement), 3)) // U+2581 has three bytes
	case "ByteLevel":
		return 2
	case "Precompiled":
		return 256 // find cuts there
	}
	return 1
}
