// Package layers holds the layers to build networks of: linear and convolutional ones, recurrent ones, attention, normalizations, poolings,
// activations and what combines them.
//
// A layer is a struct value that says what it computes. Sizes of its input are read off the value it is applied to, and its parameters
// get that value's element type. Names of its nodes and parameters begin with its Name, or with its kind and a number: conv1,
// conv1.weight, conv1.bias. A layer of one's own is any type with a Build method, see [nn.Layer]: those here use the exported methods of
// nn.Edit alone.
package layers
