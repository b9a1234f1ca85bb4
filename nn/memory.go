package nn

import "github.com/graft-ml/graft/internal/engine"

// LimitMemory sets how many bytes the runs of all graphs of the process may use together, including what they keep for
// later runs (Graph.Trim releases that). A run that would need more fails before it allocates. 0 restores the default:
// four fifths of the machine's memory, or of the limit of the process's control group; of less than 320 MB all but 64 MB, or half.
func LimitMemory(bytes int64) { engine.LimitMemory(bytes) }

// MemoryLeft returns how many bytes of the limit are not in use. See LimitMemory.
func MemoryLeft() int64 { return engine.MemoryLeft() }
