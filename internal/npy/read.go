package npy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// maxHeader bounds the bytes of a header; only those of records are longer.
const maxHeader = 1 << 16

// stringSize is the size in bytes of a Go string without its characters: for short ones, many times
// their size in the file.
const stringSize = 16

// maxRank bounds the axes, which columns.read goes through for each element.
const maxRank = 64

// header describes the array that follows it.
type header struct {
	letter  string // NumPy's letter of the type
	width   int    // bytes of an element, or characters of a text
	big     bool   // most significant byte first
	fortran bool   // the first axis varies fastest
	shape   []int
}

// Read reads an array, of version 1 to 3, of either byte order and any order of axes, to the end of r: a *tensor.Dense, or
// *dtype.Strings for an array of texts (Unicode or bytes). Python objects and records are errors.
func Read(r io.Reader) (dtype.Value, error) {
	br := bufio.NewReader(r)
	h, err := readHeader(br)
	if err != nil {
		return nil, err
	}
	width := h.width
	dt, text := elementType(h.letter+strconv.Itoa(h.width)), h.letter == "U" || h.letter == "S"
	switch {
	case h.letter == "O":
		return nil, fmt.Errorf("holds Python objects: want an array of numbers, sequences padded to one length, or texts, as numpy.array(list, dtype=str) makes it")
	case text && (h.width < 1 || h.width > 1<<24):
		return nil, fmt.Errorf("texts of %d characters", h.width)
	case h.letter == "U":
		width *= 4
	case !text && dt == dtype.Undefined:
		return nil, fmt.Errorf("element type %q is not supported", h.letter+strconv.Itoa(h.width))
	}
	n, err := dtype.Count(h.shape)
	if err == nil && n > math.MaxInt/width {
		err = fmt.Errorf("%d elements of %d bytes", n, width)
	}
	if err != nil {
		return nil, fmt.Errorf("impossible shape %v: %w", h.shape, err)
	}
	var d *tensor.Dense
	create := func() []byte {
		if text {
			return make([]byte, n*width)
		}
		d = dtype.New(dt, h.shape...)
		return dtype.Bytes(d)
	}
	read := budget.ReadToEnd
	if h.fortran {
		read = columns{h.shape, width}.read
	}
	data, err := read(br, n*width, create)
	if err != nil {
		return nil, err
	}
	if text {
		if err := budget.Fits(int64(n) * stringSize); err != nil {
			return nil, fmt.Errorf("%d texts: %w", n, err)
		}
		list, err := budget.Filled(n, func(int) []string { return texts(h, data, n, width) })
		if err != nil {
			return nil, err
		}
		return dtype.NewStrings(list, h.shape...)
	}
	if h.big == littleEndian() {
		swapBytes(data, dt)
	}
	if dt == dtype.Bool { // a Go bool other than 0 and 1 breaks the program
		for i, v := range data {
			data[i] = min(v, 1)
		}
	}
	return d, nil
}

var field = struct{ descr, fortran, shape *regexp.Regexp }{
	regexp.MustCompile(`'descr'\s*:\s*'([<>|=]?)([a-zA-Z])(\d*)'`),
	regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`),
	regexp.MustCompile(`'shape'\s*:\s*\(([\d,\sL]*)\)`),
}

func readHeader(r io.Reader) (h header, err error) {
	var start [len(magic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || string(start[:len(magic)]) != magic {
		return h, fmt.Errorf("not a numpy array file")
	}
	size := make([]byte, 4)
	length := size
	if start[len(magic)] == 1 {
		length = size[:2]
	}
	if _, err := io.ReadFull(r, length); err != nil {
		return h, fmt.Errorf("truncated in the header")
	}
	n := binary.LittleEndian.Uint32(size)
	if n > maxHeader {
		return h, fmt.Errorf("header of %d bytes, too long for an array of numbers", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, fmt.Errorf("truncated in the header")
	}
	descr, order, shape := field.descr.FindSubmatch(text), field.fortran.FindSubmatch(text), field.shape.FindSubmatch(text)
	if descr == nil || order == nil || shape == nil {
		return h, fmt.Errorf("unsupported header %q", bytes.TrimSpace(text))
	}
	h.big, h.letter, h.fortran = string(descr[1]) == ">", string(descr[2]), string(order[1]) == "True"
	if len(descr[3]) > 0 {
		if h.width, err = strconv.Atoi(string(descr[3])); err != nil {
			return h, err
		}
	}
	h.shape = []int{}
	for _, d := range strings.FieldsFunc(string(shape[1]), func(c rune) bool { return c < '0' || c > '9' }) {
		n, err := strconv.Atoi(d)
		if err != nil {
			return h, fmt.Errorf("shape (%s): %w", shape[1], err)
		}
		h.shape = append(h.shape, n)
	}
	if len(h.shape) > maxRank {
		return h, fmt.Errorf("%d axes, want at most %d, as NumPy does", len(h.shape), maxRank)
	}
	return h, nil
}

// elementType returns the inverse of codes, Undefined for unknown codes.
func elementType(code string) dtype.DType {
	for dt, c := range codes {
		if c == code {
			return dt
		}
	}
	return dtype.Undefined
}

// columns are elements of which the first axis varies fastest.
type columns struct {
	shape []int
	width int // bytes of an element
}

// read is budget.ReadToEnd of them, each to its place in row-major order.
func (c columns) read(r io.Reader, n int, create func() []byte) ([]byte, error) {
	const arrives = 1 << 18 // before memory for all of them is allocated
	br := bufio.NewReaderSize(r, arrives)
	if first, err := br.Peek(min(n, arrives)); err == io.EOF {
		return nil, fmt.Errorf("truncated: %d bytes of data, want %d", len(first), n)
	} else if err != nil {
		return nil, err
	}
	to, err := budget.Filled(n, func(int) []byte { return create() })
	if err != nil {
		return nil, fmt.Errorf("reading %d bytes: %w", n, err)
	}
	index, stride := make([]int, len(c.shape)), make([]int, len(c.shape))
	step := c.width
	for i, d := range slices.Backward(c.shape) {
		stride[i] = step
		step *= d
	}
	at := 0
	for got := 0; got < n; got += c.width {
		if k, err := io.ReadFull(br, to[at:at+c.width]); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("truncated: %d bytes of data, want %d", got+k, n)
		} else if err != nil {
			return nil, err
		}
		for axis := range c.shape { // count up, the first axis fastest
			index[axis]++
			at += stride[axis]
			if index[axis] < c.shape[axis] {
				break
			}
			at -= index[axis] * stride[axis]
			index[axis] = 0
		}
	}
	if _, err := br.ReadByte(); err == nil {
		return nil, fmt.Errorf("more data than the header says, %d bytes", n)
	} else if err != io.EOF { // a broken gzip checksum, for example
		return nil, err
	}
	return to, nil
}

// texts decodes n texts of width bytes each, which end in zeros if they are shorter.
func texts(h header, data []byte, n, width int) []string {
	var order binary.ByteOrder = binary.LittleEndian
	if h.big {
		order = binary.BigEndian
	}
	list := make([]string, n)
	for i := range list {
		b := data[i*width : (i+1)*width]
		if h.letter == "S" {
			list[i] = string(bytes.TrimRight(b, "\x00"))
			continue
		}
		var text strings.Builder
		for ; len(b) > 0; b = b[4:] {
			text.WriteRune(rune(order.Uint32(b))) // U+FFFD for invalid characters
		}
		list[i] = strings.TrimRight(text.String(), "\x00")
	}
	return list
}
