package op_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/op/std"
)

// TestFusionsAreListed: the rules by which calls run as one kernel, in the order in which they are tried.
func TestFusionsAreListed(t *testing.T) {
	const want = `convolution, concatenation
convolution, pooling windows
convolution, convolution
convolution, epilogue
convolution, addition
convolution, reshaping
epilogue host, epilogue
epilogue host, addition
epilogue host, reshaping
gate, gated gradient
elementwise loop, elementwise loop; last
`
	var got strings.Builder
	for _, f := range std.Operators().Fusions() {
		got.WriteString(f.First + ", " + f.Second)
		if f.Last {
			got.WriteString("; last")
		}
		got.WriteString("\n")
	}
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
