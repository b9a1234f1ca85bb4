package kernel

// ElementGrain is how many cheap elements make a piece of work for a thread.
const ElementGrain = 1 << 14

// FunctionGrain is how many elements of a transcendental function make a piece of
// work for a thread.
const FunctionGrain = 1 << 12
