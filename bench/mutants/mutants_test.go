package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// The changes that the toy's test lets pass are found, and no others.
func TestToy(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package")
	}
	r, err := measure("./testdata/toy", options{n: 100, seed: 1, workers: 2, own: true, files: "*.go", skip: "^$"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Survivors {
		got = append(got, m.Source+": "+m.Change)
	}
	slices.Sort(got)
	want := []string{
		"a == b && v == a: && → ||", // a and b are never equal
		"a == b: == → !=",
		"n > len(x): > → >=", // never are all elements asked for
		"v == a: == → !=",
	}
	if !slices.Equal(got, want) {
		t.Errorf("survivors are %q, want %q", got, want)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	if r, err := measure("./testdata/toy", options{n: 100, seed: 7, workers: 2, own: true, again: file, files: "none*,*", skip: "^$"}); err != nil || r.Noticed != 0 || r.Sample != len(want) {
		t.Errorf("what survived, again: %+v, %v", r, err)
	}
	if r, err := measure("./testdata/toy", options{n: 100, seed: 7, workers: 2, own: true, files: "none*", skip: "^$"}); err == nil {
		t.Errorf("of no file: %+v", r)
	}
	if r.Noticed+len(want) != r.Sample || r.Sample < 10 {
		t.Errorf("%d of %d noticed", r.Noticed, r.Sample)
	}
}

// Statements, branches and operands are left out, by tests other than those that are skipped.
func TestToyDrop(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package")
	}
	r, err := measure("./testdata/toy", options{n: 100, seed: 1, workers: 2, own: true, drop: true, files: "*", skip: "Sum"})
	if err != nil {
		t.Fatal(err)
	}
	list := func(sites []site) (list []string) {
		for _, m := range sites {
			list = append(list, m.Source+": "+m.Change)
		}
		return list
	}
	for what, noticed := range map[string]bool{
		"v >= a: operand dropped": false, "v < b: operand dropped": true, "v >= a && v < b: operand dropped": true, "v == a: operand dropped": false, "list = append(list, i*i): dropped": true,
	} {
		if slices.Contains(list(r.Caught), what) != noticed || slices.Contains(list(r.Survivors), what) == noticed {
			t.Errorf("%s: caught %q, survived %q", what, list(r.Caught), list(r.Survivors))
		}
	}
	for _, m := range slices.Concat(r.Caught, r.Survivors) {
		if m.Func == "Sum" {
			t.Errorf("%s is changed, which only a skipped test executes", m.Source)
		}
	}
}
