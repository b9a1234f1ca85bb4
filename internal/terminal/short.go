package terminal

import "unicode/utf8"

// Short returns err with a text of at most some 600 bytes: of a longer one, which quotes what a file has, the middle is left out.
func Short(err error) error {
	if err == nil || len(err.Error()) <= longest {
		return err
	}
	return shortError{err}
}

const longest = 600

type shortError struct{ err error }

func (e shortError) Error() string {
	s := e.err.Error()
	from, to := longest/2, len(s)-longest/2
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + "…" + s[to:]
}

func (e shortError) Unwrap() error { return e.err }
