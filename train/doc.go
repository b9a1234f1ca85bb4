// Package train trains models.
//
// A Trainer trains one graph: Epochs goes through a data set, Step takes one batch in a training loop of your own.
// Trained values are written to the graph's parameters in place, so that running, exporting and lowering the graph use
// them at once. These invariants hold:
//
//   - the graph itself is not changed: the loss is attached to a fork that shares the tensors,
//   - the graph may be edited between steps: optimizer state, averages and lowerings follow the journal (nn.Graph.Changes), and are
//     cut along with the weights,
//   - randomness is counter-based: the same configuration gives the same bytes with any number of workers, and a resumed run
//     continues with the bytes of one that was never interrupted,
//   - after an error, including a canceled context, the parameters have the values of the last complete step; only if a rule
//     or an operator fails while parameters are being updated, some have new values, and the error says how many.
//
// A Loss is a piece of graph, a Metric a figure of merit that is accumulated batch by batch; both are small interfaces,
// and any Gorgonia function makes a loss (ExprLoss).
package train
