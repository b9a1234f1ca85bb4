package table

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// sniff detects the parts of the format that are not set from the first lines of a file.
func (f *Format) sniff(head string) {
	if f.Comma == 0 {
		f.Comma = separator(head)
	}
	if f.Decimal == 0 {
		f.Decimal = f.decimal(sample(head, f.Comma))
	}
}

// preamble finds the lines before a table, and their size in bytes: sep=;, by which spreadsheets announce the separator, and comments,
// lines that begin with # and have another number of columns than the line after them, as a header that begins with # has not.
func (f *Format) preamble(head string) (lines, size int) {
	rest := head
	cut := func(end int) {
		lines++
		rest = rest[end+1:]
	}
	end := strings.IndexByte(rest, '\n')
	if end >= 0 {
		if s, ok := strings.CutPrefix(strings.TrimRight(rest[:end], "\r"), "sep="); ok && len(s) == 1 {
			if f.Comma == 0 {
				f.Comma = rune(s[0])
			}
			cut(end)
		}
	}
	comments := 0
	for at := rest; strings.HasPrefix(at, "#"); comments++ {
		end := strings.IndexByte(at, '\n')
		if end < 0 {
			return lines, len(head) - len(rest) // nothing but comments
		}
		at = at[end+1:]
	}
	for ; comments > 0; comments-- {
		end := strings.IndexByte(rest, '\n')
		if comments == 1 {
			comma := f.Comma
			if comma == 0 {
				comma = separator(rest[end+1:])
			}
			if pair := sample(rest, comma); len(pair) > 1 && len(pair[0]) == len(pair[1]) {
				break
			}
		}
		cut(end)
	}
	return lines, len(head) - len(rest)
}

// separator returns the candidate that splits most of the first lines into the same number of columns.
func separator(head string) rune {
	best, score := ',', 0.0
	for _, c := range []rune{',', ';', '\t', '|'} {
		counts := map[int]int{}
		rows := sample(head, c)
		for _, r := range rows {
			counts[len(r)]++
		}
		for columns, n := range counts {
			// Agreement counts more than the number of columns: commas inside texts make few lines agree.
			if s := float64(n) / float64(len(rows)) * (2 - 1/float64(columns)); columns > 1 && s > score {
				best, score = c, s
			}
		}
	}
	return best
}

// sample returns the first records, up to 200, whatever their number of columns.
func sample(head string, comma rune) [][]string {
	r := reader(strings.NewReader(head), comma)
	r.FieldsPerRecord, r.ReuseRecord = -1, false
	var rows [][]string
	for len(rows) < 200 {
		rec, err := r.Read()
		if err != nil { // io.EOF, the only error with lazy quotes and any number of fields
			break
		}
		for i, s := range rec {
			rec[i] = strings.TrimSpace(s)
		}
		rows = append(rows, rec)
	}
	return rows
}

// decimal returns the decimal mark with which the fields are numbers. If all are numbers with either mark (1,234 and 1.234 may be
// thousands or fractions), it is the mark of the table on which the model was trained; otherwise a comma if the numbers have some and
// columns are separated by semicolons, as spreadsheets write them in such locales; otherwise a point.
func (f *Format) decimal(rows [][]string) rune {
	commas, points, either := 0, 0, false
	for _, rec := range rows {
		for _, s := range rec {
			_, point := number(s, '.')
			_, comma := number(s, ',')
			switch {
			case comma && !point:
				commas++
			case point && !comma:
				points++
			case comma && strings.ContainsRune(s, ','):
				either = true
			}
		}
	}
	switch {
	case commas > 0 || points > 0:
		if commas > 4*points {
			return ','
		}
	case f.likely != 0:
		return f.likely
	case either && f.Comma == ';':
		return ','
	}
	return '.'
}

// headed reports whether the first record is a header: it has more words than numbers above numeric columns; or it has unique words
// above columns with repeated words, or above text only; or it has the target's name.
func headed(first []string, rows [][]string, decimal rune, target string) bool {
	if len(rows) < 2 {
		return !anyNumber(first, decimal)
	}
	if slices.Contains(first, target) && strings.ContainsFunc(target, unicode.IsLetter) {
		return true
	}
	words, numbers, texts, strange, again := 0, 0, 0, 0, false
	for i, s := range first {
		_, num := number(s, decimal)
		above := numeric(rows[1:], i, decimal)
		switch {
		case num && above:
			numbers++
		case !num && !missing(s):
			texts++
			if above {
				words++
			}
			below := map[string]bool{}
			for _, r := range rows[1:] {
				if i < len(r) {
					below[r[i]] = true
				}
			}
			again = again || below[s]
			if len(below) < len(rows)-1 && !above { // words are repeated, except that of the first line
				strange++
			}
		}
	}
	return words > numbers || !again && (strange > 0 || texts == len(first)) || texts == 0 && numbered(first)
}

// numeric reports whether most values of column i are numbers.
func numeric(rows [][]string, i int, decimal rune) bool {
	all, numbers := 0, 0
	for _, r := range rows {
		if i >= len(r) || missing(r[i]) {
			continue
		}
		all++
		if _, ok := number(r[i], decimal); ok {
			numbers++
		}
	}
	return 2*numbers > all
}

func anyNumber(rec []string, decimal rune) bool {
	for _, s := range rec {
		if _, ok := number(s, decimal); ok {
			return true
		}
	}
	return false
}

// numbered reports whether a record numbers its columns, 0, 1, 2 … or 1, 2, 3 …: the header of spreadsheets and data frames without
// column names.
func numbered(first []string) bool {
	if len(first) < 3 {
		return false
	}
	for start := range 2 {
		ok := true
		for i, s := range first {
			ok = ok && s == strconv.Itoa(i+start)
		}
		if ok {
			return true
		}
	}
	return false
}
