// Command dump writes a rendered set for programs in other languages: NAME.images.npy (float32 [n,1,S,S]) and
// NAME.labels.npy (int64 [n]).
//
//	go run ./internal/glyph/dump -out /tmp/digits -classes 0123456789 -n 20000 -seed 1
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/graft-ml/graft/internal/glyph"
)

func main() {
	out := flag.String("out", "glyphs", "path and beginning of the two file names")
	classes := flag.String("classes", "0123456789", "characters to render")
	n := flag.Int("n", 1000, "number of images")
	seed := flag.Uint64("seed", 1, "seed")
	flag.Parse()
	if err := dump(*out, *classes, *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func dump(out, classes string, n int, seed uint64) error {
	images, labels, err := glyph.Set(classes, n, seed)
	if err != nil {
		return err
	}
	shape := fmt.Sprintf("(%d, 1, %d, %d)", n, glyph.Size, glyph.Size)
	if err := writeNPY(out+".images.npy", "<f4", shape, images); err != nil {
		return err
	}
	return writeNPY(out+".labels.npy", "<i8", fmt.Sprintf("(%d,)", n), labels)
}

// writeNPY writes NumPy's format 1.0: magic, header length, a padded Python dictionary, the raw data.
func writeNPY(path, descr, shape string, data any) error {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	const before = 10 // magic, version, header length; the data begin at a multiple of 64
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	for _, part := range []any{uint16(len(header)), []byte(header), data} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
