package table

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPreamble reads files with lines before the table, and lines that end in a carriage return alone. Lines are counted from the
// beginning of the file.
func TestPreamble(t *testing.T) {
	rows := "\n1,x,2\n,y,4\n5,x,6\n"
	for name, c := range map[string]struct {
		text   string
		before int
		names  string
	}{
		"nothing":            {"a,b,c" + rows, 0, "a b c"},
		"spreadsheet":        {"sep=;\r\na;b;c" + strings.ReplaceAll(rows, ",", ";"), 1, "a b c"},
		"comments":           {"# made, twice\n# x\na,b,c" + rows, 2, "a b c"},
		"a commented header": {"#a,b,c" + rows, 0, "#a b c"},
		"both":               {"sep=,\n# made\n# of it\n#a,b,c" + rows, 3, "#a b c"},
		"other separators":   {"# one | two | three\na;b;c" + strings.ReplaceAll(rows, ",", ";"), 1, "a b c"},
		"old lines":          {strings.ReplaceAll("# x\na,b,c"+rows, "\n", "\r"), 1, "a b c"},
		"no header":          {"# numbers\n7,x,8" + rows, 1, "0 1 2"},
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Reader{}.Read(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		first := strings.Count(c.text[:strings.Index(strings.ReplaceAll(c.text, "\r", "\n"), "y")-1], c.text[len(c.text)-1:]) + 1
		if row := got.Column(got.Names[0]).Gap(got.Complete()); got.Preamble != c.before || strings.Join(got.Names, " ") != c.names || row < 0 || got.Lines[row] != first {
			t.Errorf("%s: %d lines before columns %q, the missing value in row %d of lines %d; want %d, %q, line %d", name, got.Preamble, got.Names, row, got.Lines, c.before, c.names, first)
		}
	}
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("# one\n# two\na,b\n1,2\n3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Reader{}).Read(path); err == nil || !strings.Contains(err.Error(), "line 5 has another number of columns") {
		t.Errorf("a short line: %v", err)
	}
}

// TestDescribeTogether describes many neighbours of one kind in one line, and names with line breaks in quotes.
func TestDescribeTogether(t *testing.T) {
	list := []described{{"a\nb", "number"}}
	for _, c := range "cdefghijklmn" {
		list = append(list, described{string(c), "date"})
	}
	list = append(list, described{"o", "number"}, described{"p", "number"})
	got := together(list, func(names, what string) string { return names + ": " + what })
	if want := []string{`"a\nb": number`, "c … n (12 columns): date", "o: number", "p: number"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
