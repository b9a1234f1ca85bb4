package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// step stands for what recipes, plans and annotations are made of.
type step struct {
	Name  string         `json:"name"`
	Sizes []int          `json:"sizes"`
	Set   map[string]any `json:"set"`
	Inner *struct {
		Rows [][4]float64
	} `json:"inner"`
	Text json.RawMessage `json:"text"`
	more
	_ [200]byte
}

type more struct{ Flags []bool }

// TestDecoded: what a text is counted as is no less than what encoding/json allocates for it, and at most eight times that.
func TestDecoded(t *testing.T) {
	const n = 20000
	list := func(item string) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	keys := func() string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"%d":1,`, i)
		}
		return "{" + b.String() + `"last":1}`
	}()
	for name, c := range map[string]struct{ before, list, after string }{
		"empty objects": {"", list("{}"), ""}, "null": {"", list("null"), ""}, "values of another type": {"", list("7"), ""}, "objects": {"", list(`{"name":"a","sizes":[1]}`), ""},
		"numbers": {`[{"sizes":`, list("1"), "}]"}, "keys in other case": {`[{"SIZES":`, list("1"), "}]"}, "keys with escapes": {`[{"\u0073izes":`, list("1"), "}]"}, "keys that fold": {`[{"ſizes":`, list("1"), "}]"},
		"promoted": {`[{"flags":`, list("true"), "}]"}, "any": {`[{"set":{"a":`, list("[]"), "}}]"}, "any texts": {`[{"set":{"a":`, list(`"b"`), "}}]"}, "any objects": {`[{"set":{"a":`, list(`{"b":1}`), "}}]"},
		"entries": {`[{"set":`, keys, "}]"}, "arrays": {`[{"inner":{"Rows":`, list("[1]"), "}}]"}, "pointers": {"", list(`{"inner":{}}`), ""}, "raw": {`[{"text":`, list(`""`), "}]"},
	} {
		text := []byte(c.before + c.list + c.after)
		var steps []step
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = json.Unmarshal(text, &steps)
		runtime.ReadMemStats(&after)
		took, counted := int64(after.TotalAlloc-before.TotalAlloc), Decoded[[]step](text)
		if counted < took/2 || counted > 8*took {
			t.Errorf("%s: counted as %d bytes, encoding/json allocates %d", name, counted, took)
		}
	}
	for _, text := range []string{"", "{", "[", `{"name`, `[{"sizes":[`, "]]]", "}:", `{1:2}`, `"\`, strings.Repeat("[", 1<<20), strings.Repeat(`{"inner":`, 1<<20), "\x00", "[\x00]"} {
		Decoded[[]step]([]byte(text))
	}
	for _, level := range []string{"[", `{"a":`} { // what is nested too deep is refused before it takes memory
		at, beyond := Decoded[any]([]byte(strings.Repeat(level, deepest+10))), Decoded[any]([]byte(strings.Repeat(level, deepest+50)))
		if at == 0 || at != beyond {
			t.Errorf("%s: counted as %d bytes, %d deeper as %d", level, at, deepest+50, beyond)
		}
	}
}

// TestUnmarshal: a text that becomes more than what is left is refused before it is decoded, and what is decoded is charged while it is reachable.
func TestUnmarshal(t *testing.T) {
	defer Limit(0)
	text := []byte("[" + strings.Repeat("{},", 99999) + "{}]")
	Limit(state.used + 10<<20)
	var list []step
	if err := Unmarshal(text, &list); list != nil {
		t.Errorf("%d values, %v", len(list), err)
	} else if e, ok := errors.AsType[*Error](err); !ok || e.Wanted < 100000*200 {
		t.Error(err)
	}
	Limit(state.used + 1<<30)
	before := Left()
	if err := Unmarshal(text, &list); err != nil || len(list) != 100000 || before-Left() < 100000*200 {
		t.Errorf("%d values, %d bytes charged, %v", len(list), before-Left(), err)
	}
	runtime.KeepAlive(&list)
	if err := UnmarshalStrict([]byte(`{"name":"a","other":1}`), &step{}); err == nil {
		t.Error("an unknown key is ignored")
	}
}

// TestContentIsKept: a map and a slice are charged for as long as they are reachable, not only the variable that they were decoded into.
func TestContentIsKept(t *testing.T) {
	left := func() int64 {
		collect()
		collect()
		return Left()
	}
	decode := func(text string, to func(b []byte) (any, error)) any {
		v, err := to([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	long := strings.Repeat("x", 1<<20)
	for name, content := range map[string]func() any{
		"map": func() any {
			return decode(`{"a":"`+long+`"}`, func(b []byte) (any, error) { var m map[string]string; err := Unmarshal(b, &m); return m, err })
		},
		"slice": func() any {
			return decode(`["`+long+`"]`, func(b []byte) (any, error) { var m []string; err := Unmarshal(b, &m); return m, err })
		},
	} {
		before := left()
		v := content()
		if kept := before - left(); kept < 1<<20 {
			t.Errorf("%s: %d bytes are charged for 1 MiB", name, kept)
		}
		runtime.KeepAlive(v)
		if v = nil; before-left() > 1<<16 {
			t.Errorf("%s: it is charged when it is unreachable", name)
		}
	}
}
