// Command bench times graft beside its peers on nine networks.
//
// Without -peers it times graft alone and prints one JSON line for each case and number of
// threads, in the format of the peers' scripts. With -peers DIR, the folder that holds
// torch_anchor.py and ort_anchor.js, it interleaves all frameworks in one run, each measurement
// in a fresh process, and can write a Markdown table (-table FILE) and the JSON lines (-json FILE).
//
// The networks are the .onnx files that torch_anchor.py --export DIR writes. Before anything is
// timed, a process compares the output and ten training losses with PyTorch's.
package main
