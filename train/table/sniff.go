package table

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// sniff finds out what of the format is not set from the first lines of a file.
func (f *Format) sniff(head string) {
	if f.Comma == 0 {
		f.Comma = separator(head)
	}
	if f.Decimal == 0 {
		f.Decimal = f.decimal(sample(head, f.Comma))
	}
}

// separator returns the candidate that cuts the first lines into the same number of columns, the most of them.
func separator(head string) rune {
	best, score := ',', 0.0
	for _, c := range []rune{',', ';', '\t', '|'} {
		counts := map[int]int{}
		rows := sample(head, c)
		for _, r := range rows {
			counts[len(r)]++
		}
		for columns, n := range counts {
			// Agreement counts before the number of columns: a comma in some texts gives few lines alike.
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
		if err != nil { // the end: with lazy quotes and any number of fields there is no other
			break
		}
		for i, s := range rec {
			rec[i] = strings.TrimSpace(s)
		}
		rows = append(rows, rec)
	}
	return rows
}

// decimal returns the decimal mark with which the fields are numbers. Where all numbers are such with either, because 1,234 and 1.234 may be
// thousands or fractions, it is that of the table the model was trained on; else a comma if there are some and semicolons separate the
// columns, as spreadsheets write tables where the comma is the decimal mark; else a point.
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

// headed reports whether the first record has names: words above columns of numbers, more than numbers above them; or, words that
// do not come again above columns whose words do, or above nothing but text; or it has the target's name.
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
			if len(below) < len(rows)-1 && !above { // its words come again, that of the first line does not
				strange++
			}
		}
	}
	return words > numbers || !again && (strange > 0 || texts == len(first)) || texts == 0 && numbered(first)
}

// numeric reports whether most of what column i holds is numbers.
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

// numbered reports whether a record counts its columns, 0, 1, 2 … or 1, 2, 3 …: the header that spreadsheets and data frames
// without names write.
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
