package budget

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// Records reads a table. A record that would not fit in memory, with the list of its fields, is an error before it is read whole: a record
// has no length, and one byte, a comma, may become a hundred.
type Records struct {
	in      io.Reader
	n, most int64 // approximate bytes of the current record, and their limit
	comma   []byte
}

// recordShare limits a record to 1/recordShare of the memory that is left, because its fields are copied and records are read ahead.
const recordShare = 16

// RecordFrom is the size in bytes that a record may always have.
const RecordFrom = 1 << 18

// perField is about how many bytes a field of a record takes besides its text, while the list of fields is enlarged.
const perField = 96

// NewRecords returns a reader of records whose fields are separated by comma; 0: the fields are not counted.
func NewRecords(in io.Reader, comma rune) *Records {
	r := &Records{in: in, most: max(Left()/recordShare, RecordFrom)}
	if comma != 0 {
		r.comma = utf8.AppendRune(nil, comma)
	}
	return r
}

// Next begins a record.
func (r *Records) Next() { r.n = 0 }

// Read implements [io.Reader].
func (r *Records) Read(p []byte) (int, error) {
	if r.n > r.most {
		return 0, fmt.Errorf("a record of more than %d bytes, of which each field takes %d, does not fit in what is left of the memory limit, which %s sets", r.most, perField, Setting)
	}
	n, err := r.in.Read(p)
	r.n += int64(n)
	if len(r.comma) > 0 {
		r.n += perField * int64(bytes.Count(p[:n], r.comma))
	}
	return n, err
}
