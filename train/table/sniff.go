package table

import (
	"regexp"
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
		f.Decimal = decimal(sample(head, f.Comma))
	}
}

// separator is the candidate that cuts the first lines into the same number of columns, the most of them.
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

// sample is the first records, up to 200, whatever their number of columns.
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

var (
	withComma = regexp.MustCompile(`^[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][-+]?\d+)?$`)
	withPoint = regexp.MustCompile(`^[-+]?(\d*|\d{1,3}(,\d{3})+)\.\d+([eE][-+]?\d+)?$`)
	grouped   = regexp.MustCompile(`^[-+]?\d{1,3}([.,]\d{3})+$`)
)

// decimal is the decimal mark that the fields are written with. 1.234 and 1,234 alone may be thousands: they do not decide.
func decimal(rows [][]string) rune {
	commas, points := 0, 0
	for _, rec := range rows {
		for _, s := range rec {
			switch {
			case grouped.MatchString(s):
				if strings.ContainsRune(s, '.') {
					points++ // 1.234 is read as a fraction
				}
			case withComma.MatchString(s):
				commas++
			case withPoint.MatchString(s):
				points++
			}
		}
	}
	if commas > 0 && (points == 0 || commas > 4*points) {
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
