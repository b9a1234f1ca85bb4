package onnxio

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/onnxpb"
)

// TestLongExternal: entries longer than any path are refused in a few words, whichever they are; errors would repeat them.
func TestLongExternal(t *testing.T) {
	long := strings.Repeat("1", 1<<20)
	for _, key := range []string{"location", "offset", "length", long} {
		_, err := parseExternal(&onnxpb.TensorProto{ExternalData: []*onnxpb.StringStringEntryProto{{Key: &key, Value: &long}}})
		if err == nil || len(err.Error()) > 200 || !strings.Contains(err.Error(), "want at most 4096") {
			t.Errorf("%.20s: %.300v", key, err)
		}
	}
}
