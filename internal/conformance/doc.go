// Package conformance holds tests of the whole: real models through loading, running, training,
// saving and tracing, judged by oracles that graft did not write. They read GRAFT_SHARED and
// skip without it.
package conformance
