package table

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// Fitting looks at its context while it reads a long column, and while it sorts many categories.
func TestFitChecks(t *testing.T) {
	number, category := &Column{Kind: Number}, &Column{Kind: Category}
	few := &Column{Kind: Category, Words: []string{"a", "b"}}
	const n = 8 * rowsBetween
	rows, x := make([]int, n), &Table{Lines: make([]int, n)}
	for i := range rows {
		rows[i] = i
		number.Number = append(number.Number, float64(i))
		few.Code = append(few.Code, int32(i%2))
		category.Code = append(category.Code, int32(i/2))
		category.Words = append(category.Words, fmt.Sprint(i*7919%n))
	}
	for name, c := range map[string]*Column{"numbers": number, "categories": few} {
		p := &Encoder{Options: Options{OneHot: 256}, clock: map[string]bool{}, words: map[string][]string{}}
		if err := p.take(&kerneltest.EndsAfter{Context: t.Context(), Left: 7}, x, c, rows); err != context.Canceled {
			t.Errorf("a column of %s, ended after 7 looks: %v", name, err)
		}
	}
	p := &Encoder{Options: Options{OneHot: 256}, clock: map[string]bool{}, words: map[string][]string{}}
	const afterRows = 8 + 20
	if err := p.take(&kerneltest.EndsAfter{Context: t.Context(), Left: afterRows}, x, category, rows); err != context.Canceled {
		t.Errorf("many categories, ended while they are sorted: %v", err)
	}
}
