package table

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train"
	"gorgonia.org/tensor"
)

// TestNumbers checks what is a number in a table, with a decimal point and with a decimal comma.
func TestNumbers(t *testing.T) {
	for s, want := range map[string][2]string{
		"1": {"1", "1"}, "-2.5": {"-2.5", ""}, "+3": {"3", "3"}, ".5": {"0.5", ""}, "1e3": {"1000", "1000"}, "1E-2": {"0.01", "0.01"}, "1,5": {"", "1.5"}, "1.234": {"1.234", "1234"},
		"1,234": {"1234", "1.234"}, "12,345,678.9": {"1.23456789e+07", ""}, "12.345.678,9": {"", "1.23456789e+07"}, "123,456": {"123456", "123.456"}, "1,23": {"", "1.23"}, "1234,567": {"", "1234.567"}, ",123": {"", "0.123"},
		"1'234": {"1234", "1234"}, "1 234": {"1234", "1234"}, "1 23": {"", ""}, "1\u00a0234,5": {"", "1234.5"}, "1,234e2": {"123400", "123.4"},
		"$5": {"5", "5"}, "5 €": {"5", "5"}, "-5%": {"-5", "-5"}, "£1,000.50": {"1000.5", ""}, "+1,000": {"1000", "1"}, "-12,345": {"-12345", "-12.345"},
		"": {"", ""}, "a": {"", ""}, "inf": {"", ""}, "+Inf": {"", ""}, "-inf": {"", ""}, "nan": {"", ""}, "-NaN": {"", ""}, "Infinity": {"", ""}, "0x10": {"", ""}, "0X1P4": {"", ""}, "1_000": {"", ""}, "1e": {"", ""}, "1e999": {"", ""}, "--1": {"", ""}, "1-2": {"", ""}, "$": {"", ""},
	} {
		for i, decimal := range []rune{'.', ','} {
			got := ""
			if x, ok := number(s, decimal); ok {
				got = fmt.Sprint(x)
			}
			if got != want[i] {
				t.Errorf("%q with %c: %q, want %q", s, decimal, got, want[i])
			}
		}
	}
	for s, want := range map[string]bool{"": true, "NA": true, "?": true, "#value!": true, "#DIV/0!": true, "missing": true, "missings": false, "0": false, "no": false} {
		if missing(s) != want {
			t.Errorf("%q is missing: %v", s, !want)
		}
	}
	for x, want := range map[float64]bool{0: true, -3: true, 1<<53 - 1: true, 1 << 53: false, -(1 << 53): false, 0.5: false, math.Inf(1): false} {
		if whole(x) != want {
			t.Errorf("%g is whole: %v", x, !want)
		}
	}
}

