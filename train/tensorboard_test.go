package train

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// The records of an event file: lengths and checksums hold, and the fields are those of TensorBoard's protocol. (Its parser, built
// from event.proto's field numbers, read the same file.)
func TestEventFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f, err := NewEventFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Event(Event{Kind: Stepped, LR: 1e-3, Info: StepInfo{Step: 7, Loss: 0.5, Norm: 2, Updated: true}})
	f.Event(Event{Kind: Stepped, Info: StepInfo{Step: 7, Loss: 9}})
	f.Event(Event{Kind: Finished, Done: &Epoch{Steps: 300, Loss: 0.25, Seconds: 2, Val: map[string]float64{"accuracy": 0.75, "loss": math.NaN()}}})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("files %v, %v", found, err)
	}
	b, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	type scalar struct {
		step int
		name string
		x    float32
	}
	var got []scalar
	records := 0
	for ; len(b) > 0; records++ {
		n := binary.LittleEndian.Uint64(b)
		if binary.LittleEndian.Uint32(b[8:]) != masked(b[:8]) || binary.LittleEndian.Uint32(b[12+n:]) != masked(b[12:12+n]) {
			t.Fatalf("record %d: the checksums do not hold", records)
		}
		event := fields(t, b[12:12+n])
		if at := math.Float64frombits(binary.LittleEndian.Uint64(event[1][0])); !(at > 1.6e9) {
			t.Errorf("record %d is of %v", records, at)
		}
		if records == 0 {
			if v := string(event[3][0]); v != "brain.Event:2" {
				t.Errorf("version %q", v)
			}
		} else {
			step, _ := binary.Uvarint(event[2][0])
			for _, v := range fields(t, event[5][0])[1] {
				value := fields(t, v)
				got = append(got, scalar{int(step), string(value[1][0]), math.Float32frombits(binary.LittleEndian.Uint32(value[2][0]))})
			}
		}
		b = b[16+n:]
	}
	want := []scalar{{7, "gradient norm", 2}, {7, "loss/step", 0.5}, {7, "rate", 1e-3}, {300, "accuracy/validation", 0.75}, {300, "loss/training", 0.25}, {300, "seconds", 2}}
	if records != 3 || len(got) != len(want) {
		t.Fatalf("%d records with %v, want 3 with %v", records, got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
	if c := crc32.Checksum([]byte("123456789"), castagnoli); c != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("the checksum is %#x", c)
	}
}

// TestEventFilesInOrder: the file of a resumed run follows those that are there, whatever the clock says, and leaves them as a kill did.
func TestEventFilesInOrder(t *testing.T) {
	dir := t.TempDir()
	cut := filepath.Join(dir, "events.out.tfevents.9000000000.z.1") // by a clock that was set back since
	if err := os.WriteFile(cut, []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := 2; n < 4; n++ {
		f, err := NewEventFile(dir)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(dir) // in the order of names
		if err != nil || len(list) != n || list[n-1].Name() != filepath.Base(f.file.Name()) {
			t.Fatalf("%v, %v: want %s as the last", list, err, f.file.Name())
		}
	}
	if b, err := os.ReadFile(cut); err != nil || string(b) != "cut" {
		t.Errorf("%q, %v", b, err)
	}
}

// fields returns those of a message, by number.
func fields(t *testing.T, b []byte) map[uint64][][]byte {
	t.Helper()
	m := map[uint64][][]byte{}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		size := 0
		switch key & 7 {
		case 0:
			_, size = binary.Uvarint(b)
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			length, k := binary.Uvarint(b)
			b, size = b[k:], int(length)
		default:
			t.Fatalf("wire type %d", key&7)
		}
		m[key>>3], b = append(m[key>>3], b[:size]), b[size:]
	}
	return m
}

func TestEventFileRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewEventFile(file); err == nil {
		t.Error("a file is taken for a folder")
	}
}

// TestEventFileClosed: a file may be closed while others write to it, whose later calls return an error.
func TestEventFileClosed(t *testing.T) {
	f, err := NewEventFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for step := 0; f.Scalars(step, map[string]float64{"loss": 1}) == nil && f.Flush() == nil; step++ {
				f.Event(Event{Kind: Stepped})
			}
		})
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	wait.Wait()
	for name, err := range map[string]error{"Scalars": f.Scalars(1, nil), "Flush": f.Flush(), "Close": f.Close()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
