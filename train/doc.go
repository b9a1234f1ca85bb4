// Package train fits models to data.
//
// A Trainer drives one graph: Epochs walks through a data set, Step takes one batch of a loop of
// your own. What is learned is written into the graph's parameters in place, so running,
// exporting and lowering the graph see it at once. These hold at all times:
//
//   - the graph itself is never changed: the loss is attached to a fork that shares the tensors,
//   - the graph may be edited between steps: optimizer state, averages and lowerings follow the
//     journal (nn.Graph.Changes), cut along with the weights,
//   - chance is counter-based: the same configuration gives the same bytes with any number of
//     workers, and a resumed run continues with the bytes of one that was never interrupted,
//   - after an error, a cancelled context included, the parameters hold the values that the last
//     whole step left.
//
// A Loss is a piece of graph and a Metric a running figure; both are small interfaces, and any
// Gorgonia function makes a loss (ExprLoss).
package train
