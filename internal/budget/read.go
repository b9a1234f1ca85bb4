package budget

import (
	"fmt"
	"io"
	"io/fs"
)

// Bytes returns n zeroed bytes, charged before they are allocated and for as long as they are reachable.
func Bytes(n int) ([]byte, error) {
	if n < unchecked {
		return make([]byte, n), nil
	}
	if err := Charge(int64(n)); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	discharged(&b[0], int64(n))
	return b, nil
}

// Read reads n bytes and expects r to end there. The memory grows with the data received, not with the
// size claimed by a header, and only up to the budget. It is charged for as long as it is reachable.
func Read(r io.Reader, n int) ([]byte, error) {
	if err := holds(int64(n)); err != nil {
		return nil, err
	}
	b, ended, err := read(r, n)
	if err != nil {
		return nil, err
	}
	if ended && len(b) < n {
		return nil, fmt.Errorf("truncated: %d bytes of data, want %d", len(b), n)
	}
	if k, err := r.Read(make([]byte, 1)); k > 0 {
		return nil, fmt.Errorf("more data than the header says, %d bytes", n)
	} else if err != nil && err != io.EOF { // a broken gzip checksum, for example
		return nil, err
	}
	return b, nil
}

// ReadAll reads r to its end. What it reads is charged before, and for as long as it is reachable: if the length of r is not
// known, beside what it is enlarged from, which is two thirds as much.
func ReadAll(r io.Reader) ([]byte, error) {
	n := -1
	switch x := r.(type) {
	case interface{ Len() int }: // bytes.Reader, strings.Reader
		n = x.Len()
	case fs.File:
		if info, err := x.Stat(); err == nil && info.Mode().IsRegular() {
			if err := holds(info.Size()); err != nil {
				return nil, err
			}
			if n = int(info.Size()); n == 0 {
				n = -1 // some systems know only when they are read
			}
		}
	}
	if n < 0 {
		b, _, err := read(r, int(^uint(0)>>1))
		return b, err
	}
	if err := holds(int64(n)); err != nil {
		return nil, err
	}
	b, err := Bytes(n)
	if err != nil {
		return nil, fmt.Errorf("%d bytes of data: %w", n, err)
	}
	got, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return b[:got], err // a file that grows meanwhile is read as it was
}

// holds returns an error if n bytes do not fit.
func holds(n int64) error {
	err := Charge(n)
	if err != nil {
		return fmt.Errorf("%d bytes of data: %w", n, err)
	}
	Discharge(n)
	return nil
}

// ReadFile is fs.ReadFile, charged as by ReadAll.
func ReadFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f)
}

// firstRead is how many bytes are allocated for data of unknown length.
const firstRead = 4096

// read reads up to n bytes, in memory that grows with them. ended reports whether there are fewer.
func read(r io.Reader, n int) (b []byte, ended bool, err error) {
	b = make([]byte, 0, min(n, firstRead))
	for len(b) < n {
		if len(b) == cap(b) {
			more, err := Bytes(min(n, cap(b)+cap(b)/2))
			if err != nil {
				return nil, false, fmt.Errorf("more than %d bytes of data: %w", len(b), err)
			}
			b = more[:copy(more, b)]
		}
		k, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+k]
		if err == io.EOF {
			return b, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return b, false, nil
}
