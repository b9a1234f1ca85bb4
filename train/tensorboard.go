package train

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/graft-ml/graft/internal/disk"
)

// EventFile writes metrics over steps for TensorBoard: a file of TFRecords, each an Event of
// tensorflow/core/util/event.proto. Its methods may be called from several goroutines.
type EventFile struct {
	mu   sync.Mutex
	file *os.File
	w    *bufio.Writer
	err  error // the first error
}

// NewEventFile creates a file in dir, which is created if necessary. TensorBoard shows the files of one folder as one
// run, in the order of their names: a file is named after those that are there, whatever the clock says. Nothing is appended to earlier files, whose
// last record may be incomplete after a kill.
func NewEventFile(dir string) (*EventFile, error) {
	if err := disk.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("train: cannot create the folder for events: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "graft"
	}
	now := time.Now()
	seconds := now.Unix()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("train: events: %w", err)
	}
	for _, e := range entries {
		var there int64
		if n, _ := fmt.Sscanf(e.Name(), "events.out.tfevents.%d.", &there); n == 1 && there >= seconds {
			seconds = there + 1
		}
	}
	// With nanoseconds, files of processes that begin at the same time have different names.
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d", seconds, host, now.Nanosecond())
	file, err := disk.System.CreateNew(filepath.Join(dir, name), 0o666)
	if err != nil {
		return nil, fmt.Errorf("train: events: %w", err)
	}
	f := &EventFile{file: file, w: bufio.NewWriter(disk.Writer(file))}
	f.record(appendBytes(eventAt(now, 0), 3, []byte("brain.Event:2")))
	return f, f.Flush()
}

// Scalars writes values by name, all at one step. NaN and infinities are omitted.
func (f *EventFile) Scalars(step int, figures map[string]float64) error {
	var summary []byte
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		if x := figures[name]; finite(x) {
			value := appendBytes(nil, 1, []byte(name))
			value = binary.LittleEndian.AppendUint32(append(value, 2<<3|5), math.Float32bits(float32(x)))
			summary = appendBytes(summary, 1, value)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if summary != nil {
		f.record(appendBytes(eventAt(time.Now(), step), 5, summary))
	}
	return f.err
}

// Event writes an event of training: after each update the batch's loss, the rate and the norm of the gradients, after
// each epoch its loss and the metrics of the validation. It can be used as Config.Observe.
func (f *EventFile) Event(e Event) {
	switch {
	case e.Kind == Stepped && e.Info.Updated:
		_ = f.Scalars(e.Info.Step, map[string]float64{"loss/step": e.Info.Loss, "rate": e.LR, "gradient norm": e.Info.Norm})
	case e.Kind == Finished && e.Done != nil:
		figures := map[string]float64{"loss/training": e.Done.Loss, "seconds": e.Done.Seconds}
		for name, x := range e.Done.Val {
			figures[name+"/validation"] = x
		}
		_ = f.Scalars(e.Done.Steps, figures)
		_ = f.Flush()
	}
}

var errNoEvents = errors.New("train: the EventFile is the zero value: create it with NewEventFile")

// Flush writes buffered events.
func (f *EventFile) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.flush()
}

func (f *EventFile) flush() error {
	if f.w == nil {
		return errNoEvents
	}
	f.err = errors.Join(f.err, f.w.Flush())
	return f.err
}

// Close closes the file, and returns the first error of all calls. Later calls of all methods return an error.
func (f *EventFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w == nil {
		return errNoEvents
	}
	err := errors.Join(f.flush(), disk.System.Close(f.file))
	f.err = cmp.Or(f.err, error(&fs.PathError{Op: "write", Path: f.file.Name(), Err: fs.ErrClosed}))
	return err
}

// record writes a TFRecord: length, its checksum, data, their checksum.
func (f *EventFile) record(data []byte) {
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	for _, part := range [][]byte{head, data} {
		if f.err == nil {
			_, f.err = f.w.Write(binary.LittleEndian.AppendUint32(part[:len(part):len(part)], masked(part)))
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked returns the masked CRC-32C of the TFRecord format: rotated by 15 bits plus a constant.
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// eventAt returns the start of an Event message: field 1, the time in seconds as a double, and field 2, the step.
func eventAt(now time.Time, step int) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{1<<3 | 1}, math.Float64bits(float64(now.UnixMicro())/1e6))
	return binary.AppendUvarint(append(b, 2<<3), uint64(step))
}

// appendBytes appends a field of text, bytes or a message.
func appendBytes(to []byte, field int, b []byte) []byte {
	to = binary.AppendUvarint(to, uint64(field)<<3|2)
	return append(binary.AppendUvarint(to, uint64(len(b))), b...)
}
