package onnxio

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/graft-ml/graft/internal/onnxpb"
)

// opened counts how often files are opened, and says that they are longer than they are.
type opened struct {
	counted
	times *int
	more  int64
}

type longerFile struct {
	fs.FileInfo
	more int64
}

func (f longerFile) Size() int64 { return f.FileInfo.Size() + f.more }

func (o opened) Open(name string) (fs.File, error) {
	if name == "w.bin" {
		*o.times++
	}
	return o.counted.Open(name)
}

func (o opened) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(o.counted.MapFS, name)
	return longerFile{info, o.more}, err
}

// TestExternalIsOpenedOnce: a file of several tensors is opened once, and closed whatever happens; data that are not there are named.
func TestExternalIsOpenedOnce(t *testing.T) {
	tensor := func(name string, offset string) string {
		return fmt.Sprintf(`initializer { name: %q data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: "location" value: "w.bin" } external_data { key: "offset" value: %q } } node { op_type: "Neg" input: %[1]q output: "-%[1]s" } output { name: "-%[1]s" } `, name, offset)
	}
	for _, c := range []struct {
		offset string // of the second tensor
		more   int64
		want   string
	}{
		{"4", 0, ""}, {"0", 0, "the file system can neither seek nor read again"},
		{"5", 0, `external data: "w.bin" has 8 bytes, wanted 4 from 5`}, {"9", 0, `external data: "w.bin" has 8 bytes, wanted 4 from 9`},
		{"4611686018427387903", 0, `external data: "w.bin" has 8 bytes, wanted 4 from 4611686018427387903`}, {"9223372036854775807", 0, `offset "9223372036854775807" is not a number of bytes`},
		{"8", 8, `external data "w.bin": EOF`}, {"6", 8, `external data "w.bin": unexpected EOF`},
	} {
		files := opened{counted{MapFS: fstest.MapFS{"w.bin": {Data: make([]byte, 8)}}, open: new(int), most: new(int)}, new(int), c.more}
		files.MapFS["m.onnx"] = &fstest.MapFile{Data: textModel(t, tensor("a", "0")+tensor("b", c.offset))}
		_, err := Loader{FS: files}.Load("m.onnx")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("from %s: %v, want %s", c.offset, err, c.want)
		}
		if *files.times != 1 || *files.open != 0 {
			t.Errorf("from %s: opened %d times, %d are open", c.offset, *files.times, *files.open)
		}
	}
}

// TestExternalNumbers: offsets and lengths are numbers of bytes, from 0.
func TestExternalNumbers(t *testing.T) {
	for _, key := range []string{"offset", "length"} {
		for text, want := range map[string]int64{"0": 0, "7": 7, "4611686018427387903": 1<<62 - 1, "4611686018427387904": -1, "-1": -1, "-5": -1, "9223372036854775808": -1, "": -1, "4.0": -1, "0x4": -1} {
			e, err := parseExternal(&onnxpb.TensorProto{ExternalData: []*onnxpb.StringStringEntryProto{entry(key, text)}})
			got := map[string]int64{"offset": e.offset, "length": e.length}[key]
			if (err == nil) != (want >= 0) || err == nil && got != want || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("external data: %s %q is not a number of bytes", key, text)) {
				t.Errorf("%s %q: %d, %v", key, text, got, err)
			}
		}
	}
	for _, location := range []string{"", ".", "/w", "../w", "a/../../w", `a\w`} {
		x := &externalFiles{fsys: fstest.MapFS{"w": {}}}
		if _, err := x.file(location); err == nil || !strings.Contains(err.Error(), "is not a path inside the model's folder") {
			t.Errorf("%q: %v", location, err)
		}
	}
}

// faulty is a file that fails to seek and to be closed.
type faulty struct {
	fs.File
	err error
}

func (f faulty) Seek(int64, int) (int64, error) { return 0, f.err }

func (f faulty) Close() error { return f.err }

// TestExternalErrors: what fails at a file is returned, of each file that is closed.
func TestExternalErrors(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	if err := (&externalFile{File: faulty{nil, first}}).readAt(t.Context(), make([]byte, 1), 1); !errors.Is(err, first) {
		t.Errorf("a file that cannot seek: %v", err)
	}
	x := &externalFiles{open: map[string]*externalFile{"a": {File: faulty{nil, first}}, "b": {File: faulty{nil, second}}}}
	if err := x.close(); !errors.Is(err, first) || !errors.Is(err, second) || x.open != nil {
		t.Errorf("files that cannot be closed: %v", err)
	}
}
