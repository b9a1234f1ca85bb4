//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package disk

import (
	"context"
	"io/fs"
	"os"
	"time"
)

// stale is used on systems without file locks, where nothing reports whether a process still writes: a
// file is stale after a day. A clock that is set back delays that. One that is set forward by a day lets another writer remove the stage of a change, which then fails and
// changes nothing.
const stale = 24 * time.Hour

func claim(*os.File) (release func())                           { return func() {} }
func claimFolder(string) (release func())                       { return func() {} }
func await(context.Context, string) (release func(), err error) { return func() {}, nil }

// Lock would wait until nobody else changes files of a folder that belong together.
func Lock(context.Context, string) (release func(), err error) { return func() {}, nil }

func abandoned(name string) bool {
	info, err := os.Stat(name)
	return err == nil && time.Since(info.ModTime()) > stale
}

// Occupy would reserve a folder for this process.
func Occupy(string) (release func(), err error) { return func() {}, nil }

// identity is unknown on this system, so that an interrupted change is not finished.
func identity(string) string { return "" }

func createNew(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
}

var rename, remove = os.Rename, os.Remove
