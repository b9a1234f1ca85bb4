package kernel

// ElementGrain is the smallest number of elements of a cheap function per thread.
const ElementGrain = 1 << 14

// FunctionGrain is the smallest number of elements of a transcendental function
// per thread.
const FunctionGrain = 1 << 12
