package table_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/graft-ml/graft/train/table"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// show lists a table's columns with kinds and values, then the target.
func show(t *table.Table) string {
	var list []string
	for _, c := range t.Columns {
		list = append(list, column(c))
	}
	if t.Target != nil {
		kind := "measured"
		if t.Classes != nil {
			kind = fmt.Sprint(t.Classes)
		}
		list = append(list, fmt.Sprintf("→ %s %s", t.Target.Name, kind))
	}
	return strings.Join(list, "; ")
}

func column(c *table.Column) string {
	s := fmt.Sprintf("%s %s", c.Name, c.Kind)
	for _, x := range c.Number {
		if math.IsNaN(x) {
			s += " _"
		} else {
			s += fmt.Sprintf(" %g", x)
		}
	}
	for _, k := range c.Code {
		if k < 0 {
			s += " _"
		} else {
			s += " " + c.Words[k]
		}
	}
	return s
}

// TestRead checks that the format is detected: separators, decimal marks, headers, quotes, missing
// values, kinds of columns.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		r          table.Reader
		want       string
	}{
		{"words above numbers", "a, b ,kind\n1,2,rose\n3,4.5,lily\n", table.Reader{}, "a number 1 3; b number 2 4.5; → kind [lily rose]"},
		{"no header", "1,2,0\n3,4,2\n", table.Reader{}, "0 number 1 3; 1 number 2 4; → 2 [0 1 2]"},
		{"no header, words as target", "1,2,x\n3,4,y\n", table.Reader{}, "0 number 1 3; 1 number 2 4; → 2 [x y]"},
		{"header of years", "city,1990,2000\nRome,1,2\nOslo,3,4\nRome,5,6\n", table.Reader{NoTarget: true}, "city category Rome Oslo Rome; 1990 number 1 3 5; 2000 number 2 4 6"},
		{"header of counted columns", "0,1,2\n5.5,2.5,a\n3.5,4.5,b\n", table.Reader{}, "0 number 5.5 3.5; 1 number 2.5 4.5; → 2 [a b]"},
		{"header over words alone", "size,colour\nbig,red\nsmall,red\nbig,blue\n", table.Reader{}, "size category big small big; → colour [blue red]"},
		{"semicolons, decimal commas", "a;b\n1,5;2\n-0,25;3,5\n", table.Reader{}, "a number 1.5 -0.25; → b measured"},
		{"thousands", "a;b\n1.234,5;2,5\n12.345.678,0;3,5\n", table.Reader{}, "a number 1234.5 1.2345678e+07; → b measured"},
		{"thousands with commas, money", "a,b\n\"$1,234.50\",2.5\n\"$12,000.00\",3.5\n", table.Reader{}, "a number 1234.5 12000; → b measured"},
		{"tabs", "a\tb\n1\tx y\n2\tz, w\n", table.Reader{}, "a number 1 2; → b [x y z, w]"},
		{"bars", "a|b\n1|0.5\n2|1.5\n", table.Reader{}, "a number 1 2; → b measured"},
		{"quotes", "\"a, first\",b\n\"1\",\"say \"\"hi\"\"\"\n2,\"two\nlines\"\n", table.Reader{}, "a, first number 1 2; → b [say \"hi\" two\nlines]"},
		{"missing", "a,b,c,y\n1,?,NA,0.5\n,x,n/a,1.5\nNaN,y,null,2.5\n", table.Reader{}, "a number 1 _ _; b category _ x y; c ignore; → y measured"},
		{"dates", "d,y\n2021-03-04,1.5\n1970-01-02,2.5\n", table.Reader{}, "d date 18690 1; → y measured"},
		{"dates, day first", "d,y\n03/04/2021,1.5\n25/12/2020,2.5\n", table.Reader{}, "d date 18720 18621; → y measured"},
		{"times", "d,y\n2021-03-04 12:00:00,1.5\n,2.5\n", table.Reader{}, "d date 18690.5 _; → y measured"},
		{"codes with zeros", "zip,y\n01234,1.5\n99999,2.5\n", table.Reader{}, "zip category 01234 99999; → y measured"},
		{"kind by flag", "zip,y\n12345,1.5\n99999,2.5\n", table.Reader{Kinds: map[string]table.ColumnKind{"zip": table.Category}}, "zip category 12345 99999; → y measured"},
		{"same names", "a,a,y\n1,2,0.5\n3,4,1.5\n", table.Reader{}, "a number 1 3; a.1 number 2 4; → y measured"},
		{"integers as measurements", "a,y\n1,100\n2,207\n3,311\n4,95\n", table.Reader{}, "a number 1 2 3 4; → y measured"},
		{"integers by flag", "a,y\n1,1\n3,2\n", table.Reader{Task: table.Regression}, "a number 1 3; → y measured"},
		{"classes not from 0", "a,y\n1,-1\n3,1\n", table.Reader{}, "a number 1 3; → y [-1 1]"},
		{"target by name", "y,a\n1,10\n0,30\n", table.Reader{Target: "y"}, "a number 10 30; → y [0 1]"},
		{"target by number, which is a value, too", "2,7,0\n1,8,1\n", table.Reader{Target: "0"}, "1 number 7 8; 2 number 0 1; → 0 [1 2]"},
		{"target by number", "1;10\n5;30\n", table.Reader{Target: "0"}, "1 number 10 30; → 0 [1 5]"},
		{"byte-order mark", "\ufeffa,y\n1,0.5\n", table.Reader{Format: table.Format{Header: 1}}, "a number 1; → y measured"},
	} {
		got, err := c.r.Read(write(t, "t.csv", c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if s := show(got); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

// TestReadEncodings checks files compressed by gzip, and files in UTF-16.
func TestReadEncodings(t *testing.T) {
	const text, want = "name,y\nÅsa,0.5\nBo,1.5\nBo,2.5\n", "name category Åsa Bo Bo; → y measured"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	wide := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(text)) {
		wide += string([]byte{byte(u), byte(u >> 8)})
	}
	for name, s := range map[string]string{"gzip": zipped.String(), "UTF-16": wide} {
		got, err := table.Read(write(t, "t.csv", s))
		if err != nil || show(got) != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestInfer checks that words that are nearly unique are keys, that a few words among numbers count as
// missing, and that a target of few frequent integers is classes.
func TestInfer(t *testing.T) {
	var b strings.Builder
	b.WriteString("key,size,grade\n")
	for i := range 100 {
		size := fmt.Sprint(i)
		if i == 50 {
			size = "unknown"
		}
		fmt.Fprintf(&b, "k%d,%s,%d\n", i, size, 3+i%6)
	}
	got, err := table.Read(write(t, "t.csv", b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if k := got.Columns[0]; k.Kind != table.Ignore || !strings.Contains(k.Note, "100 of 100 values differ; --column key=category") {
		t.Errorf("key is %s: %s", k.Kind, k.Note)
	}
	if s := got.Columns[1]; s.Kind != table.Number || !math.IsNaN(s.Number[50]) || s.Note != `counted as missing: "unknown" (line 52)` {
		t.Errorf("size is %s: %s", s.Kind, s.Note)
	}
	if want := []string{"3", "4", "5", "6", "7", "8"}; !slices.Equal(got.Classes, want) {
		t.Errorf("grades are %v, want the classes %v", got.Classes, want)
	}
}

// TestReadErrors checks that errors name the file, the line or row, and the column.
func TestReadErrors(t *testing.T) {
	for _, c := range []struct {
		text, want string
		r          table.Reader
	}{
		{"", "empty", table.Reader{}},
		{"a,b\n", "no rows below the header", table.Reader{Format: table.Format{Header: 1}}},
		{"1\n2\n", `one column, "0", with "," between columns: want features and a target`, table.Reader{}},
		{"a,b\n1,2\n3\n", `line 3 has another number of columns than the first line, 2, with "," between columns`, table.Reader{}},
		{"a,b\n1,2\n", `no column "c"; it has a, b`, table.Reader{Target: "c"}},
		{"a,b\n1,2\n", `no column "c"; it has a, b`, table.Reader{Kinds: map[string]table.ColumnKind{"c": table.Number}}},
		{"a,b\n1,x\n2,y\n", `target column b holds text, such as "x": want numbers for regression`, table.Reader{Task: table.Regression}},
		{"a,b\n1,2\nx,3\n", `line 3, column a: "x" is not a number`, table.Reader{Kinds: map[string]table.ColumnKind{"a": table.Number}}},
		{"a,b\n2020-01-01,2\nx,3\n", `column a: no date format fits both "x" and the other values`, table.Reader{Kinds: map[string]table.ColumnKind{"a": table.Date}}},
		{"a,b\n1,x\n2,z\n", `line 3: the target b is "z", which is not among the classes x, y`, table.Reader{Classes: []string{"x", "y"}}},
		{"PK\x03\x04\x00\x00", "not a table: it holds bytes that are not text", table.Reader{}},
	} {
		path := write(t, "bad.csv", c.text)
		_, err := c.r.Read(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
	for s, want := range map[string]string{"a=nummber": `column a: "nummber" is not a kind: want number, category, date, text or ignore`, "a": `"a": want COLUMN=KIND`, "a=date,a=text": "a has two kinds, date and text"} {
		if _, err := table.ParseKinds(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", s, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a;b\n1,5;x\n\"", "1\t2\n", "\ufeffd|y\n2020-01-01|?\n", "\xff\xfea\x00,\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { _, _ = table.Read(write(t, "f.csv", s)) })
}

// TestWindows1252 checks that Windows-1252, the default of spreadsheets, is read like UTF-8, wherever buffers end.
func TestWindows1252(t *testing.T) {
	for _, before := range []int{0, 1, 4090, 1 << 18} {
		name := filepath.Join(t.TempDir(), "a.csv")
		text := "Stadt;Fl\xe4che;Preis\n" + strings.Repeat("Bonn;1,5;2\n", before/11) + "K\xf6ln \x80;3;4\nKöln €;5;6\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := table.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		c := x.Columns[0]
		if x.Columns[1].Name != "Fläche" || x.Recoded != 3 || !slices.Contains(c.Words, "Köln €") || c.Code[x.Len()-1] != c.Code[x.Len()-2] {
			t.Errorf("after %d: %d bytes, columns %q, words %q", before, x.Recoded, x.Names, c.Words)
		}
	}
}
