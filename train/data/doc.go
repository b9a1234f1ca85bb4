// Package data reads data sets and provides them in batches.
//
// A Dataset has a length and a function from index to sample; Map, Split, Subset, Concat and MixUp make sets of sets, and
// any type with the two methods is one. A Sample has the inputs and targets of a model, without batch axis: an image is
// [channels, height, width], a class label an int64 of rank 0. Collate stacks samples along a new first axis, and
// BatchLoader goes through a set in seeded order, with goroutines that prepare batches ahead.
//
// Randomness is counter-based: what a sample draws depends only on the seed, the epoch and its index, so that a run has
// the same bytes with any number of workers, and a resumed one continues exactly.
//
// Readers: IDX, CIFAR, NPY, NPZ, Tensors and, for images, which a Preprocess prepares, Folder (a folder per class),
// MaskFolder and ReadTags. Folders.Cache keeps decoded images in memory. Corrupt files are errors that name the file.
// Package table reads tables of text.
package data
