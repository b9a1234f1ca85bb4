package oracle

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// NPZ reads the arrays of a file that numpy.savez wrote, by name, or only those named. Row-major little-endian
// numbers and bools only.
func NPZ(path string, names ...string) (map[string]Tensor, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("oracle: %s: %w", path, err)
	}
	defer z.Close()
	out := map[string]Tensor{}
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("oracle: %s: %w", path, err)
		}
		raw, err := io.ReadAll(r)
		r.Close()
		if err == nil {
			out[name], err = npy(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("oracle: %s, array %s: %w", path, f.Name, err)
		}
	}
	return out, nil
}

var (
	npyDescr = regexp.MustCompile(`'descr': '([^']*)'`)
	npyShape = regexp.MustCompile(`'shape': \(([^)]*)\)`)
	npyDType = map[string]string{
		"<f2": "float16", "<f4": "float32", "<f8": "float64", "|b1": "bool", "|i1": "int8", "<i2": "int16",
		"<i4": "int32", "<i8": "int64", "|u1": "uint8", "<u2": "uint16", "<u4": "uint32", "<u8": "uint64",
	}
)

// npy decodes NumPy's array format 1.0 to 3.0.
func npy(raw []byte) (Tensor, error) {
	if len(raw) < 12 || !bytes.HasPrefix(raw, []byte("\x93NUMPY")) {
		return Tensor{}, fmt.Errorf("not a .npy file")
	}
	start, size := 10, int(binary.LittleEndian.Uint16(raw[8:]))
	if raw[6] > 1 {
		start, size = 12, int(binary.LittleEndian.Uint32(raw[8:]))
	}
	if size < 0 || size > len(raw)-start {
		return Tensor{}, fmt.Errorf("a header of %d bytes does not fit", size)
	}
	header := string(raw[start : start+size])
	descr, shape := npyDescr.FindStringSubmatch(header), npyShape.FindStringSubmatch(header)
	if descr == nil || shape == nil || strings.Contains(header, "'fortran_order': True") {
		return Tensor{}, fmt.Errorf("header %q is not supported", header)
	}
	t := Tensor{DType: npyDType[descr[1]], Shape: []int{}, Data: raw[start+size:]}
	for _, dim := range strings.Split(shape[1], ",") {
		if dim = strings.TrimSpace(dim); dim != "" {
			d, err := strconv.Atoi(dim)
			if err != nil {
				return Tensor{}, err
			}
			t.Shape = append(t.Shape, d)
		}
	}
	if t.DType == "" || len(t.Data) != widths[t.DType]*t.Size() {
		return Tensor{}, fmt.Errorf("%d bytes do not fit header %q", len(t.Data), header)
	}
	return t, nil
}
