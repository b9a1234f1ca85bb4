package onnxio

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// NumPy's codes of element types, without the byte order.
var npyCodes = map[dtype.DType]string{
	dtype.Bool: "b1", dtype.Float16: "f2", dtype.Float32: "f4", dtype.Float64: "f8",
	dtype.Int8: "i1", dtype.Int16: "i2", dtype.Int32: "i4", dtype.Int64: "i8",
	dtype.Uint8: "u1", dtype.Uint16: "u2", dtype.Uint32: "u4", dtype.Uint64: "u8",
	dtype.Complex64: "c8", dtype.Complex128: "c16",
}

const npyMagic = "\x93NUMPY"

// WriteNPY writes v, a *tensor.Dense or *dtype.Strings, in NumPy's .npy format, version 1.0. It is an error if NumPy
// lacks the element type, such as bfloat16: convert it first.
func WriteNPY(w io.Writer, v dtype.Value) error {
	var code string
	var data []byte
	switch v := v.(type) {
	case *tensor.Dense:
		dt := dtype.Of(v.Dtype())
		code = npyCodes[dt]
		if code == "" {
			return fmt.Errorf("NumPy has no element type %v", dt)
		}
		data = rawData(v, dt)
	case *dtype.Strings:
		code, data = npyStrings(v)
	default:
		return fmt.Errorf("%T cannot be written as .npy", v)
	}
	order := "<"
	if strings.HasSuffix(code, "1") && code != "U1" {
		order = "|"
	}
	dims := make([]string, 0, 4)
	for _, d := range v.Shape() {
		dims = append(dims, strconv.Itoa(d))
	}
	shape := strings.Join(dims, ", ")
	if len(dims) == 1 {
		shape += ","
	}
	header := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, code, shape)
	// The data start at a multiple of 64 bytes; the header ends in a newline.
	pad := 63 - (len(npyMagic)+4+len(header))%64
	header += strings.Repeat(" ", pad) + "\n"
	var b bytes.Buffer
	b.WriteString(npyMagic + "\x01\x00")
	if err := binary.Write(&b, binary.LittleEndian, uint16(len(header))); err != nil {
		return err
	}
	b.WriteString(header)
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// npyStrings encodes strings as NumPy does: all as long as the longest, in UTF-32.
func npyStrings(v *dtype.Strings) (code string, data []byte) {
	longest := 1
	for _, s := range v.Elems {
		longest = max(longest, utf8.RuneCountInString(s))
	}
	for _, s := range v.Elems {
		end := len(data) + 4*longest
		for _, r := range s {
			data = binary.LittleEndian.AppendUint32(data, uint32(r))
		}
		data = append(data, make([]byte, end-len(data))...)
	}
	return "U" + strconv.Itoa(longest), data
}

