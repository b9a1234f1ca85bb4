package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonPlace is where a JSON text breaks off.
type jsonPlace struct {
	line   int
	object int    // the number of its object, from 1
	field  string // key and position in it, "x[2][0]"; empty between objects
	token  string // what is written there
}

// deepestJSON is how deep encoding/json lets values be nested.
const deepestJSON = 10000

// brokenAt finds where a text is not JSON: the objects in it follow each other or are in a list. ok is false if there is no such place,
// or if the text ends too early.
func brokenAt(b []byte) (p jsonPlace, ok bool) {
	type level struct {
		list, value bool // value: a key has been read
		key         string
		n           int // elements before
	}
	var levels []level
	d := json.NewDecoder(bytes.NewReader(b))
	listed := bytes.HasPrefix(bytes.TrimSpace(b), []byte("["))
	objects := 0
	next := func() { // a value ends
		if len(levels) == 0 {
			return
		}
		l := &levels[len(levels)-1]
		l.n, l.value = l.n+1, false
	}
	for {
		t, err := d.Token()
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return p, false
		}
		if err != nil {
			break
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			if t == json.Delim('{') && (len(levels) == 0 || listed && len(levels) == 1) {
				objects++
			}
			if len(levels) == deepestJSON {
				return p, false
			}
			levels = append(levels, level{list: t == json.Delim('[')})
			continue
		case json.Delim('}'), json.Delim(']'):
			levels = levels[:len(levels)-1]
			next()
			continue
		}
		if l := len(levels) - 1; l >= 0 && !levels[l].list && !levels[l].value {
			levels[l].key, levels[l].value = fmt.Sprint(t), true
			continue
		}
		next()
	}
	rest := bytes.TrimLeft(b[d.InputOffset():], " \t\r\n,:")
	p.line = 1 + bytes.Count(b[:len(b)-len(rest)], []byte{'\n'})
	p.object = max(1, objects)
	end := bytes.IndexAny(rest, " \t\r\n,:]}")
	if end < 0 {
		end = len(rest)
	}
	p.token = shortened(string(rest[:end]))
	for i, l := range levels {
		switch {
		case l.list && !(i == 0 && listed):
			p.field += fmt.Sprintf("[%d]", l.n)
		case !l.list && l.value:
			p.field += strings.TrimSuffix("."+l.key, ".")
		}
	}
	p.field = strings.TrimPrefix(p.field, ".")
	return p, len(rest) > 0
}

// objectError describes an error of decoding the objects in a text, the n-th or one that follows it. It says where the text is not
// JSON, and names NaN and infinities, which Python writes.
func objectError(b []byte, n int, err error) error {
	var s *json.SyntaxError
	p, ok := brokenAt(b)
	if !ok || !errors.As(err, &s) {
		return fmt.Errorf("object %d: %w", n, plainError(err))
	}
	where := fmt.Sprintf("object %d (line %d)", p.object, p.line)
	if p.field != "" {
		where += ": " + p.field
	}
	switch strings.ToLower(strings.TrimLeft(p.token, "+-")) {
	case "nan", "inf", "infinity":
		return fmt.Errorf("%s is %s, want a finite number", where, p.token)
	}
	return fmt.Errorf("%s: %w", where, err)
}
