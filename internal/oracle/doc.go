// Package oracle lets tests ask other implementations what is right: ONNX Runtime (ORT), PyTorch (Torch), models and
// test cases of the shared folder (Shared), and networks exported beforehand by PyTorch (Anchors). Tests and
// benchmarks import it; it knows nothing of graft.
//
// On a machine with nothing but Go every test that asks an oracle is skipped. With GRAFT_ORACLES=required, as the
// continuous integration sets it, a missing oracle fails the test instead. The other variables:
//
//	GRAFT_SHARED   the shared folder, relative to the module's root or absolute; no default
//	GRAFT_ORT      folder whose node_modules holds onnxruntime-node; default graft/ort in the home folder's .cache
//	GRAFT_ANCHORS  folder written by .ci/anchors; default graft/anchors there
//	GRAFT_PYTHON   interpreter that has torch; default /usr/bin/python3
//
// README.md tells what the anchors hold.
package oracle
