package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"

	"github.com/graft-ml/graft/internal/disk"
)

// open opens a file for reading, and decompresses it if its content is gzip,
// regardless of its name.
func open(path string) (io.ReadCloser, error) {
	f, err := disk.Open(path)
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

// size returns the product of dims, or an error if one is negative or the result
// times width overflows.
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
