// Package softmax computes softmax and its logarithm along any axis, and scaled dot-product attention.
package softmax
