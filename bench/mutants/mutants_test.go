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
	r, err := measure("./testdata/toy", 100, 1, 2, true, "", "", "*.go")
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
	if r, err := measure("./testdata/toy", 100, 7, 2, true, "", file, "*"); err != nil || r.Noticed != 0 || r.Sample != len(want) {
		t.Errorf("what survived, again: %+v, %v", r, err)
	}
	if r, err := measure("./testdata/toy", 100, 7, 2, true, "", "", "none*"); err == nil {
		t.Errorf("of no file: %+v", r)
	}
	if r.Noticed+len(want) != r.Sample || r.Sample < 10 {
		t.Errorf("%d of %d noticed", r.Noticed, r.Sample)
	}
}
