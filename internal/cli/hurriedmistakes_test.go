package cli

import "testing"

// What people type in a hurry: arguments in the place of flags and the other way round, flags of other programs, units.
func TestHurriedMistakes(t *testing.T) {
	dir := spoiled(t)
	t.Chdir(dir)
	expect(t, dir, [][3]string{
		{"train --new tabular rare.csv -o m.onnx", "", "missing --data, the samples to read: --data "},
		{"train two.onnx --data rare.csv --val 20% -o m.onnx", "", "--val 20%: want a fraction: 0.2"},
		{"train two.onnx --data rare.csv --target -o m.onnx", "", "--target has no value: -o follows it; graft train --help says which it takes"},
		{"train two.onnx --data --epochs=3 -o m.onnx", "", "--data has no value: --epochs=3 follows it"},
		{"train --new tabular --data rare.csv --preset imagenet -o m.onnx", "", "--preset is for images, which "},
		{"train --new tabular --data rare.csv --mean 3 -o m.onnx", "", "--mean: a new network scales the columns itself; --scale chooses how"},
		{"train two.onnx --data rare.csv -o m.h5", "", "-o m.h5: models are written as ONNX: want a name such as m.onnx"},
		{"predict two.onnx --data rare.csv", "", "unknown flag: --data; DATA is an argument: graft predict MODEL DATA…"},
		{"predict rare.csv two.onnx", "", "rare.csv: the model comes first: graft predict "},
		{"eval two.onnx rare.csv", "", "rare.csv?"},
		{"inspect --svg two.onnx", "", "two.onnx is the value of --svg"},
		{"serve two.onnx --port 8080", "", "unknown flag: --port; did you mean --listen?"},
		{"serve two.onnx --max-bodies 0", "", "--max-bodies 0: want 1 or more bytes"},
		{"serve two.onnx two.onnx", "", `two.onnx"]; graft serve --help says more`},
		{"serve letters", "", "load: letters is a folder, want a file"},
		{"serve two.onnx --listen localhost:99999", "", "invalid port; want HOST:PORT, such as localhost:8080"},
		{"serve two.onnx --data missing", "", "the model does not take images"},
		{"strip two.onnx --over 1.5", "", `invalid argument "1.5" for "--over" flag: want a whole number`},
		{"unstrip two.onnx --over 3", "", "unknown flag: --over; graft unstrip --help lists the flags"},
		{"testcase two.onnx --random 1 --type a:float32[1,4] -o c", "", `want a name and a type such as "x float32[N,784]"`},
		{"testcase two.onnx --random 1 --meta a -o c", "", "a must be formatted as key=value"},
		{"testcase letters --random 1 -o c", "", "load: letters is a folder, want a file"},
		{"demo --train", "", "unknown flag: --train; graft demo --help lists the flags"},
		{"train two.onnx --data text.onnx -o m.onnx", "", "text.onnx: want a folder of images, a table (.csv, .tsv), arrays (.npz, or X.npy,Y.npy)"},
		{"train --new tabular two.onnx --data rare.csv -o m.onnx", "", "--new tabular creates the network: leave out MODEL, "},
		{"serve two.onnx --connections 0", "", "--connections 0: want 1 or more connections"},
		{"predict two.onnx odd.npz", "", "odd.npz: array for input x: want float32[N,3], got float32[4,3,5]"},
	})
}
