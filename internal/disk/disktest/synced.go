package disktest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/graft-ml/graft/internal/disk"
)

// Watch looks for what a loss of power could undo: files that are renamed before their data are synced, folders that are
// not synced after something was renamed into them or, of what a change moves or removes, only after the change was forgotten. It returns a function that lists them, and one that restores the system.
func Watch() (found func() []string, restore func()) {
	whole := disk.System
	var mutex sync.Mutex
	unsynced, folders := map[string]bool{}, map[string]bool{}
	var list []string
	const stage = ".graft-commit"
	moves := false // a change is made
	note := func(where map[string]bool, name string, is bool) {
		mutex.Lock()
		defer mutex.Unlock()
		if name = absolute(name); is {
			where[name] = true
		} else {
			delete(where, name)
		}
	}
	disk.System.Create = func(name string) (*os.File, error) {
		note(unsynced, name, true)
		return whole.Create(name)
	}
	disk.System.CreateNew = func(name string, mode fs.FileMode) (*os.File, error) {
		note(unsynced, name, true)
		return whole.CreateNew(name, mode)
	}
	disk.System.Write = func(f *os.File, b []byte) (int, error) {
		note(unsynced, f.Name(), true)
		return whole.Write(f, b)
	}
	disk.System.Sync = func(f *os.File) error {
		note(unsynced, f.Name(), false)
		return whole.Sync(f)
	}
	disk.System.Remove = func(name string) error {
		note(unsynced, name, false)
		note(folders, name, false)
		mutex.Lock()
		if strings.Contains(name, stage) {
			for dir := range folders {
				list = append(list, name+" is removed before "+dir+" is synced")
			}
			moves = moves && filepath.Base(name) != stage
		} else if moves {
			folders[filepath.Dir(absolute(name))] = true
		}
		mutex.Unlock()
		return whole.Remove(name)
	}
	disk.System.SyncFolder = func(dir string) error {
		note(folders, dir, false)
		return whole.SyncFolder(dir)
	}
	created := func(dir string) {
		for dir = absolute(dir); ; dir = filepath.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil {
				return
			}
			note(folders, filepath.Dir(dir), true)
		}
	}
	disk.System.Mkdir = func(dir string, mode fs.FileMode) error { created(dir); return whole.Mkdir(dir, mode) }
	disk.System.MkdirAll = func(dir string, mode fs.FileMode) error { created(dir); return whole.MkdirAll(dir, mode) }
	disk.System.Rename = func(from, to string) error {
		mutex.Lock()
		from, to = absolute(from), absolute(to)
		for name := range unsynced {
			if name == from || strings.HasPrefix(name, from+string(os.PathSeparator)) {
				list = append(list, name+" is renamed before it is synced")
			}
		}
		for name := range folders { // that are renamed themselves
			if name == from || strings.HasPrefix(name, from+string(os.PathSeparator)) {
				delete(folders, name)
				folders[to+name[len(from):]] = true
			}
		}
		folders[filepath.Dir(to)] = true
		moves = moves || filepath.Base(to) == stage
		mutex.Unlock()
		return whole.Rename(from, to)
	}
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		all := slices.Clone(list)
		for _, dir := range slices.Sorted(maps.Keys(folders)) {
			all = append(all, dir+" is not synced after a file was renamed into it, or removed")
		}
		return all
	}, func() { disk.System = whole }
}

func absolute(name string) string {
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}
