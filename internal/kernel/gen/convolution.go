package main

// convolution makes the kernels that read the input of a convolution in place.
func convolution() {
	for _, w := range []width{narrow, broad} {
		for rows := 8; rows > 0; rows /= 2 {
			for vecs := 3; vecs > 0; vecs-- {
				convTile(w, rows, vecs)
			}
		}
		for vecs := w.lanes / 4; vecs > 0; vecs-- {
			convWeight(w, vecs)
		}
		storeRuns(w, false)
		storeRuns(w, true)
		scatterRuns(w)
	}
	movePlanes()
	everyOther()
	stretchRows()
	addStretched()
}
