// Package table reads tables of text (CSV, TSV and the like), detects the kinds of their columns, and adds the encoding
// of the columns to a network's graph, as standard operators.
//
// A Reader reads a file. Separator, decimal mark, header, missing values and the kind of each column are detected, and
// can be set. A Table has its columns in memory: numbers, categories as indices into a list of words, dates as days
// since 1970. Fit computes the statistics of the encoding (means, deviations, categories) from the training rows only;
// an Encoder adds it to a graph, whose inputs are then the raw columns by name, each [N, 1]. The Schema of the
// columns is stored in the model's metadata, so that the model can later read files with their columns in any order.
//
// A Network makes a model of an Encoder and fully connected layers; a Blend combines it, once trained, with a linear model.
package table
