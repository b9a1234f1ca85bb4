// Command newop writes the two files of a new operator from a template: the declaration and its test.
//
//	go run ./nn/op/newop SquaredRelu
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"unicode"

	"github.com/graft-ml/graft/nn/op/std"
)

//go:embed op.tmpl
var opTemplate string

//go:embed test.tmpl
var testTemplate string

func main() {
	log.SetFlags(0)
	dir := "nn/op/std"
	if len(os.Args) != 2 || !unicode.IsUpper(rune(os.Args[1][0])) {
		log.Fatal("usage: newop NAME, where NAME is ONNX's spelling, such as SquaredRelu")
	}
	name := os.Args[1]
	for _, o := range std.Operators().List() {
		if strings.EqualFold(o.Name, name) {
			log.Fatalf("%s is an operator already: search %s for %q", o.Name, dir, o.Name)
		}
	}
	base := filepath.Join(dir, strings.ToLower(name))
	for suffix, text := range map[string]string{".go": opTemplate, "_test.go": testTemplate} {
		if err := write(base+suffix, name, text); err != nil {
			log.Fatal(err)
		}
		fmt.Println(base + suffix)
	}
}

// write refuses to overwrite: an operator that is there stays.
func write(path, name, text string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already", path)
	}
	var b bytes.Buffer
	lower := string(unicode.ToLower(rune(name[0]))) + name[1:]
	t := template.Must(template.New("").Parse(text))
	if err := t.Execute(&b, map[string]string{"Name": name, "Func": lower}); err != nil {
		return err
	}
	src, err := format.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(path, src, 0o644)
}
