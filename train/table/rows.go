package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"golang.org/x/text/transform"
)

// Format is the format of a table in a file.
type Format struct {
	Comma   rune // column separator; 0: detected (comma, semicolon, tab or bar)
	Decimal rune // decimal mark; 0: detected (point or comma)
	// Header states whether the first line has names. 0: detected; above 0: yes; below 0: no.
	Header int
	likely rune // decimal mark if the numbers are ambiguous; 0: chosen by the separator
}

// Rows reads a table line by line.
type Rows struct {
	Format
	Names   []string // unique names of the columns; "0", "1" … without a header
	Path    string   // of the file
	csv     *csv.Reader
	first   []string // the first record if it is not a header
	closer  io.Closer
	line    int
	before  int      // lines before the first record
	renamed []string // see Table
	recode  *recoder
	record  *budget.Records
	context context.Context // of the reader; nil: none
}

// Recoded returns the number of bytes so far that are not UTF-8 and were read as Windows-1252.
func (r *Rows) Recoded() int {
	if r == nil || r.recode == nil {
		return 0
	}
	return r.recode.bytes
}

// most is the number of bytes from which the format of a file is detected.
const most = budget.RecordFrom

// Open opens a table, plain or gzip, for reading line by line; "-" is standard input. target is the name of a column
// that is text even if all others are numbers: it does not make the first line a header.
func (f Format) Open(path, target string) (*Rows, error) {
	if path == "-" {
		return f.read(path, os.Stdin, nil, target)
	}
	file, err := disk.Open(path)
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	r, err := f.read(path, file, file, target)
	if err != nil {
		file.Close()
	}
	return r, err
}

// Close closes the file.
func (r *Rows) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

func (f Format) read(path string, in io.Reader, c io.Closer, target string) (*Rows, error) {
	b, err := decoded(in)
	if err != nil {
		return nil, fmt.Errorf("table: %s: %w", path, err)
	}
	recode := &recoder{}
	if head, _ := b.Peek(most); bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		b = bufio.NewReaderSize(returns{b}, most)
	}
	b = bufio.NewReaderSize(transform.NewReader(b, recode), most)
	head, err := b.Peek(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("table: %s: %w", path, err)
	}
	if err == nil { // the last line is incomplete
		if i := bytes.LastIndexByte(head, '\n'); i > 0 {
			head = head[:i]
		}
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, fmt.Errorf("table: %s: empty", path)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, fmt.Errorf("table: %s: not a table: it holds bytes that are not text", path)
	}
	before, skip := f.preamble(string(head))
	head = head[skip:]
	f.sniff(string(head))
	sampled := sample(string(head), f.Comma)
	if _, err := b.Discard(skip); err != nil {
		return nil, fmt.Errorf("table: %s: %w", path, err)
	}
	record := budget.NewRecords(b, f.Comma)
	r := &Rows{Format: f, Path: path, csv: reader(record, f.Comma), closer: c, before: before, recode: recode, record: record}
	return r, r.names(sampled, target)
}

// returns reads lines that end in a carriage return alone.
type returns struct{ io.Reader }

func (r returns) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, c := range p[:n] {
		if c == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

func reader(in io.Reader, comma rune) *csv.Reader {
	r := csv.NewReader(in)
	r.Comma, r.TrimLeadingSpace, r.ReuseRecord = comma, comma != '\t', true
	r.LazyQuotes = true // for texts such as 5" pipes; a quote that opens a field still closes it
	return r
}

// decoded decompresses gzip, converts UTF-16 to UTF-8 and removes a byte-order mark.
func decoded(in io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(in, most)
	if head, _ := b.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(z, most)
	}
	head, _ := b.Peek(3)
	switch {
	case bytes.Equal(head, []byte("\ufeff")):
		_, err := b.Discard(3)
		return b, err
	case len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff):
		return wide(b)
	}
	return b, nil
}

// wide reads UTF-16, which spreadsheets write.
func wide(b *bufio.Reader) (*bufio.Reader, error) {
	raw, err := io.ReadAll(budget.NewRecords(b, 0))
	if err != nil {
		return nil, fmt.Errorf("UTF-16: %w", err)
	}
	units := make([]uint16, len(raw)/2)
	little := raw[0] == 0xff
	for i := range units {
		lo, hi := raw[2*i], raw[2*i+1]
		if !little {
			lo, hi = hi, lo
		}
		units[i] = uint16(hi)<<8 | uint16(lo)
	}
	text := strings.TrimPrefix(string(utf16.Decode(units)), "\ufeff")
	return bufio.NewReaderSize(strings.NewReader(text), most), nil
}

// names reads the header, or numbers the columns if there is none.
func (r *Rows) names(sample [][]string, target string) error {
	first, err := r.csv.Read()
	if err != nil {
		return r.failed(err)
	}
	first = slices.Clone(first)
	for i, s := range first {
		first[i] = strings.TrimSpace(s)
	}
	if r.Header == 0 {
		r.Header = -1
		if headed(first, sample, r.Decimal, target) {
			r.Header = 1
		}
	}
	header := r.Header > 0
	r.line = 1 + r.before
	seen, copies := map[string]bool{}, map[string]int{}
	for i := range first {
		name := fmt.Sprint(i)
		if header {
			if name = first[i]; name == "" {
				name = fmt.Sprintf("column %d", i)
			}
			for base := name; seen[name]; {
				copies[base]++ // of many that are alike, none is tried twice
				name = fmt.Sprintf("%s.%d", base, copies[base])
			}
			if seen[first[i]] {
				r.renamed = append(r.renamed, name)
			}
		}
		seen[name] = true
		r.Names = append(r.Names, name)
	}
	if !header {
		r.first = first
	}
	return nil
}

// Next returns the next record, with spaces around fields removed, and its line; io.EOF at the end. The record is valid
// until the next call.
func (r *Rows) Next() ([]string, int, error) {
	if r.first != nil {
		rec := r.first
		r.first = nil
		return rec, 1 + r.before, nil
	}
	if r.csv == nil {
		return nil, 0, io.EOF
	}
	r.record.Next()
	rec, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, r.line, io.EOF
	}
	if err != nil {
		return nil, r.line, r.failed(err)
	}
	line, _ := r.csv.FieldPos(0)
	r.line = line + r.before
	for i, s := range rec {
		rec[i] = strings.TrimSpace(s)
	}
	return rec, r.line, nil
}

// failed adds the file and line to an error.
func (r *Rows) failed(err error) error {
	var p *csv.ParseError
	switch {
	case errors.As(err, &p) && errors.Is(err, csv.ErrFieldCount):
		line, _ := r.csv.FieldPos(0)
		return fmt.Errorf("table: %s: line %d has another number of columns than the first line, %d, with %q between columns", r.Path, line+r.before, len(r.Names), string(r.Comma))
	case errors.As(err, &p):
		return fmt.Errorf("table: %s: line %d: %w", r.Path, p.Line+r.before, p.Err)
	}
	return fmt.Errorf("table: %s: %w", r.Path, err)
}
