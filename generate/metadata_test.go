package generate

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/nn"
)

// TestLongMetadata: metadata too long for source are only counted; the time and memory for them grow with their length.
func TestLongMetadata(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		for i := range 5000 {
			e.SetMeta(fmt.Sprint("key", i), "value")
		}
	}); err != nil {
		t.Fatal(err)
	}
	r := &reader{g: g}
	var p printer
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.meta(r)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4<<20 && !testing.Short() {
		t.Errorf("%d bytes are allocated", took)
	}
	if want := "[the metadata, 58890 bytes, is left out]"; fmt.Sprint(r.notes) != want || p.Len() != 0 {
		t.Errorf("%v, want %s", r.notes, want)
	}
}
