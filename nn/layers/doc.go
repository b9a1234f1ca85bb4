// Package layers holds layers to build networks of: linear, convolutional and recurrent layers, attention,
// normalizations, poolings, activations, and layers that combine others.
//
// A layer is a struct value. It takes the sizes of its input from the value that it is applied to, and its parameters
// have that value's element type. The names of its nodes and parameters begin with its Name, or with its kind and a
// number: conv1, conv1.weight, conv1.bias. The layers only use exported methods of nn.Edit: a program can define its own
// by implementing nn.Layer.
package layers
