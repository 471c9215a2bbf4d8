package accountant

import "sync"

// memo remembers results. Several goroutines may use it.
type memo[K comparable, V any] struct {
	// size bounds its memory: when it is full, it is emptied.
	size  int
	mu    sync.Mutex
	known map[K]V
}

// get returns the result for a key, and finds it if it is not known. Errors are not
// remembered.
func (m *memo[K, V]) get(key K, find func() (V, error)) (V, error) {
	m.mu.Lock()
	got, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return got, nil
	}
	got, err := find()
	if err != nil {
		return got, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= m.size {
		m.known = map[K]V{}
	}
	m.known[key] = got
	return got, nil
}
