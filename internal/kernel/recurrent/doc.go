// Package recurrent takes LSTM, GRU and simple recurrent cells over sequences, forward and backward, as ONNX defines them.
package recurrent
