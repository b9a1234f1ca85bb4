package main

import (
	"slices"
	"testing"
)

// The changes that the toy's test lets pass are found, and no others.
func TestToy(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package")
	}
	r, err := measure("./testdata/toy", 100, 1, 2, true)
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
	if r.Noticed+len(want) != r.Sample || r.Sample < 10 {
		t.Errorf("%d of %d noticed", r.Noticed, r.Sample)
	}
}
