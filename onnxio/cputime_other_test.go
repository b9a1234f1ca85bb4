//go:build !unix

package onnxio

import (
	"testing"
	"time"
)

var begun = time.Now()

func spent(*testing.T) time.Duration { return time.Since(begun) }
