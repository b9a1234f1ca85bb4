//go:build !linux && !darwin && !windows

package ort

import (
	"errors"
	"runtime"

	"github.com/graft-ml/graft/train/step"
)

// A Device is a loaded library, which is not available on this system.
type Device struct{ step.Device }

// Open returns an error on this system.
func (r Runtime) Open() (*Device, error) {
	return nil, errors.New("ort: not supported on " + runtime.GOOS + "; Linux, macOS and Windows are")
}

// Library returns the file of the library, and its version.
func (d *Device) Library() (path, version string) { return "", "" }
