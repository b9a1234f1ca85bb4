// Package conformance has end-to-end tests: real models are loaded, run, trained, saved and traced, and compared with
// other implementations. They read GRAFT_SHARED and are skipped without it.
package conformance
