package budget

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
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

// ReadAll reads r to its end, unless it has more bytes than are left of the budget, or more than a third of those if its length is not known:
// memory for such data is enlarged step by step, and the old one copied to the new one.
func ReadAll(r io.Reader) ([]byte, error) {
	left := max(Left(), 0)
	switch x := r.(type) {
	case interface{ Len() int }: // bytes.Reader, strings.Reader
		if n := x.Len(); int64(n) > left {
			return nil, fmt.Errorf("%d bytes of data are more than the %d bytes of memory that are left", n, left)
		}
		return io.ReadAll(r)
	case fs.File:
		if info, err := x.Stat(); err == nil && info.Mode().IsRegular() {
			if info.Size() > left {
				return nil, fmt.Errorf("%d bytes of data are more than the %d bytes of memory that are left", info.Size(), left)
			}
			b := bytes.NewBuffer(make([]byte, 0, int(info.Size())+bytes.MinRead))
			_, err := b.ReadFrom(io.LimitReader(r, left))
			return b.Bytes(), err
		}
	}
	most := left / 3
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, fmt.Errorf("more than %d bytes of data, a third of the memory that is left", most)
	}
	return b, err
}
