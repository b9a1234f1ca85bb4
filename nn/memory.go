package nn

import "github.com/graft-ml/graft/internal/engine"

// LimitMemory sets how many bytes the runs of all graphs of the process may take together, what they
// leave for later ones included (Trim gives that back). More is an error before it is taken. 0, the
// default: four fifths of the machine's memory, or of what the process's control group allows.
func LimitMemory(bytes int64) { engine.LimitMemory(bytes) }

// MemoryLimit is how many bytes runs may still take.
func MemoryLimit() int64 { return engine.MemoryLeft() }
