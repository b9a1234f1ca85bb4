package table

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// absent are the words that stand for a missing value, in lower case.
var absent = []string{"", "?", "-", "--", ".", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "missing", "#null!", "#div/0!", "#value!"}

func missing(s string) bool {
	return len(s) <= 7 && slices.Contains(absent, strings.ToLower(s))
}

// number reads a number with the given decimal mark. Groups of three digits may be apart by the other mark, by an
// apostrophe or by a space; a sign of currency or per cent is passed over. Words such as inf are not numbers.
func number(s string, decimal rune) (float64, bool) {
	if s == "" {
		return 0, false
	}
	if decimal == '.' {
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			return x, plain(s)
		}
	}
	s = strings.Trim(s, "$€£¥% \u00a0")
	s, ok := ungroup(s, decimal)
	if !ok {
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && plain(s)
}

// plain excludes what Go's numbers have beyond those of tables: other bases, and infinity, which has an n as NaN has.
func plain(s string) bool { return !strings.ContainsAny(s, "xXpP_nN") }

// ungroup writes a number with a decimal point and without marks between groups of digits.
func ungroup(s string, decimal rune) (string, bool) {
	whole, rest := s, ""
	if i := strings.IndexRune(s, decimal); i >= 0 {
		whole, rest = s[:i], "."+s[i+1:]
	} else if i := strings.IndexAny(s, "eE"); i >= 0 {
		whole, rest = s[:i], s[i:]
	}
	other := ","
	if decimal == ',' {
		other = "."
	}
	for _, mark := range []string{other, "'", "’", " ", "\u00a0", "\u202f"} {
		groups := strings.Split(whole, mark)
		if len(groups) < 2 {
			continue
		}
		for i, g := range groups {
			if digits := strings.TrimLeft(g, "+-"); i > 0 && len(g) != 3 || i == 0 && (len(digits) < 1 || len(digits) > 3 || digits[0] == '0') {
				return "", false
			}
		}
		whole = strings.Join(groups, "")
		break
	}
	return whole + rest, true
}

// whole reports whether x is an integer that float64 holds exactly.
func whole(x float64) bool { return x == math.Trunc(x) && math.Abs(x) < 1<<53 }
