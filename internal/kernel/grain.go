package kernel

// elementGrain is how many cheap elements make a piece of work for a thread.
const elementGrain = 1 << 14

// functionGrain is how many elements of a transcendental function make a piece of
// work for a thread.
const functionGrain = 1 << 12
