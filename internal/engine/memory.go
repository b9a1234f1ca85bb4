package engine

import (
	"unsafe"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
)

// cacheLine is the alignment, in bytes, of everything the engine allocates.
const cacheLine = 64

// memory allocates the bytes of a program. That of a private program is outside the Go heap, where the system
// supports it: it does not delay garbage collection, and it is returned to the system immediately.
type memory struct {
	private bool
	charged int64    // bytes charged to the budget
	must    bool     // get does not fail: some values have been passed on, and a step must not end halfway
	mapped  [][]byte // blocks outside the Go heap
}

// get returns n bytes with arbitrary contents that start on a cache line.
func (m *memory) get(n int64) ([]byte, error) {
	if err := budget.Charge(n); err != nil {
		if !m.must {
			return nil, err
		}
		budget.Discharge(-n)
	}
	m.charged += n
	if m.private && n > 0 {
		if b := mapBytes(n); b != nil {
			m.mapped = append(m.mapped, b)
			return b, nil
		}
	}
	return alignedBytes(n), nil
}

// values returns n bytes like get, for values that may be kept when m is free, or unreachable, unless it is private: they are charged for as long as
// they are reachable.
func (m *memory) values(n int64) ([]byte, error) {
	b, err := m.get(n)
	if err == nil && n > 0 && !m.private {
		m.charged -= n
		budget.DischargeWith(unsafe.SliceData(b), n)
	}
	return b, err
}

// put frees what get returned.
func (m *memory) put(b []byte) {
	m.charged -= int64(len(b))
	budget.Discharge(int64(len(b)))
	for i, x := range m.mapped {
		if unsafe.SliceData(x) == unsafe.SliceData(b) {
			m.mapped = append(m.mapped[:i], m.mapped[i+1:]...)
			unmapBytes(x)
			return
		}
	}
}

// free frees everything.
func (m *memory) free() {
	for _, b := range m.mapped {
		unmapBytes(b)
	}
	m.mapped = nil
	budget.Discharge(m.charged)
	m.charged = 0
}

func align(n int64) int64 { return (n + cacheLine - 1) &^ (cacheLine - 1) }

// alignedBytes allocates n bytes on the Go heap that start on a cache line. Their contents are arbitrary if they are many.
func alignedBytes(n int64) []byte {
	b := kernel.Uncleared[byte](int(n + cacheLine))
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (cacheLine - 1)
	return b[skip : int64(skip)+n : int64(skip)+n]
}
