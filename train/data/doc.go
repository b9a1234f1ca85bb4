// Package data reads data sets and hands them out in batches.
//
// A [Set] is a length and a function from index to sample; [Map], [Split],
// [Subset], [Concat] and [MixUp] make sets from sets, and anything with the two methods
// is one. A [Sample] is what a model takes and what it should answer, without a
// batch axis: an image is [channels, height, width], a class label an int64 of
// rank 0. [Collate] stacks samples along a new first axis, and [Loader] walks
// through a set in seeded order, preparing batches ahead in several goroutines.
//
// Chance is counter-based: what a sample draws depends on the seed, the epoch
// and its index only, so a run has the same bytes with any number of workers,
// and a resumed one continues exactly.
//
// Readers: [IDX], [CIFAR], [NPY], [NPZ], [Tensors], and for images, prepared
// by a [Preprocess], [Folder], a folder per class, [MaskFolder] and [ReadTags]. Corrupt files are
// errors that name the file. Tables of text are read by package table.
package data
