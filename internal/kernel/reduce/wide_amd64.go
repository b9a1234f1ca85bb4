//go:build !purego

package reduce

import "github.com/graft-ml/graft/internal/kernel"

// avx512 tells the assembly of this package whether it can use registers of 16 floats.
var avx512 bool

func init() { kernel.FollowAVX512(&avx512) }
