package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Folder is an atomic change of several files of a folder. The new files are written to a stage, a hidden
// folder beside them. Commit renames the stage, which makes the change durable: files that a crash keeps Commit from
// moving are moved by the next Settle.
type Folder struct {
	ctx        context.Context // ends waits for other processes
	dir, stage string
	fresh      bool // the folder is not there yet: the stage becomes it
	removed    []string
	reserved   []string
	release    func()
	ended      bool
}

const (
	committed = ".graft-commit" // the stage of a change that is made
	changing  = ".graft-lock"   // in a folder: the file of Lock
	newFiles  = "new"           // in a stage: the files by their paths
	oldFiles  = "remove.json"   // in a stage: the paths of files to remove
	writtenBy = "by"            // in a stage: a text that identifies this machine
)

// Patience is how long the files of a folder may stay as they are while another process has locked it, until those that wait for it return an error. Tests shorten it.
var Patience = 5 * time.Minute

// Waiting is called once by each wait that takes longer than five seconds, with what it waits for; nil: it is not.
var Waiting func(what string)

var stages = pattern{".graft.", ".tmp"}

// staging are the changes that are being written, by the folders of their new files.
var staging sync.Map

// Begin begins a change of a folder, which is created if it does not exist. Discard ends a change without Commit. The context ends waits for other processes,
// see Lock.
func Begin(ctx context.Context, dir string) (*Folder, error) {
	dir = filepath.Clean(dir)
	if err := settle(ctx, dir); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, committed)); err == nil {
		return nil, fmt.Errorf("%s holds %s, a change that another machine left or that cannot be finished: remove it", dir, committed)
	}
	f := &Folder{ctx: ctx, dir: dir}
	parent, names, beside := dir, stages, hidden(dir)
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		f.fresh, parent, names = true, filepath.Dir(dir), beside
		if err := MkdirAll(parent); err != nil {
			return nil, about(dir, err)
		}
	} else if err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "write", Path: dir, Err: errors.New("is a file, want a folder")}
	}
	sweep(dir, stages)
	sweep(filepath.Dir(dir), beside) // of a process that began the folder
	unfinished.ending.RLock()
	defer unfinished.ending.RUnlock()
	for {
		var err error
		if f.stage, err = names.create(parent, func(path string) error { return System.Mkdir(path, 0o777) }); err != nil {
			return nil, about(dir, err)
		}
		f.release = claimFolder(f.stage)
		if _, err := os.Lstat(f.stage); err == nil {
			free := unfinish(f.stage, f.release)
			f.release = func() { staging.Delete(f.root()); free() }
			staging.Store(f.root(), f)
			return f, nil
		}
		f.release() // somebody took it for abandoned before it was claimed
	}
}

// Make calls make with the path at which the file or folder that will be name, relative to the folder, is to be written. Folders above it
// exist. Errors are about name.
func (f *Folder) Make(name string, make func(path string) error) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%s is not inside %s", name, f.dir)
	}
	path := filepath.Join(f.root(), name)
	err := makeAll(filepath.Dir(path))
	if err == nil {
		err = make(path)
	}
	return about(filepath.Join(f.dir, name), err)
}

// Staged returns the change that a path which Make gave belongs to, and the path relative to the folder; nil: it is none.
func Staged(path string) (f *Folder, name string) {
	path = filepath.Clean(path)
	for root := filepath.Dir(path); ; root = filepath.Dir(root) {
		if f, ok := staging.Load(root); ok {
			return f.(*Folder), path[len(root)+1:]
		}
		if root == filepath.Dir(root) {
			return nil, ""
		}
	}
}

// Path returns the path that a name relative to the folder has after the change.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, name) }