var (
	npyDescr   = regexp.MustCompile(`'descr'\s*:\s*'([<>|=])([a-zA-Z])(\d+)'`)
	npyFortran = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9, ]*)\)`)
)

// npyHeader is what the header of a .npy file says.
type npyHeader struct {
	letter  string // NumPy's letter of the type
	width   int    // bytes, or characters of a string
	big     bool   // most significant byte first
	fortran bool   // column by column
	shape   []int
}

// ReadNPY reads a NumPy array from a .npy file: a *tensor.Dense, or *dtype.Strings for an array of Unicode strings.
// Arrays of Python objects and records are errors.
func ReadNPY(r io.Reader) (dtype.Value, error) {
	if r == nil {
		return nil, errNoReader
	}
	br := bufio.NewReader(r)
	h, err := readNPYHeader(br)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	n, err := dtype.Count(h.shape)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	bytesPer := h.width
	if h.letter == "U" {
		bytesPer *= 4
	}
	if bytesPer == 0 {
		return nil, fmt.Errorf("npy: 0 bytes for each element of shape %v", h.shape)
	}
	if left := nn.MemoryLeft(); int64(n) > left/int64(bytesPer) {
		return nil, fmt.Errorf("npy: shape %v takes more than the %d bytes of memory that are left", h.shape, left)
	}
	data, err := readExactly(br, int64(n)*int64(bytesPer))
	if err != nil {
		return nil, fmt.Errorf("npy: shape %v takes %d bytes: %w", h.shape, n*bytesPer, err)
	}
	if h.fortran {
		data = rowMajor(data, h.shape, bytesPer)
	}
	if h.letter == "U" {
		return npyDecodeStrings(h, data, n)
	}
	for dt, code := range npyCodes {
		if code != h.letter+strconv.Itoa(h.width) {
			continue
		}
		if h.big {
			reverseEach(data, dt)
		}
		d := dtype.New(dt, h.shape...)
		copyRaw(d, dt, data)
		return d, nil
	}
	return nil, fmt.Errorf("npy: element type %q is not supported", h.letter+strconv.Itoa(h.width))
}

func readNPYHeader(r io.Reader) (h npyHeader, err error) {
	var start [len(npyMagic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil || string(start[:len(npyMagic)]) != npyMagic {
		return h, fmt.Errorf("not a .npy file")
	}
	var size uint32
	if start[len(npyMagic)] == 1 {
		var short uint16
		err = binary.Read(r, binary.LittleEndian, &short)
		size = uint32(short)
	} else {
		err = binary.Read(r, binary.LittleEndian, &size)
	}
	if err != nil || size > 1<<20 {
		return h, fmt.Errorf("the header is damaged")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return h, fmt.Errorf("the header is cut off")
	}
	descr, order, shape := npyDescr.FindSubmatch(text), npyFortran.FindSubmatch(text), npyShape.FindSubmatch(text)
	if descr == nil || order == nil || shape == nil {
		return h, fmt.Errorf("header %q is not supported", bytes.TrimSpace(text))
	}
	h.big, h.letter, h.fortran = string(descr[1]) == ">", string(descr[2]), string(order[1]) == "True"
	if h.width, err = strconv.Atoi(string(descr[3])); err != nil {
		return h, err
	}
	h.shape = []int{}
	for _, d := range strings.Split(string(shape[1]), ",") {
		if d = strings.TrimSpace(d); d == "" {
			continue
		}
		n, err := strconv.Atoi(d)
		if err != nil {
			return h, err
		}
		h.shape = append(h.shape, n)
	}
	return h, nil
}

// readExactly reads n bytes; memory grows with what is really there.
func readExactly(r io.Reader, n int64) ([]byte, error) {
	var b bytes.Buffer
	got, err := io.CopyN(&b, r, n)
	if err != nil {
		return nil, fmt.Errorf("found %d", got)
	}
	return b.Bytes(), nil
}

// rowMajor reorders elements that are stored column by column.
func rowMajor(src []byte, shape []int, width int) []byte {
	dst := make([]byte, 0, len(src))
	index, stride := make([]int, len(shape)), make([]int, len(shape))
	step := 1
	for i, d := range shape {
		stride[i] = step
		step *= d
	}
	for at := 0; len(dst) < len(src); {
		dst = append(dst, src[at*width:(at+1)*width]...)
		for axis := len(shape) - 1; axis >= 0; axis-- { // count up, the last axis fastest
			index[axis]++
			at += stride[axis]
			if index[axis] < shape[axis] {
				break
			}
			at -= index[axis] * stride[axis]
			index[axis] = 0
		}
	}
	return dst
}

func npyDecodeStrings(h npyHeader, data []byte, n int) (dtype.Value, error) {
	elems := make([]string, n)
	for i := range elems {
		var s strings.Builder
		for j := range h.width {
			b := data[4*(i*h.width+j):]
			r := binary.LittleEndian.Uint32(b)
			if h.big {
				r = binary.BigEndian.Uint32(b)
			}
			if r == 0 {
				break
			}
			s.WriteRune(rune(r))
		}
		elems[i] = s.String()
	}
	return dtype.NewStrings(elems, h.shape...)
}
