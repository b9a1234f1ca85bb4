package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// memory returns the largest resident size so far, in MB.
func memory() float64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(raw, []byte("VmHWM:"))
	var kb float64
	if _, err := fmt.Fscan(bytes.NewReader(rest), &kb); err != nil {
		return 0
	}
	return kb / 1024
}

// processorSeconds returns how long the processors worked for everybody, stolen time included, and for
// this process.
func processorSeconds() (all, own float64) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	for i, f := range strings.Fields(line) {
		if v, err := strconv.ParseFloat(f, 64); err == nil && i != 4 && i != 5 && i < 9 {
			all += v / 100 // idle and waiting left out
		}
	}
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
		own = float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	}
	return all, own
}
