//go:build !purego

package elementwise

import "github.com/graft-ml/graft/internal/kernel"

// avx512 reports to the assembly of this package whether it can use AVX-512.
var avx512 bool

func init() { kernel.FollowAVX512(&avx512) }
