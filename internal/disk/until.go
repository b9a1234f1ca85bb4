package disk

import (
	"context"
	"io"
	"io/fs"
)

// atOnce is how many bytes are read or written between two looks at a context.
const atOnce = 4 << 20

// Until returns r with reads that are errors once ctx, which may be nil, ends. It has the length, or is the file, that r is.
func Until(ctx context.Context, r io.Reader) io.Reader {
	if ctx == nil || ctx.Done() == nil {
		return r
	}
	u := reader{ctx, r}
	switch x := r.(type) {
	case interface{ Len() int }:
		return sized{u, x}
	case fs.File:
		return file{x, u}
	}
	return u
}

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (u reader) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b[:min(len(b), atOnce)])
}

type sized struct {
	reader
	of interface{ Len() int }
}

func (s sized) Len() int { return s.of.Len() }

type file struct {
	fs.File
	reader reader
}

func (f file) Read(b []byte) (int, error) { return f.reader.Read(b) }

// WriterUntil returns w with writes that are errors once ctx, which may be nil, ends.
func WriterUntil(ctx context.Context, w io.Writer) io.Writer {
	if ctx == nil || ctx.Done() == nil {
		return w
	}
	return writer{ctx, w}
}

type writer struct {
	ctx context.Context
	w   io.Writer
}

func (u writer) Write(b []byte) (n int, err error) {
	for err == nil && n < len(b) {
		if err = u.ctx.Err(); err != nil {
			break
		}
		k := 0
		k, err = u.w.Write(b[n:min(n+atOnce, len(b))])
		n += k
	}
	return n, err
}
