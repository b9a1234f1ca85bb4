package glyph

import (
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"unicode"
)

// WriteFolder writes the n images of Set(classes, n, seed) as PNG files, one folder per class: dir/A/0003.png.
// A lower-case letter's folder is named "lower-a", so that file systems that ignore case keep it apart from "A".
// It returns the folder names in the order of classes. Folders are made as needed; files of the same name are replaced.
func WriteFolder(dir, classes string, n int, seed uint64) ([]string, error) {
	p, err := newPen(classes)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(p.runes))
	for i, r := range p.runes {
		if names[i], err = folderName(r); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Join(dir, names[i]), 0o755); err != nil {
			return nil, fmt.Errorf("glyph: %w", err)
		}
	}
	for i := range n {
		if err := p.writePNG(filepath.Join(dir, names[i%len(names)], fmt.Sprintf("%04d.png", i)), i, seed); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func folderName(r rune) (string, error) {
	switch {
	case unicode.IsLower(r):
		return "lower-" + string(r), nil
	case unicode.IsLetter(r), unicode.IsDigit(r):
		return string(r), nil
	}
	return "", fmt.Errorf("glyph: %q is neither a letter nor a digit and cannot name a folder", r)
}

func (p *pen) writePNG(path string, i int, seed uint64) (err error) {
	pic, err := p.render(i, seed)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("glyph: %w", err)
	}
	defer func() {
		if e := f.Close(); err == nil && e != nil {
			err = fmt.Errorf("glyph: %w", e)
		}
	}()
	if err := png.Encode(f, pic); err != nil {
		return fmt.Errorf("glyph: %w", err)
	}
	return nil
}
