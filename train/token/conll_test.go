package token_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/token"
)

// TestReadConll checks files with one word per line: spaces and tabs, comments, multi-word tokens,
// columns by number and by name.
func TestReadConll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	read := func(name, text string) ([]token.Sentence, string, error) {
		t.Helper()
		if err := os.WriteFile(path+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := token.ReadConll(path + name)
		return list, path + name, err
	}
	list, file, err := read(".conll", "\ufeff-DOCSTART- X O\r\n\r\n# id = 7\r\nNew NNP B\r\nYork NNP I\r\n \r\n# NN O\r\n")
	if err != nil || len(list) != 2 || !reflect.DeepEqual(list[0], token.Sentence{Words: [][]string{{"New", "NNP", "B"}, {"York", "NNP", "I"}}, Lines: []int{4, 5}}) || list[1].Words[0][0] != "#" {
		t.Fatal(list, err)
	}
	if at := token.ConllWords(list); at != 0 {
		t.Errorf("words are in column %d", at)
	}
	for name, want := range map[string]int{"0": 0, "-1": 2, "2": 2} {
		if at, err := token.ConllColumn(file, list, name); err != nil || at != want {
			t.Errorf("column %s is %d, %v", name, at, err)
		}
	}
	for name, want := range map[string]string{"3": "line 4 has 3 columns, and no column 3", "-4": "no column -4", "pos": `no column "pos": columns have numbers from 0 to 2`} {
		if _, err := token.ConllColumn(file, list, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("column %s: %v, want %s", name, err, want)
		}
	}
	list, file, err = read(".conllu", "# text = vámonos al mar\n1-2\tvámonos\t_\t_\n1\tvamos\tir\tVERB\n2\tnos\tnosotros\tPRON\n2.1\tx\tx\tX\n3\tel mar\tmar\tNOUN\n")
	if err != nil || len(list) != 1 || len(list[0].Words) != 3 || list[0].Words[2][1] != "el mar" || token.ConllWords(list) != 1 {
		t.Fatal(list, err)
	}
	if at, err := token.ConllColumn(file, list, "upos"); err != nil || at != 3 {
		t.Errorf("upos is %d, %v", at, err)
	}
	for text, want := range map[string]int{"0 a\n1 b\n": 1, "1 a\n2 b\n": 1, "0 a\n2 b\n": 1, "1 a\n1 b\n": 1, "2 a\n": 0, "1 a\n0 b\n": 0, "-1 a\n": 0, "a b\n": 0, "1\n": 0, "1 a\nx b\n": 0} {
		if list, _, err := read(".numbers", text); err != nil || token.ConllWords(list) != want {
			t.Errorf("%q: words are in column %d, %v", text, token.ConllWords(list), err)
		}
	}
	for text, want := range map[string]string{"": "no words", "\n# a = b\n": "no words", "a b\nc\n": "line 2 has 1 columns, the sentence began with 2"} {
		if _, _, err := read(".bio", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := token.ReadConll(path + ".none"); err == nil || !strings.HasPrefix(err.Error(), "token: open "+path) {
		t.Errorf("a file that is not there: %v", err)
	}
}
