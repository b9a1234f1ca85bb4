package engine

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"gorgonia.org/gorgonia"
)

// TestHoldNodes: nodes are charged once, and while their graph is reachable.
func TestHoldNodes(t *testing.T) {
	defer LimitMemory(0)
	LimitMemory(1 << 40)
	before := MemoryLeft()
	g := gorgonia.NewGraph()
	for n := range 1000 {
		if err := HoldNodes(g, n); err != nil {
			t.Fatal(err)
		}
	}
	if got := before - MemoryLeft(); got < 999*nodeBytes || got > 1200*nodeBytes {
		t.Errorf("%d bytes are charged for 1000 nodes", got)
	}
	LimitMemory(1<<40 - MemoryLeft() + 1)
	var full *MemoryError
	if err := HoldNodes(g, 2000); !errors.As(err, &full) {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := HoldNodes(g, 999); err != nil {
		t.Error(err)
	}
	LimitMemory(1 << 40)
	runtime.KeepAlive(g)
	for range 100 {
		if runtime.GC(); MemoryLeft() >= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d bytes remain charged", before-MemoryLeft())
}
