package onnxio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn/dtype"
	"google.golang.org/protobuf/proto"
)

// externalFiles reads tensors that are stored in files beside the model. Files stay open between
// tensors, until close is called.
type externalFiles struct {
	ctx  context.Context // ends reading; nil: nothing does
	fsys fs.FS           // from (*os.Root).FS, so that links cannot leave the model's folder
	dir  string          // folder of the model within fsys, "." or "" for its root
	open map[string]*externalFile
	root *os.Root // root of fsys, to be closed; nil if there is none
}

// openExternal returns the external files in a folder of the operating system.
func openExternal(folder string) (*externalFiles, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &externalFiles{fsys: root.FS(), root: root}, nil
}

// maxOpen is the number of files that are open at a time.
const maxOpen = 8

type externalFile struct {
	fs.File
	size int64
	at   int64 // position, for files that cannot seek
}

// externalData is the location of a tensor's data. The length is -1 if it is not given.
type externalData struct {
	location       string
	offset, length int64
}

// longestPath limits locations, in bytes: no system has longer paths, and errors quote them.
const longestPath = 4096

func parseExternal(p *onnxpb.TensorProto) (externalData, error) {
	e := externalData{length: -1}
	given := map[string]bool{}
	for _, kv := range p.ExternalData {
		if n := len(kv.GetKey()) + len(kv.GetValue()); n > longestPath {
			return e, tensorError(p, "external data: an entry of %d bytes, want at most %d", n, longestPath)
		}
		if given[kv.GetKey()] {
			return e, tensorError(p, "external data: %s is given twice", kv.GetKey())
		}
		given[kv.GetKey()] = true
		to := map[string]*int64{"offset": &e.offset, "length": &e.length}[kv.GetKey()]
		switch {
		case kv.GetKey() == "location":
			e.location = kv.GetValue()
		case to != nil:
			n, err := strconv.ParseUint(kv.GetValue(), 10, 62) // so that sums fit
			if err != nil {
				return e, tensorError(p, "external data: %s %q is not a number of bytes", kv.GetKey(), kv.GetValue())
			}
			*to = int64(n)
		}
	}
	return e, nil
}

// decodeExternal reads a tensor from the file that p names.
func decodeExternal(p *onnxpb.TensorProto, dt dtype.DType, shape []int, n int, ext *externalFiles) (dtype.Value, error) {
	if s, ok := parseStripped(p); ok {
		return nil, tensorError(p, "%w", &StrippedError{DType: dt, Shape: shape, Stripped: s})
	}
	e, err := parseExternal(p)
	if err != nil {
		return nil, err
	}
	if in := dataFields(p); len(in) > 0 {
		return nil, tensorError(p, "data are in %s, and in another file, %q", in[0], e.location)
	}
	if dt == dtype.String {
		return nil, tensorError(p, "strings cannot be external data")
	}
	want, err := storedBytes(dt, n)
	if err != nil {
		return nil, tensorError(p, "%w", err)
	}
	if e.length >= 0 && e.length != want {
		return nil, tensorError(p, "%v of shape %v takes %d bytes, external data have length %d", dt, shape, want, e.length)
	}
	if ext == nil {
		return nil, tensorError(p, "data are in another file, %q", e.location)
	}
	// Check the size of the file before allocating memory for the declared size of the tensor.
	f, err := ext.file(e.location)
	if err != nil {
		return nil, tensorError(p, "%w", err)
	}
	if want > f.size-e.offset {
		return nil, tensorError(p, "external data: %q has %d bytes, wanted %d from %d", e.location, f.size, want, e.offset)
	}
	d := dtype.New(dt, shape...)
	if packed(dt) {
		stored := make([]byte, want)
		err = f.readAt(ext.ctx, stored, e.offset)
		if err == nil {
			copyRaw(d, dt, stored)
		}
	} else {
		err = f.readAt(ext.ctx, dtype.Bytes(d), e.offset)
		fixRaw(dtype.Bytes(d), dt)
	}
	if err != nil {
		return nil, tensorError(p, "external data %q: %w", e.location, err)
	}
	return d, nil
}

