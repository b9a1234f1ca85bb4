// Package conformance runs, compares and writes ONNX test cases: folders with a model and its expected results.
//
//	case/model.onnx
//	case/test_data_set_0/input_0.pb … output_0.pb …            inputs and expected outputs
//	case/test_data_set_0/gradient_input_0.pb … gradient_0.pb … gradients of the outputs, and resulting gradients of the parameters
//	case/data.json                                             tolerances: rtol, atol, atol_outputs
//	case/gradients.json                                        summaries of gradients computed in float64
//
// This is the layout of ONNX's backend tests, of its model zoo and of pytorch-pfn-extras' test cases. A Backend runs the
// models: graft's engine (Graft), Gorgonia's own machine (TapeMachine), or another runtime. Run checks a folder of cases
// in a Go test, Runner anywhere else; CaseWriter writes cases.
package conformance
