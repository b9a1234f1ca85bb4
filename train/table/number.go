package table

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// absent are the words for a missing value, in lower case.
var absent = []string{"", "?", "-", "--", ".", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none", "nil", "missing", "#null!", "#div/0!", "#value!"}

func missing(s string) bool {
	return len(s) <= 7 && slices.Contains(absent, strings.ToLower(s))
}

// number parses a number with the given decimal mark. Groups of three digits may be separated by the other mark, an apostrophe or a
// space; currency and percent signs are ignored. Words such as inf are not numbers.
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

// plain reports whether a number has none of Go's syntax that tables lack: other bases, underscores, infinity and NaN.
func plain(s string) bool { return !strings.ContainsAny(s, "xXpP_nN") }

// ungroup rewrites a number with a decimal point and without separators between groups of digits.
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
