package disk

import (
	"os"
	"sync"
)

// unfinished are the temporary files and folders of this process.
var unfinished struct {
	ending sync.RWMutex // held by what creates one or a file in it, and while a change of a folder is committed
	mu     sync.Mutex
	paths  map[string]bool
}

// unfinish records a temporary file or folder; its release also forgets it.
func unfinish(path string, release func()) func() {
	unfinished.mu.Lock()
	defer unfinished.mu.Unlock()
	if unfinished.paths == nil {
		unfinished.paths = map[string]bool{}
	}
	unfinished.paths[path] = true
	return func() {
		unfinished.mu.Lock()
		delete(unfinished.paths, path)
		unfinished.mu.Unlock()
		release()
	}
}

// unlessEnded calls f, which creates or renames something. Once the process ends, it waits instead.
func unlessEnded(f func() error) error {
	unfinished.ending.RLock()
	defer unfinished.ending.RUnlock()
	return f()
}

// End removes the temporary files and folders of the process, which must exit then: nothing can be written any more. It waits for changes
// of folders that are being committed.
func End() {
	unfinished.ending.Lock()
	unfinished.mu.Lock()
	for path := range unfinished.paths {
		os.RemoveAll(path)
	}
}
