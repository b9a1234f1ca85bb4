package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/graft-ml/graft/internal/budget"
)

// open opens a file for reading, through gzip where its content says so,
// whatever its name.
func open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	b := bufio.NewReaderSize(f, 1<<16)
	if head, _ := b.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return stream{b, f}, nil
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("data: %s: %w", path, err)
	}
	return stream{z, f}, nil
}

type stream struct {
	io.Reader
	io.Closer
}

// size is the product of dims, or an error when one is negative or the result
// times width does not fit.
func size(dims []int, width int) (int, error) {
	n := width
	for _, d := range dims {
		if d < 0 || (d > 0 && n > math.MaxInt/d) {
			return 0, fmt.Errorf("impossible shape %v", dims)
		}
		n *= d
	}
	return n / width, nil
}

// exactly reads n bytes and wants the stream to end there. Memory grows with
// what arrives, not with what a header claims, and no further than the budget.
func exactly(r io.Reader, n int) ([]byte, error) {
	if left := budget.Left(); int64(n) > left {
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
	} else if err != nil && err != io.EOF { // a broken gzip checksum, for one
		return nil, err
	}
	return b.Bytes(), nil
}
