// Package table reads tables of text (CSV, TSV and their relatives), finds out what their columns hold, and writes what
// prepares them for a network into the network's graph, as standard operators.
//
// A [Reader] reads a file. Separator, decimal mark, header, missing values and the kind of each column are found
// out, and can be set. A [Table] has its columns in memory: measurements as numbers, categories as positions in a list of
// words, dates as days since 1970. [Fit] takes the figures that preparation needs (means, deviations, categories) from the
// rows for training only; a [Preparation] writes them into a graph, whose inputs are then the raw columns by name, each
// [N, 1]. The [Schema] of the columns travels in the model's metadata, so that a file with its columns in any order can be
// fed to it later.
package table