// TestSniff checks how separators and headers are detected from the first lines.
func TestSniff(t *testing.T) {
	for text, want := range map[string]rune{
		"a,b;c\n1,2;3\n": ',', "a;b\n1,5;2,5\n3,5;4,5\n": ';', "a|b\n1|2\n": '|', "a\tb\n1\t2\n": '\t', "a;b,c;d\n1;2;3\n": ';', "a\n1\n2\n": ',', "": ',', "x, y; z\nx; y\nx, y; z\n": ';',
	} {
		if got := separator(text); got != want {
			t.Errorf("%q is separated by %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]rune{"1,5": ',', "1.5": '.', "1,5;1.5": '.', "1.234,5;2": ',', "1,234.5": '.', "1,234": '.', "1.234": '.', "1,5;2,5;3,5;4,5;5.5": '.', "1,5;2,5;3,5;4,5;6,5;5.5": ',', "-1,5e3": ',', "a,b": '.'} {
		if got := (&Format{}).decimal([][]string{strings.Split(text, ";")}); got != want {
			t.Errorf("%q has the decimal mark %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		rows   string
		target string
		want   bool
	}{
		{"a,b 1,2.5", "", true}, {"1,2 3,4", "", false}, {"a,b", "", true}, {"a,1", "", false}, {"x,1 y,2 x,3", "", false}, {"kind,1990 x,2 x,3", "", true},
		{"a,b c,d a,e", "", false}, {"a,b c,d e,f", "", true}, {"0,1,2 5,6,7 8,9,1", "", true}, {"1,2,3 5,6,7 8,9,1", "", true}, {"2,3,4 5,6,7 8,9,1", "", false}, {"0,1 5,6 8,9", "", false},
		{"1,y 2,z 3,z", "y", true}, {"1,7 2,8 3,8", "7", false}, {"a,b,1 1,2,3 1,2,3", "", true}, {"a,1,2 1,2,3 1,2,3", "", false}, {"1,2 3,4 5,6", "z", false}, {"1,y 2,y 3,z", "", false}, {"b,y,1 2,y,3 4,z,5", "", false}, {"?,b 1,2 3,4", "", true},
	} {
		var rows [][]string
		for line := range strings.SplitSeq(c.rows, " ") {
			rows = append(rows, strings.Split(line, ","))
		}
		if got := headed(rows[0], rows, '.', c.target); got != c.want {
			t.Errorf("%s has a header: %v", c.rows, got)
		}
	}
}

func read(t *testing.T, r Reader, text string) *Table {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := r.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// lines returns a table of one column beside a target, with a header.
func lines(values ...string) string {
	text := "a,y\n"
	for i, v := range values {
		text += fmt.Sprintf("%s,%g\n", v, 0.5+float64(i))
	}
	return text
}

func times(n int, f func(i int) string) (list []string) {
	for i := range n {
		list = append(list, f(i))
	}
	return list
}

// TestKindsAtLimits checks kinds of columns at the limits: words between numbers, codes with leading zeros, keys.
func TestKindsAtLimits(t *testing.T) {
	number := func(i int) string { return fmt.Sprint(i%8 + 3) }
	for name, c := range map[string]struct {
		values []string
		want   ColumnKind
	}{
		"per cent": {[]string{"0%", "5%", "12%"}, Number}, "fractions": {[]string{"0.5", "05.5"}, Number}, "codes": {[]string{"05", "12"}, Category}, "codes with nines": {[]string{"09", "12"}, Category}, "codes with zeros": {[]string{"00", "12"}, Category}, "a zero before a letter": {[]string{"0e1", "12"}, Number}, "a zero alone": {[]string{"0", "1"}, Number},
		"one word in 20": {append(times(20, number), "none of it"), Number}, "one word in 19": {append(times(19, number), "none of it"), Category},
		"19 keys": {times(19, func(i int) string { return fmt.Sprint("k", i) }), Category}, "20 keys": {times(20, func(i int) string { return fmt.Sprint("k", i) }), Ignore},
		"10 words of 20": {times(20, func(i int) string { return fmt.Sprint("k", i%10) }), Category}, "11 of 20": {times(20, func(i int) string { return fmt.Sprint("k", i%11) }), Ignore},
		"dates": {[]string{"2021-03-04", "?", "2021-03-05"}, Date}, "dates and a word": {[]string{"2021-03-04", "soon", "2021-03-05"}, Category}, "nothing": {[]string{"?", "", "NA"}, Ignore},
		"days and months": {[]string{"1/2/2021", "13/2/2021"}, Date}, "compact dates": {[]string{"20210304", "20210305"}, Number},
	} {
		if got := read(t, Reader{Format: Format{Header: 1}}, lines(c.values...)).Columns[0]; got.Kind != c.want {
			t.Errorf("%s: %s, want %s", name, got.Kind, c.want)
		}
	}
}

// TestTaskAtLimits checks when integers are classes: two of them, or a few that occur five times each
// and are close together.
func TestTaskAtLimits(t *testing.T) {
	target := func(n int, f func(i int) int) string {
		text := "a,y\n"
		for i := range n {
			text += fmt.Sprintf("%d.5,%d\n", i, f(i))
		}
		return text
	}
	for name, c := range map[string]struct {
		text    string
		classes int // 0: measured
	}{
		"two": {target(4, func(i int) int { return i % 2 * 1000 }), 1001}, "three, 15 rows": {target(15, func(i int) int { return 1 + i%3 }), 3}, "three, 14 rows": {target(14, func(i int) int { return 1 + i%3 }), 0},
		"three, 6 apart": {target(15, func(i int) int { return 1 + 3*(i%3) }), 3}, "three, 7 apart": {target(15, func(i int) int { return 1 + []int{0, 3, 7}[i%3] }), 0},
		"fifty": {target(250, func(i int) int { return 1 + i%50 }), 50}, "fifty-one": {target(255, func(i int) int { return 1 + i%51 }), 0}, "from 0 with a gap": {target(15, func(i int) int { return []int{0, 1, 3}[i%3] }), 4},
		"negative": {target(4, func(i int) int { return 2*(i%2) - 1 }), 2}, "a fraction": {"a,y\n1.5,1\n2.5,0\n3.5,0.5\n", 0},
	} {
		if got := read(t, Reader{Format: Format{Header: 1}}, c.text); len(got.Classes) != c.classes {
			t.Errorf("%s: classes %v, want %d", name, got.Classes, c.classes)
		}
	}
}

// TestCompleteRows checks that rows without a target value are left out of training, and that without
// a target there are none.
func TestCompleteRows(t *testing.T) {
	header := Format{Header: 1}
	for text, want := range map[string]string{"a,y\n1,0.5\n2,?\n3,1.5\n": "[0 2]", "a,y\n1,x\n2,?\n3,z\n": "[0 2]"} {
		got := read(t, Reader{Format: header}, text)
		if s := fmt.Sprint(got.Complete()); s != want {
			t.Errorf("%q: rows %s, want %s", text, s, want)
		}
		if fit, held := got.Divide(0.5, 1); len(fit) != 1 || len(held) != 1 || fit[0]+held[0] != 2 {
			t.Errorf("%q: %v to fit, %v held out", text, fit, held)
		}
	}
	got := read(t, Reader{Format: header, NoTarget: true}, "a,y\n1,0.5\n2,?\n")
	if s := fmt.Sprint(got.Complete()); s != "[0 1]" || got.Target != nil || len(got.Columns) != 2 {
		t.Errorf("rows %s of a table without a target", s)
	}
	if _, err := got.Targets([]int{0}); err == nil || !strings.Contains(err.Error(), "has no target column") {
		t.Error(err)
	}
	got = read(t, Reader{Format: header}, "a,y\n1,x\n2,?\n3,z\n")
	if y, err := got.Targets([]int{2, 0, 1}); err != nil || !slices.Equal(y.Data().([]int64), []int64{1, 0, -1}) {
		t.Errorf("targets %v, %v", y, err)
	}
	if got.Class(0) != 0 || got.Class(1) != -1 || got.Class(2) != 1 || got.Class(3) != -1 || got.Class(-1) != -1 {
		t.Error("classes of rows")
	}
}

// TestPreparedColumns checks the encoding of columns: which categories count, where float32 is too
// coarse, what is constant.
func TestPreparedColumns(t *testing.T) {
	text := "city,far,near,same,when,clock,y\n"
	for i := range 30 {
		city := "a"
		switch {
		case i == 3:
			city = "once"
		case i < 6:
			city = "b"
		case i == 8:
			city = ""
		}
		text += fmt.Sprintf("%s,%d,%d,7,2021-03-%02d,2021-03-%02d %02d:00:00,%d.5\n", city, 1_000_000+i, 1_000_000*i, 1+i, 1+i, i%24, i)
	}
	table := read(t, Reader{Format: Format{Header: 1}}, text)
	all := table.Complete()
	p, err := Fit(context.Background(), table, all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.words["city"]; !slices.Equal(got, []string{"", "a", "b", "once"}) {
		t.Errorf("categories %q", got)
	}
	types := map[string]string{}
	for _, f := range p.Fields {
		types[f.Name] = f.Type
	}
	if want := "map[city:string clock:float64 far:float64 near:float32 when:float64]"; fmt.Sprint(types) != want {
		t.Errorf("types %v, want %s", types, want)
	}
	if want := []string{"far", "near", "when", "when year sin", "when year cos", "when week sin", "when week cos", "clock", "clock year sin", "clock year cos", "clock week sin", "clock week cos", "clock day sin", "clock day cos"}; !slices.Equal(p.Names, want) {
		t.Errorf("numbers %q, want %q", p.Names, want)
	}
	lines := strings.Join(p.Describe(), "; ")
	for _, want := range []string{"city: category, 3 categories, missing: line 10;", "far: number;", "when: date, as 2006-01-02;", "clock: date, as 2006-01-02 15:04:05;", "column same is left out: its values in the training rows are all equal"} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q lacks %q", lines, want)
		}
	}
	// Among categories that are embedded, one that comes once trains the vector of the unknown ones. Of three words, three may be features.
	for most, want := range map[int][]string{2: {"", "a", "b"}, 3: {"", "a", "b"}, 4: {"", "a", "b", "once"}} {
		if few, err := Fit(context.Background(), table, all[:19], Options{OneHot: most}); err != nil || !slices.Equal(few.words["city"], want) {
			t.Errorf("%d features at most: categories %q, %v, want %q", most, few.words["city"], err, want)
		}
	}
	if few, err := Fit(context.Background(), table, all[6:19], Options{}); err != nil || !slices.Equal(few.words["city"], []string{"", "a"}) {
		t.Errorf("of rows 6 to 18: categories %q, %v", few.words["city"], err)
	}
	if p.Target != "y" || p.Classes != nil {
		t.Errorf("the target is %q of classes %v", p.Target, p.Classes)
	}
	if few, err := Fit(context.Background(), table, all[:20], Options{OneHot: 2}); err != nil || !slices.Equal(few.words["city"], []string{"", "a", "b"}) || !strings.Contains(strings.Join(few.Describe(), "; "), "city: category, 2 categories, embedded, missing: line 10") {
		t.Errorf("of 20 rows: categories %q, %v", few.words["city"], err)
	}
	// The features of a row, by hand: standardized numbers, then one of each category.
	g, err := Network{Hidden: []int{4, 3}}.New(p, nil, train.Scaling{Mean: 1, Deviation: 2})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.Feed(table, []int{0, 29, 8})
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(context.Background(), feed, "features")
	if err != nil {
		t.Fatal(err)
	}
	x := dtype.Slice[float32](out["features"].(*tensor.Dense))
	width := len(x) / 3
	deviation := math.Sqrt((30*30 - 1) / 12.) // of 0 to 29
	for _, c := range []struct {
		row, column int
		want        float64
	}{
		{0, 0, -14.5 / deviation}, {1, 0, 14.5 / deviation}, {0, 1, -14.5 / deviation}, {1, 1, 14.5 / deviation}, {0, 2, -14.5 / deviation},
		{0, width - 4, 0}, {0, width - 3, 0}, {0, width - 2, 1}, {0, width - 1, 0}, {1, width - 3, 1}, {1, width - 2, 0}, {2, width - 4, 1}, {2, width - 3, 0},
	} {
		if got := float64(x[c.row*width+c.column]); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("feature %d of row %d is %v, want %v", c.column, c.row, got, c.want)
		}
	}
	if width != len(p.Names)+4 {
		t.Errorf("%d features of %d numbers and 4 categories", width, len(p.Names))
	}
	for _, name := range []string{"hidden1.weight", "hidden2.weight", "deep.weight", "wide.weight"} {
		if _, err := g.Value(name); err != nil {
			t.Error(err)
		}
	}
}

// A table of words alone, and of one with missing numbers, which get a mark.
func TestPreparedWords(t *testing.T) {
	header := Format{Header: 1}
	words := read(t, Reader{Format: header}, "a,b,y\nx,u,0.5\nz,v,1.5\nx,v,2.5\n")
	p, err := Fit(context.Background(), words, words.Complete(), Options{})
	if err != nil || len(p.Names) != 0 || len(p.Fields) != 2 || !slices.Equal(p.words["a"], []string{"x", "z"}) || !slices.Equal(p.words["b"], []string{"u", "v"}) {
		t.Fatal(p, err)
	}
	gaps := read(t, Reader{Format: header}, "a,b,y\n1,5,0.5\n?,6,1.5\n3,7,2.5\n")
	if p, err = Fit(context.Background(), gaps, gaps.Complete(), Options{}); err != nil || !strings.Contains(p.Describe()[0], "missing: line 3") || strings.Contains(p.Describe()[1], "missing") {
		t.Fatal(p.Describe(), err)
	}
	if n := gaps.Columns[0].Note + gaps.Columns[1].Note; n != "" {
		t.Errorf("notes %q on clean columns", n)
	}
	g, err := Network{}.New(p, nil, train.Scaling{Deviation: 1})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := p.Feed(gaps, []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Eval(context.Background(), feed, "features")
	if err != nil {
		t.Fatal(err)
	}
	root := float32(math.Sqrt(1.5))
	want := []float32{-1, -root, 0, 0, 0, 1, 1, root, 0} // a, b, and whether a is missing
	for i, v := range dtype.Slice[float32](out["features"].(*tensor.Dense)) {
		if math.Abs(float64(v-want[i])) > 1e-6 {
			t.Errorf("feature %d is %v, want %v", i, v, want[i])
		}
	}
}

// TestMoments checks means, standard deviations and quantiles computed by hand.
func TestMoments(t *testing.T) {
	nan := math.NaN()
	m := newMoments(3, true, 4)
	m.add([]float64{1, 5, nan, 2, 5, 3})
	m.add([]float64{3, 5, 5, 6, 5, 7})
	mean, inverse, knots, marked := m.results()
	if !slices.Equal(mean, []float64{3, 5, 5}) || math.Abs(inverse[0]-1/math.Sqrt(3.5)) > 1e-12 || inverse[1] != 0 || math.Abs(inverse[2]-1/math.Sqrt(8./3)) > 1e-12 || !slices.Equal(marked, []int{2}) {
		t.Errorf("means %v, inverse deviations %v, missing in %v", mean, inverse, marked)
	}
	if q := knots[0]; len(q) != steps+1 || q[0] != 1 || q[steps] != 6 || q[steps/2] != 2.5 || q[1] != 1+3./32 {
		t.Errorf("quantiles %v", q)
	}
	if q := quantiles([]float64{7}); q[0] != 7 || q[steps] != 7 {
		t.Errorf("quantiles of one number %v", q)
	}
	many := newMoments(1, true, 3*sampled)
	for i := range 3 * sampled {
		many.add([]float64{float64(i)})
	}
	if n := len(many.sample[0]); n != 3*sampled/4 || many.sample[0][1] != 4 {
		t.Errorf("a sample of %d", n)
	}
	table := read(t, Reader{Format: Format{Header: 1}}, "a,y\n1,0.5\n2,1.5\n3,2.5\n4,2.5\n")
	if s := TargetScaling(table, []int{0, 1}); s != (train.Scaling{Mean: 1, Deviation: 0.5}) {
		t.Errorf("scaling %v", s)
	}
	if s := TargetScaling(table, []int{2, 3}); s != (train.Scaling{Mean: 2.5, Deviation: 1}) {
		t.Errorf("scaling of one value %v", s)
	}
}

// TestTexts checks descriptions of lists of names and lines.
func TestTexts(t *testing.T) {
	names := times(13, func(i int) string { return fmt.Sprint("c", i) })
	if got := brief(names[:12]); got != strings.Join(names[:12], ", ") {
		t.Error(got)
	}
	if got := brief(names); got != strings.Join(names[:12], ", ")+" … (13 in all)" {
		t.Error(got)
	}
	if got := places([]int{4}) + "; " + places([]int{4, 9}); got != "line 4; 2, the first in line 4" {
		t.Error(got)
	}
	for want, i := range map[string]int{"b": 1, "B": 1, "0": 0, "2": 2, "c": 2} {
		if got, err := find([]string{"a", "b", "c"}, want); err != nil || got != i {
			t.Errorf("%q is column %d, %v", want, got, err)
		}
	}
	if _, err := find([]string{"a"}, "1"); err == nil || err.Error() != `no column "1"; it has a` {
		t.Error(err)
	}
	for s, want := range map[string]Task{"": Auto, "auto": Auto, "Classes": Classes, "classification": Classes, "regression": Regression} {
		if got, err := ParseTask(s); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	if _, err := ParseTask("both"); err == nil {
		t.Error("a task of both")
	}
	kinds, err := ParseKinds(" age = Number, city=category,,x=y=date,age=number")
	if err != nil || fmt.Sprint(kinds) != "map[age:number city:category x=y:date]" {
		t.Error(kinds, err)
	}
}

// TestObjects checks rows given as JSON objects.
func TestObjects(t *testing.T) {
	s := Schema{Fields: []Field{{Name: "n", Kind: Number, Type: "float32"}, {Name: "d", Kind: Date, Layout: "2006-01-02", Type: "float64"}, {Name: "c", Kind: Category, Type: "string"}}}
	feed, err := s.FeedObjects([]map[string]any{{"n": 1.5, "d": "1970-01-03", "c": "x"}, {"n": "1,000.5", "d": "02.01.1970", "c": true}, {"n": nil, "d": "?", "c": "NA", "more": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(feed["n"].(*tensor.Dense).Data(), feed["d"].(*tensor.Dense).Data()), "[1.5 1000.5 NaN] [2 1 NaN]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	words := Schema{Fields: []Field{{Name: "c", Kind: Category, Type: "string"}, {Name: "t", Kind: Text, Type: "string"}}}
	if feed, err = words.FeedObjects([]map[string]any{{"c": "NA", "t": "NA"}, {"c": "x", "t": nil}}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q %q", feed["c"].(*dtype.Strings).Elems, feed["t"].(*dtype.Strings).Elems); got != `["" "x"] ["NA" ""]` {
		t.Error(got)
	}
	for _, c := range []struct {
		row  map[string]any
		want string
	}{
		{map[string]any{"n": 1, "d": "?"}, "table: no value for column c (category); null stands for a missing value"}, {map[string]any{"n": "one", "d": "?", "c": ""}, `table: column n: "one" is not a number`},
		{map[string]any{"n": 1, "d": "soon", "c": ""}, `table: column d: "soon" is not a date`}, {map[string]any{"n": []int{1}, "d": "?", "c": ""}, "table: column n: [1]: want a number or a text"},
	} {
		if _, err := s.FeedObjects([]map[string]any{c.row}); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// TestNamesAndRows checks that names and rows are kept as written.
func TestNamesAndRows(t *testing.T) {
	got := read(t, Reader{Format: Format{Header: 1}, KeepText: true}, "a, a ,a,,y\n1, x ,2,3,0.5\n4,,5,6,1.5\n")
	if want := []string{"a", "a.1", "a.2", "column 3", "y"}; !slices.Equal(got.Names, want) {
		t.Errorf("names %q, want %q", got.Names, want)
	}
	for i, want := range [][]string{{"1", "x", "2", "3", "0.5"}, {"4", "", "5", "6", "1.5"}} {
		if row := got.Raw(i); !slices.Equal(row, want) {
			t.Errorf("row %d is %q", i, row)
		}
	}
	const many = 1 << 17 // tried one by one, their names would take hours
	path := filepath.Join(t.TempDir(), "many.csv")
	if err := os.WriteFile(path, []byte(strings.Repeat("a,", many-1)+"a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rows, err := Format{Header: 1}.Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if len(rows.Names) != many || rows.Names[many-1] != fmt.Sprintf("a.%d", many-1) {
		t.Errorf("%d names, the last %s", len(rows.Names), rows.Names[len(rows.Names)-1])
	}
	if c := got.Column("a.2"); c == nil || c.Number[1] != 5 || got.Column("a.3") != nil {
		t.Error("columns by their names")
	}
	// Between tabs a field may be empty, and spaces are cut off.
	tabs := read(t, Reader{Format: Format{Header: 1}}, "a\tb\ty\n1\t\t0.5\n\t x \t1.5\n\tz\t2.5\n")
	if a, b := tabs.Columns[0], tabs.Columns[1]; a.Number[0] != 1 || !math.IsNaN(a.Number[1]) || b.Code[0] != -1 || b.Words[b.Code[1]] != "x" {
		t.Errorf("%v, %v %q", a.Number, b.Code, b.Words)
	}
	for s, want := range map[string]float64{"1970-01-02T12:00:00Z": 1.5, "1969-12-31T00:00:00Z": -1, "1970-01-01T00:00:00.5Z": 0.5 / 86400, "1970-01-01T02:00:00+01:00": 1. / 24} {
		if got, ok := day(s, "2006-01-02T15:04:05Z07:00"); !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is day %v, want %v", s, got, want)
		}
	}
	if x, ok := day("soon", "2006-01-02"); ok || !math.IsNaN(x) {
		t.Error("a word is a date")
	}
	if feed, err := (Schema{Fields: []Field{{Name: "n", Kind: Number, Type: "float32"}}}).FeedObjects(nil); err != nil || feed["n"].Shape()[0] != 0 {
		t.Errorf("no rows: %v, %v", feed, err)
	}
	for _, c := range []struct {
		name string
		x    []float64
		want bool
	}{
		{"id", []float64{7, 5, 6}, true}, {"id", []float64{7, 5, 8}, false}, {"id", []float64{5, 5, 6}, false}, {"id", []float64{1, 2}, false}, {"id", []float64{0.5, 1.5, 2.5}, true}, {"id", []float64{1, 1.5, 2}, false}, {"id", []float64{1, math.NaN(), 2}, false},
		{"first", []float64{0, 1, 2}, true}, {"first", []float64{1, 2, 3}, true}, {"first", []float64{2, 3, 4}, false}, {"first", []float64{1, 3, 2}, false}, {"second", []float64{0, 1, 2}, false}, {"order_id", []float64{3, 1, 2}, true}, {"orderId", []float64{3, 1, 2}, true}, {"said", []float64{3, 1, 2}, false},
	} {
		table := &Table{Names: []string{"first", "second"}}
		if got := table.RowNumber(&Column{Name: c.name, Kind: Number, Number: c.x}); got != c.want {
			t.Errorf("%s %v numbers the rows: %v", c.name, c.x, got)
		}
	}
	if (&Table{}).RowNumber(&Column{Name: "first", Kind: Number, Number: []float64{0, 1, 2}}) || (&Table{}).RowNumber(&Column{Name: "id", Kind: Date, Number: []float64{0, 1, 2}}) || (&Table{}).RowNumber(nil) {
		t.Error("a column of no table, of dates, or none")
	}
	c := &Column{Number: []float64{1, math.NaN(), 2, math.Inf(1)}}
	if c.Gap([]int{0, 2}) != -1 || c.Gap([]int{2, 1}) != 1 || c.Gap([]int{0, 3}) != 3 || (&Column{}).Gap([]int{0}) != -1 {
		t.Error("where a value is missing")
	}
}
