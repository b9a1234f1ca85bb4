package conformance

import "testing"

// Run checks every test case at or below dir on a backend, each as a subtest. A case listed in skips is run and must
// fail; the reason is logged. The package of another runtime can test itself with it:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, "onnx/backend/test/data/node", myBackend, nil)
//	}
func Run(t *testing.T, dir string, b Backend, skips Skips) {
	t.Helper()
	Runner{Backend: b, Skip: skips}.Test(t, dir)
}

// Test is Run with the settings of r.
func (r Runner) Test(t *testing.T, dirs ...string) {
	t.Helper()
	cases, err := Cases(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	for result := range r.Run(t.Context(), cases) {
		t.Run(result.Case, func(t *testing.T) {
			switch {
			case !result.Expected() && result.Passed():
				t.Errorf("passes, although it is listed: %s", result.Skip)
			case !result.Expected():
				t.Error(result.Error)
			case result.Skip != "":
				t.Skipf("%s (%s)", result.Skip, result.Error)
			}
		})
	}
}
