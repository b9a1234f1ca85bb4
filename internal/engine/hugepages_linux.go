package engine

import "syscall"

// preferHugePages asks for pages of 2 MB: fewer entries of the translation cache then serve what strides over
// many planes.
func preferHugePages(b []byte) { _ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) } // a wish: not every system has them
