package budget

import (
	"bytes"
	"fmt"
	"io"
)

// Read reads n bytes and expects r to end there. The memory grows with the data received, not with the
// size claimed by a header, and only up to the budget.
func Read(r io.Reader, n int) ([]byte, error) {
	if left := Left(); int64(n) > left {
		return nil, fmt.Errorf("%d bytes of data are more than the %d bytes of memory that are left", n, left)
	}
	var b bytes.Buffer
	got, err := io.Copy(&b, io.LimitReader(r, int64(n)))
	if err != nil {
		return nil, err
	}
	if got < int64(n) {
		return nil, fmt.Errorf("truncated: %d bytes of data, want %d", got, n)
	}
	if k, err := r.Read(make([]byte, 1)); k > 0 {
		return nil, fmt.Errorf("more data than the header says, %d bytes", n)
	} else if err != nil && err != io.EOF { // a broken gzip checksum, for example
		return nil, err
	}
	return b.Bytes(), nil
}
