//go:build !smallparts

package kernel

// How much a kernel computes between two checks whether its pool is stopped. With the build tag smallparts it is so little that the ordinary tests
// compute in parts, too.
const (
	// LongRow is the number of elements of a row that loops without branches compute between two checks.
	LongRow = 1 << 21

	// CheckEvery is the work, in elements of a few nanoseconds, between two checks of other loops: less than a millisecond.
	CheckEvery = 1 << 16

	// CopyPart is the number of bytes that are copied or cleared between two checks.
	CopyPart = 1 << 24

	// unclearedFrom is the number of bytes from which clearing may take longer than a check of the context.
	unclearedFrom = 1 << 20

	// Poison reports whether memory that is not cleared is filled with what no result should have.
	Poison = false
)
