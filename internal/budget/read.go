package budget

import (
	"fmt"
	"io"
	"io/fs"
)

// Bytes returns n zeroed bytes, charged before they are allocated and for as long as they are reachable.
func Bytes(n int) ([]byte, error) { return Slice[byte](n) }

// arrives is how many bytes must have arrived before memory for all of them is allocated: a header alone takes none.
const arrives = 1 << 18

// Read reads n bytes into the memory that create returns, which is charged, as by Made, before it is created and for as long as it is reachable.
// More than can be charged is an error before anything is read.
func Read(r io.Reader, n int, create func() []byte) ([]byte, error) {
	if n >= unchecked {
		if err := holds(int64(n)); err != nil {
			return nil, err
		}
	}
	first := make([]byte, min(n, arrives))
	got, err := io.ReadFull(r, first)
	b := first[:0]
	if err == nil {
		if b, err = Filled(n, func(int) []byte { return create() }); err != nil {
			return nil, fmt.Errorf("reading %d bytes: %w", n, err)
		}
		copy(b, first)
		more := 0
		more, err = io.ReadFull(r, b[got:])
		got += more
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = fmt.Errorf("truncated: %d bytes of data, want %d", got, n)
	}
	return b, err
}

// ReadToEnd is Read of all that r has.
func ReadToEnd(r io.Reader, n int, create func() []byte) ([]byte, error) {
	b, err := Read(r, n, create)
	if err != nil {
		return nil, err
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
		if info, err := x.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 { // some systems know the size only when they are read
			n = int(info.Size())
		}
	}
	if n < 0 {
		return readGrowing(r)
	}
	if err := holds(int64(n)); err != nil {
		return nil, err
	}
	b, err := Bytes(n)
	if err != nil {
		return nil, fmt.Errorf("reading %d bytes: %w", n, err)
	}
	got, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return b[:got], err // a file that grows meanwhile is read as it was
}

// holds returns an error if n bytes do not fit.
func holds(n int64) error {
	if err := Fits(n); err != nil {
		return fmt.Errorf("reading %d bytes: %w", n, err)
	}
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

// readGrowing reads r to its end, in memory that grows with the data.
func readGrowing(r io.Reader) ([]byte, error) {
	b := make([]byte, 0, firstRead)
	for {
		if len(b) == cap(b) {
			more, err := Bytes(cap(b) + cap(b)/2)
			if err != nil {
				return nil, fmt.Errorf("more than %d bytes of data: %w", len(b), err)
			}
			b = more[:copy(more, b)]
		}
		k, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+k]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
