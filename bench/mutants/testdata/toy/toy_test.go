package toy

import "testing"

func TestSum(t *testing.T) {
	if s, err := Sum([]float64{1, 2, 4}, 2); s != 3 || err != nil {
		t.Error(s, err)
	}
	if _, err := Sum(nil, 3); err == nil {
		t.Error("no error")
	}
}

func TestInside(t *testing.T) {
	if !Inside(3, 3, 5) || Inside(5, 3, 5) {
		t.Error("wrong")
	}
}

func TestSquares(t *testing.T) {
	if s := Squares(9); len(s) != 9 || s[8] != 64 {
		t.Error(s)
	}
}
