//go:build smallparts

package kernel

const (
	LongRow    = 1 << 7
	CheckEvery = 1 << 3
	CopyPart   = 1 << 6

	unclearedFrom = 16
	Poison        = true
)