// Reserve reports whether nothing has a name relative to the folder. If so, Commit changes nothing and returns ErrOccupied if anything has it then.
func (f *Folder) Reserve(name string) bool {
	if there(f.Path(name)) {
		return false
	}
	f.reserved = append(f.reserved, name)
	return true
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// root returns the folder in the stage that holds the new files.
func (f *Folder) root() string {
	if f.fresh {
		return f.stage
	}
	return filepath.Join(f.stage, newFiles)
}

// Write writes a new file, by its path relative to the folder.
func (f *Folder) Write(name string, write func(w io.Writer) error) error {
	return f.Make(name, func(path string) error { return WriteFile(path, write) })
}

// Remove removes a file, by its path relative to the folder. A missing file is not an error.
func (f *Folder) Remove(name string) { f.removed = append(f.removed, name) }

// RemoveOthers removes the files that the change does not write, in a folder relative to the one that is changed, whose names match.
func (f *Folder) RemoveOthers(in string, match func(name string) bool) error {
	from := filepath.Join(f.dir, in)
	entries, err := os.ReadDir(from)
	if err != nil && there(from) { // Windows calls a file in place of a folder a missing path
		return err
	}
	for _, e := range entries {
		name := filepath.Join(in, e.Name())
		if _, err := os.Lstat(filepath.Join(f.root(), name)); err != nil && e.Type().IsRegular() && match(e.Name()) {
			f.Remove(name)
		}
	}
	return nil
}

// Discard discards a change that was not committed.
func (f *Folder) Discard() {
	if !f.ended {
		f.ended = true
		_ = RemoveAll(f.stage)
		f.release()
	}
}

// Commit makes the change. After an error the folder is as it was, unless the error is that files could not be moved to their
// places: then the next Settle, Begin or WriteFile moves them.
func (f *Folder) Commit() error {
	defer f.Discard()
	if err := f.prepare(); err != nil {
		return about(f.dir, err)
	}
	to := f.dir
	if !f.fresh {
		unlock, err := Lock(f.ctx, f.dir)
		if err != nil {
			return err
		}
		defer unlock()
		if err := settle(f.ctx, f.dir); err != nil {
			return err
		}
		for _, name := range f.reserved {
			if there(f.Path(name)) {
				return fmt.Errorf("%s %w", f.Path(name), ErrOccupied)
			}
		}
		to = filepath.Join(f.dir, committed)
	}
	unfinished.ending.RLock()
	defer unfinished.ending.RUnlock()
	if err := System.Rename(f.stage, to); err != nil {
		return about(f.dir, err)
	}
	f.ended = true
	defer f.release()
	_ = System.SyncFolder(filepath.Dir(to))
	if f.fresh {
		return nil
	}
	err := finish(f.dir)
	if err != nil {
		err = finish(f.dir) // from its current path
	}
	if err != nil {
		return fmt.Errorf("%s: the files are written but not all in their places yet, the next command moves them from %s: %w", f.dir, committed, err)
	}
	return nil
}

// prepare completes the stage.
func (f *Folder) prepare() error {
	if !f.fresh {
		if err := makeAll(f.root()); err != nil {
			return err
		}
		b, err := json.Marshal(f.removed)
		if err != nil {
			return err
		}
		for name, text := range map[string][]byte{oldFiles: b, writtenBy: []byte(identity(f.stage))} {
			if err := WriteFile(filepath.Join(f.stage, name), func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
				return err
			}
		}
	}
	return filepath.WalkDir(f.root(), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return System.SyncFolder(path)
		}
		rel, err := filepath.Rel(f.root(), path)
		if err != nil {
			return err
		}
		if f.fresh {
			return nil
		}
		info, err := os.Stat(filepath.Join(f.dir, rel))
		switch {
		case err == nil && info.IsDir():
			return fmt.Errorf("%s is a folder, want a file", rel)
		case err == nil && info.Mode().IsRegular():
			return System.Chmod(path, info.Mode().Perm())
		}
		return nil
	})
}

// Settle finishes a committed change of a folder whose process was interrupted. It must be called before
// reading several files that belong together. A stage that another machine wrote, for example one from
// an archive, is ignored.
func Settle(dir string) error { return settle(context.Background(), dir) }

func settle(ctx context.Context, dir string) error {
	stage := filepath.Join(dir, committed)
	if info, err := os.Lstat(stage); err != nil || !info.IsDir() {
		return nil
	}
	by, err := os.ReadFile(filepath.Join(stage, writtenBy))
	if errors.Is(err, fs.ErrNotExist) {
		_ = System.Remove(stage) // if it is empty: the last step of clearStage
		return nil
	}
	if own := identity(stage); err != nil || own == "" || string(by) != own {
		return nil
	}
	release, err := await(ctx, stage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody else did
	}
	if errors.Is(err, ErrOccupied) {
		return err
	}
	if err == nil {
		defer release()
		err = finish(dir)
	}
	if err != nil {
		return fmt.Errorf("%s holds a change that was interrupted and cannot be finished: %w", dir, err)
	}
	return nil
}

// finish moves the files of a committed change to their places, the external data of a model before it, and removes those to be removed. It can
// be interrupted and repeated. Links do not lead it out of the folder.
func finish(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	from := filepath.Join(committed, newFiles)
	changed := map[string]bool{} // folders, which must be durable before the stage is removed
	var files []string
	err = fs.WalkDir(root.FS(), filepath.ToSlash(from), func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // moved before
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, filepath.FromSlash(path))
		if err != nil || e.IsDir() {
			changed[rel] = true
			return err
		}
		files = append(files, rel)
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Backward(files) { // in lexical order m.onnx.data follows m.onnx
		if err := move(root, filepath.Join(from, name), name); err != nil {
			return err
		}
	}
	var removed []string
	if b, err := root.ReadFile(filepath.Join(committed, oldFiles)); err == nil {
		if err := json.Unmarshal(b, &removed); err != nil {
			return err
		}
	}
	for _, name := range removed {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
		changed[filepath.Dir(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		_ = System.SyncFolder(filepath.Join(dir, name))
	}
	return clearStage(filepath.Join(dir, committed))
}

// clearStage removes a stage without files to move. The file that identifies it is removed last, so that the next Settle
// removes what an interruption leaves.
func clearStage(stage string) error {
	if err := RemoveAll(filepath.Join(stage, newFiles)); err != nil {
		return err
	}
	if err := Remove(filepath.Join(stage, oldFiles)); err != nil {
		return err
	}
	return RemoveAll(stage)
}

// move renames a staged file to its final path.
func move(root *os.Root, from, to string) error {
	if d := filepath.Dir(to); d != "." {
		if _, err := root.Stat(d); errors.Is(err, fs.ErrNotExist) {
			if err := System.MkdirAll(filepath.Join(root.Name(), d), 0o777); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	if err := System.Rename(filepath.Join(root.Name(), from), filepath.Join(root.Name(), to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