// file opens a file by its location, a slash-separated path relative to the model's folder.
func (x *externalFiles) file(location string) (*externalFile, error) {
	name := path.Clean(location)
	if !fs.ValidPath(name) || name == "." || strings.Contains(location, `\`) { // os.Root refuses what else Windows takes for devices and drives
		return nil, fmt.Errorf("external data: %q is not a path inside the model's folder", location)
	}
	if f := x.open[name]; f != nil {
		return f, nil
	}
	if len(x.open) == maxOpen { // the process may have few file handles
		for name, f := range x.open {
			f.Close()
			delete(x.open, name)
		}
	}
	full := path.Join(x.dir, name)
	info, err := fs.Stat(x.fsys, full) // before it is opened: opening a pipe would block
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is not a regular file", location)
	}
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	raw, err := x.fsys.Open(full)
	if err != nil {
		return nil, fmt.Errorf("external data: %w", err)
	}
	if file, ok := raw.(*os.File); ok {
		if raw, err = disk.Reading(file); err != nil {
			return nil, fmt.Errorf("external data: %w", err)
		}
	}
	f := &externalFile{File: raw, size: info.Size()}
	if x.open == nil {
		x.open = map[string]*externalFile{}
	}
	x.open[name] = f
	return f, nil
}

// readAt fills b from the offset. If files of the file system can only be read forward, tensors
// must be read in the order of the file.
func (f *externalFile) readAt(ctx context.Context, b []byte, offset int64) error {
	switch r := f.File.(type) {
	case io.ReaderAt:
		_, err := io.ReadFull(disk.Until(ctx, io.NewSectionReader(r, offset, int64(len(b)))), b)
		return err
	case io.Seeker:
		if _, err := r.Seek(offset, io.SeekStart); err != nil {
			return err
		}
	default:
		if offset < f.at {
			return errors.New("the file system can neither seek nor read again")
		}
		if _, err := io.CopyN(io.Discard, disk.Until(ctx, f.File), offset-f.at); err != nil {
			return err
		}
	}
	n, err := io.ReadFull(disk.Until(ctx, f.File), b)
	f.at = offset + int64(n)
	return err
}

// close closes all files. x must not be used afterwards.
func (x *externalFiles) close() error {
	var errs []error
	for _, f := range x.open {
		errs = append(errs, f.Close())
	}
	x.open = nil
	if x.root != nil {
		errs = append(errs, x.root.Close())
	}
	return errors.Join(errs...)
}

// externalAlign is the alignment of tensors in an external file: a page, so that readers can map it.
const externalAlign = 4096

// externalSink moves the data of tensors from their protobuf messages to w.
type externalSink struct {
	w        io.Writer
	location string // name of the file, relative to the model
	offset   int64
}

// put writes the data of p and replaces them by a reference.
func (s *externalSink) put(p *onnxpb.TensorProto, data rawSource) error {
	if gap := (externalAlign - s.offset%externalAlign) % externalAlign; gap > 0 {
		if _, err := s.w.Write(make([]byte, gap)); err != nil {
			return err
		}
		s.offset += gap
	}
	if err := data.write(s.w); err != nil {
		return err
	}
	length := data.size()
	p.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
	p.ExternalData = []*onnxpb.StringStringEntryProto{
		entry("location", s.location),
		entry("offset", strconv.FormatInt(s.offset, 10)),
		entry("length", strconv.FormatInt(length, 10)),
	}
	p.RawData = nil
	s.offset += length
	return nil
}

func entry(key, value string) *onnxpb.StringStringEntryProto {
	return &onnxpb.StringStringEntryProto{Key: proto.String(key), Value: proto.String(value)}
}
