package kernel

import "sync"

// BoundedCache remembers what follows from a key alone, say from a geometry: a program asks for it again at
// every step. Any number of goroutines may use one. What it returns is shared and not to be changed.
type BoundedCache[K comparable, V any] struct {
	mu sync.RWMutex
	of map[K]V
}

// mostRemembered is how many results a memo holds; then it begins anew.
const mostRemembered = 1 << 7

// Get returns what compute makes of key.
func (m *BoundedCache[K, V]) Get(key K, compute func() V) V {
	m.mu.RLock()
	v, ok := m.of[key]
	m.mu.RUnlock()
	if ok {
		return v
	}
	v = compute()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) >= mostRemembered {
		m.of = map[K]V{}
	}
	m.of[key] = v
	return v
}
