package kernel

import "sync"

// BoundedCache caches results that depend only on a key, such as a geometry, and are needed again in every
// step. It is safe for concurrent use. Results are shared and must not be changed.
type BoundedCache[K comparable, V any] struct {
	mu sync.RWMutex
	of map[K]V
}

// mostRemembered is the maximum number of cached results; beyond it the cache is cleared.
const mostRemembered = 1 << 7

// Get returns compute(key), from the cache if possible.
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
