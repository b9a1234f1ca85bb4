package budget

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Bytes that Go takes beside a value itself: for an entry of a map, and an allocation of its own.
const (
	mapEntry   = 64
	allocation = 16
)

// unchecked is the length of a text, in bytes, below which it is decoded without a charge.
const unchecked = 4096

// Unmarshal is json.Unmarshal, and charges what the text becomes before it is decoded, and for as long as to, or the content of a map or slice, is reachable.
func Unmarshal[T any](b []byte, to *T) error { return unmarshal(b, to, json.Unmarshal) }

// UnmarshalStrict is Unmarshal for one value that has no other keys than T. Text after it is ignored.
func UnmarshalStrict[T any](b []byte, to *T) error {
	return unmarshal(b, to, func(b []byte, to any) error {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		return d.Decode(to)
	})
}

func unmarshal[T any](b []byte, to *T, decode func([]byte, any) error) error {
	if len(b) >= unchecked {
		n := Decoded[T](b)
		if err := Charge(n); err != nil {
			return fmt.Errorf("%d bytes of JSON, decoded: %w", len(b), err)
		}
		defer keepContent(to, n)
	}
	return decode(b, to)
}

// keepContent leaves n bytes charged for as long as the content of a map or a slice is reachable, which may be longer than the variable, or to.
func keepContent[T any](to *T, n int64) {
	switch v := reflect.ValueOf(to).Elem(); v.Kind() {
	case reflect.Map, reflect.Slice:
		if v.Len() > 0 && v.Type().Elem().Size() > 0 {
			DischargeWith((*byte)(v.UnsafePointer()), n)
			return
		}
	}
	DischargeWith(to, n)
}

// Decoded returns about how many bytes a JSON text takes as a T, or several one after the other, those included that are garbage after it
// is decoded. Types that decode themselves count sixteen times their text.
func Decoded[T any](b []byte) int64 {
	s := sizer{text: b, own: map[reflect.Type]bool{}, fields: map[reflect.Type]func([]byte) reflect.Type{}}
	for s.next() != 0 {
		s.value(reflect.TypeFor[T](), 0)
	}
	return s.bytes
}

// sizer counts the bytes of the values in a JSON text. What is wrong with the text is left to encoding/json, which checks all of it first.
type sizer struct {
	text  []byte
	at    int
	bytes int64

	own    map[reflect.Type]bool                           // which types decode themselves
	fields map[reflect.Type]func(name []byte) reflect.Type // of structs
}

// deepest is how deep encoding/json lets values be nested.
const deepest = 10000

// next skips spaces and separators and returns the byte with which the next value begins or a list or object ends, 0 at the end of the text.
func (s *sizer) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
	return 0
}

// quoted skips a string and returns its content.
func (s *sizer) quoted() []byte {
	from := s.at + 1
	for s.at = from; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	to := min(s.at, len(s.text))
	s.at++
	return s.text[min(from, to):to]
}

// value counts what the next value takes outside of the T that holds it; a nil type is one that is skipped.
func (s *sizer) value(t reflect.Type, depth int) {
	from := s.at
	c := s.next()
	if depth > deepest || c == 0 {
		s.at = len(s.text)
		return
	}
	own := t != nil && s.decodesItself(t)
	inner := t
	if own {
		inner = nil
	}
	for inner != nil && inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
		s.bytes += int64(inner.Size()) + allocation
		if own = s.decodesItself(inner); own {
			inner = nil
		}
	}
	switch c {
	case '{':
		s.object(inner, depth)
	case '[':
		s.list(inner, depth)
	case '"':
		if n := len(s.quoted()); inner != nil {
			s.bytes += int64(n) + 2*allocation
		}
	case ']', '}': // not a value
		s.at++
	default:
		begin := s.at
		for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n,:]}[{\"", rune(s.text[s.at])) {
			s.at++
		}
		if s.at == begin {
			s.at++
		}
		if inner != nil && inner.Kind() == reflect.Interface {
			s.bytes += allocation
		}
	}
	if n := int64(s.at - from); own && t == raw {
		s.bytes += n
	} else if own {
		s.bytes += 16 * n
	}
}

func (s *sizer) list(t reflect.Type, depth int) {
	var elem reflect.Type
	if t != nil {
		switch t.Kind() {
		case reflect.Slice, reflect.Array:
			elem = t.Elem()
		case reflect.Interface:
			elem = t
			s.bytes += 24 + allocation
		}
	}
	s.at++
	for c := s.next(); c != ']' && c != 0; c = s.next() {
		if elem != nil {
			s.bytes += 3 * int64(max(elem.Size(), 1)) // a slice that grows is copied to one of up to twice the size
		}
		s.value(elem, depth+1)
	}
	s.at++
}

func (s *sizer) object(t reflect.Type, depth int) {
	var elem reflect.Type
	var field func(name []byte) reflect.Type
	each := int64(0)
	if t != nil {
		switch t.Kind() {
		case reflect.Struct:
			if field = s.fields[t]; field == nil {
				field = fieldsOf(t)
				s.fields[t] = field
			}
		case reflect.Map:
			elem, each = t.Elem(), 2*int64(t.Key().Size()+t.Elem().Size())+mapEntry
			s.bytes += 5 * mapEntry // a map begins with room for eight entries
		case reflect.Interface:
			elem, each = t, 2*32+mapEntry
			s.bytes += 5 * mapEntry
		}
	}
	s.at++
	for c := s.next(); c != '}' && c != 0; c = s.next() {
		if c != '"' {
			s.value(nil, depth+1)
			continue
		}
		name := s.quoted()
		if each > 0 {
			s.bytes += each + int64(len(name))
		}
		if field != nil {
			elem = field(name)
		}
		s.value(elem, depth+1)
	}
	s.at++
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	raw             = reflect.TypeFor[json.RawMessage]()
)

func (s *sizer) decodesItself(t reflect.Type) bool {
	own, known := s.own[t]
	if !known {
		p := reflect.PointerTo(t)
		own = p.Implements(unmarshaler) || p.Implements(textUnmarshaler)
		s.own[t] = own
	}
	return own
}

// fieldsOf returns the types of the fields of a struct by their names in JSON, in any case.
func fieldsOf(t reflect.Type) func(name []byte) reflect.Type {
	all := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[cmp.Or(name, f.Name)] = f.Type
	}
	return func(name []byte) reflect.Type {
		if t, ok := all[string(name)]; ok {
			return t
		}
		var plain string
		if json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &plain) != nil { // it may have escapes
			return nil
		}
		for other, t := range all {
			if strings.EqualFold(other, plain) {
				return t
			}
		}
		return nil
	}
}
