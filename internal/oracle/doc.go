// Package oracle gives tests access to other implementations: ONNX Runtime (ORT), PyTorch (Torch), models and test
// cases of the shared folder (Shared), and networks exported by PyTorch (Anchors). It is used by tests and benchmarks,
// and does not import graft.
//
// On a machine with only Go, tests that need an oracle are skipped. With GRAFT_ORACLES=required, as in
// continuous integration, a missing oracle fails the test instead. The other variables:
//
//	GRAFT_SHARED   the shared folder, relative to the module's root or absolute; no default
//	GRAFT_ORT      folder whose node_modules holds onnxruntime-node; default graft/ort in the home folder's .cache
//	GRAFT_ANCHORS  folder written by .ci/anchors; default graft/anchors there
package oracle
