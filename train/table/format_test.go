package table

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/transform"
)

// TestSniffAtLimits checks how separators, decimal marks and headers are decided where two candidates are close.
func TestSniffAtLimits(t *testing.T) {
	repeated := func(line string, n int) string { return strings.Repeat(line+"\n", n) }
	for text, want := range map[string]rune{
		"a;b;c\nx\n1;2;3\ny\n":                         ';', // half of the lines in three columns, before all of them in one
		repeated("a,b;c;d;e;f;g;h;i;j;k", 3) + "x,y\n": ',', // 4 lines in 2 columns before 3 of 4 in 10: 1·(2−1/2) > 3/4·(2−1/10)
		repeated("a,b;c;d;e;f;g;h;i;j;k", 9) + "x,y\n": ';', // 9 of 10 in 10: 9/10·(2−1/10) > 2−1/2
	} {
		if got := separator(text); got != want {
			t.Errorf("%q is separated by %q, want %q", text, got, want)
		}
	}
	if n := len(sample(repeated("a,b", 300), ',')); n != 200 {
		t.Errorf("a sample of %d lines", n)
	}
	if rows := sample("a,\"b\nc\n", ','); len(rows) != 1 || !slices.Equal(rows[0], []string{"a", "b\nc"}) {
		t.Errorf("a quote that stays open: %q", rows)
	}
	for text, want := range map[string]rune{"1,234;1,5": ',', "1.234;1,5": ',', "1.234,567": ',', "1,234.567": '.', "1.234.567": ',', "0,123": ',', "1,234,567": '.', "1,234;1.5": '.', "1,234": '.'} {
		if got := (&Format{}).decimal([][]string{strings.Split(text, ";")}); got != want {
			t.Errorf("%q has the decimal mark %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		f    Format
		text string
		want rune
	}{
		{Format{Comma: ';'}, "1,234;2,345", ','}, {Format{Comma: ';'}, "1,234;1.5", '.'}, {Format{Comma: ';'}, "1.234;2", '.'}, {Format{Comma: '|'}, "1,234;2", '.'},
		{Format{likely: ','}, "1,234;2", ','}, {Format{likely: ','}, "1.234;2", ','}, {Format{likely: ','}, "1.5;1,234", '.'}, {Format{likely: '.', Comma: ';'}, "1,234", '.'},
	} {
		if got := c.f.decimal([][]string{strings.Split(c.text, ";")}); got != c.want {
			t.Errorf("%+v: %q has the decimal mark %q, want %q", c.f, c.text, got, c.want)
		}
	}
	for text, want := range map[string]bool{"a,b,1 1,2,3": true, "a,b a,d": false, "a,b b,a": true, "1,b 2,x": false} { // of two lines
		var rows [][]string
		for line := range strings.SplitSeq(text, " ") {
			rows = append(rows, strings.Split(line, ","))
		}
		if got := headed(rows[0], rows, '.', ""); got != want {
			t.Errorf("%s has a header: %v", text, got)
		}
	}
	if numeric([][]string{{"1"}, {"a"}}, 0, '.') || !numeric([][]string{{"1"}, {"a"}, {"2"}}, 0, '.') || numeric([][]string{{"?"}}, 0, '.') {
		t.Error("most of a column")
	}
}

// The end of a file that is short counts, though no line break ends it; that of the first part of a long one may be cut.
func TestFileEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	open := func(text string) (*Rows, error) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return Format{}.Open(path, "")
	}
	r, err := open("a,b\na,d")
	if err != nil || r.Header != -1 {
		t.Errorf("two lines that begin alike have a header: %v, %v", r.Header, err)
	}
	for _, want := range []string{"a b", "a d"} {
		if rec, _, err := r.Next(); err != nil || strings.Join(rec, " ") != want {
			t.Errorf("%q, %v, want %q", rec, err, want)
		}
	}
	if rec, line, err := r.Next(); err != io.EOF || rec != nil || line != 2 {
		t.Errorf("behind the end: %q, line %d, %v", rec, line, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err == nil {
		t.Error("the file was open after Close")
	}
	if _, err := open("\x00a,b\n"); err == nil || !strings.HasSuffix(err.Error(), "not a table: it holds bytes that are not text") {
		t.Error(err)
	}
	// The first part ends in the second field of the second line: cut off, it would be a number above words.
	long := "kind,1" + strings.Repeat("0", most-12) + "\nx,12345word\nx,word\n"
	if r, err = open(long); err != nil || len(r.Names) != 2 {
		t.Fatal(err)
	}
	r.Close()
	none := &Rows{}
	if none.Recoded() != 0 || (*Rows)(nil).Recoded() != 0 || none.Close() != nil {
		t.Error("rows of no file")
	}
	if _, _, err := none.Next(); err != io.EOF {
		t.Error(err)
	}
}

// TestRecode checks that bytes that are not UTF-8 are decoded as Windows-1252, also at the end of a
// buffer, without changing valid UTF-8.
func TestRecode(t *testing.T) {
	for _, c := range []struct {
		src      string
		room     int
		atEOF    bool
		want     string
		consumed int
		err      error
		bytes    int
	}{
		{"\xff\ufffd", 8, true, "ÿ\ufffd", 4, nil, 1},
		{"\xffé", 4, true, "ÿé", 3, nil, 1},
		{"\xffé", 3, true, "ÿ", 1, transform.ErrShortDst, 1},
		{"\xff\xc3", 8, false, "ÿ", 1, transform.ErrShortSrc, 1},
		{"\xff\xc3", 8, true, "ÿÃ", 2, nil, 2},
		{"abc", 2, true, "ab", 2, transform.ErrShortDst, 0},
		{"\x80a", 4, true, "€a", 2, nil, 1},
	} {
		r, dst := &recoder{}, make([]byte, c.room)
		n, consumed, err := r.Transform(dst, []byte(c.src), c.atEOF)
		if got := string(dst[:n]); got != c.want || consumed != c.consumed || err != c.err || r.bytes != c.bytes {
			t.Errorf("%q: %q of %d bytes, %d recoded, %v; want %q of %d, %d, %v", c.src, got, consumed, r.bytes, err, c.want, c.consumed, c.bytes, c.err)
		}
	}
}

// A table that is read for a model: its kinds, dates written in another way, a target that is there, missing or never was.
func TestReadForSchema(t *testing.T) {
	s := Schema{Fields: []Field{{Name: "d", Kind: Date, Type: "float64", Layout: "2006-01-02"}, {Name: "n", Kind: Number, Type: "float32"}}, Target: "y", Classes: []string{"no", "yes"}}
	with := read(t, s.Reader(Reader{Format: Format{Header: 1}}), "n,y,d,more\n1,yes,2021/03/04,a\n2,?,2021/03/05,b\n3,no,?,c\n")
	if c := with.Column("d"); c.Layout != "2006/01/02" || c.Number[1] != 18691 || !math.IsNaN(c.Number[2]) {
		t.Errorf("days %v as %s", c.Number, c.Layout)
	}
	if with.Target == nil || with.Class(0) != 1 || with.Class(1) != -1 || with.Class(2) != 0 || with.Column("more").Kind != Ignore {
		t.Errorf("target %v, classes %v", with.Target, with.class)
	}
	without := read(t, s.Reader(Reader{Format: Format{Header: 1}}), "n,d,last\n1,2021-03-04,a\n2,2021-03-05,b\n")
	if without.Target != nil || without.Column("last").Kind != Ignore {
		t.Errorf("a target %v of a table without", without.Target)
	}
	s.Target, s.Classes = "", nil
	if never := read(t, s.Reader(Reader{Format: Format{Header: 1}}), "n,d,last\n1,2021-03-04,5\n"); never.Target != nil {
		t.Errorf("a target %v of a model without", never.Target)
	}
	feed, err := s.FeedObjects([]map[string]any{{"n": 1, "d": "2021-03-04"}, {"n": 1, "d": "2021/03/05"}})
	if got := fmt.Sprint(feed["d"]); err != nil || got != "C[18690  18691]" && !strings.Contains(got, "18690") {
		t.Errorf("days %v, %v", got, err)
	}
	s.Fields[0].Layout = "01/02/2006"
	if feed, err = s.FeedObjects([]map[string]any{{"n": 1, "d": "2021-03-04"}}); err != nil {
		t.Errorf("a day in the first of all ways: %v, %v", feed, err)
	}
}

// TestTargetsAtLimits checks targets at the limits of class numbers.
func TestTargetsAtLimits(t *testing.T) {
	header := Format{Header: 1}
	for text, want := range map[string]int{"a,y\n1,0\n2,1048575\n": 1 << 20, "a,y\n1,0\n2,1048576\n": 2} {
		if got := read(t, Reader{Format: header, Task: Classes}, text); len(got.Classes) != want {
			t.Errorf("%q: %d classes, want %d", text, len(got.Classes), want)
		}
	}
	gap := read(t, Reader{Format: header, Task: Classes}, "a,y\n1,5\n2,?\n3,7\n")
	if gap.Class(0) != 0 || gap.Class(1) != -1 || gap.Class(2) != 1 {
		t.Errorf("classes %v", gap.class)
	}
	none := read(t, Reader{Format: header, Task: Classes, Kinds: map[string]ColumnKind{"y": Number}}, "a,y\n1,?\n2,?\n")
	if len(none.Classes) != 0 || none.Class(0) != -1 {
		t.Errorf("classes %v of missing numbers", none.Classes)
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("a,y\n1,?\n2,?\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Reader{Format: header, Task: Regression, Kinds: map[string]ColumnKind{"y": Category}}).Read(path); err == nil || !strings.Contains(err.Error(), `target column y holds text, such as "": want numbers`) {
		t.Error(err)
	}
	keys := lines(times(20, func(i int) string { return fmt.Sprint("k", i) })...)
	if c := read(t, Reader{Format: header, Kinds: map[string]ColumnKind{"a": Category}}, keys).Columns[0]; c.Kind != Category {
		t.Errorf("keys that are said to be categories are %s: %s", c.Kind, c.Note)
	}
	if _, err := ParseKinds("=number"); err == nil {
		t.Error("a kind of no column")
	}
	if i, err := find([]string{"Ab", "b"}, "ab"); err != nil || i != 0 {
		t.Errorf("column %d, %v", i, err)
	}
}
