// Package recurrent runs LSTM, GRU and simple recurrent cells over sequences, forward and backward, as defined by ONNX.
package recurrent
