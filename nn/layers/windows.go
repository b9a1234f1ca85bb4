package layers

import "github.com/graft-ml/graft/nn"

// WindowPartition cuts images [batch, height, width, channels] into windows that do not overlap and returns their
// positions, row by row: [batch, windows, Size[0]·Size[1], channels] (Liu and others, 2021). Height and width are
// multiples of those of the windows.
type WindowPartition struct {
	Size []int  // height and width of a window; one number: of both
	Flat bool   // the windows of all images along one axis: [batch·windows, Size[0]·Size[1], channels]
	Name string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (w WindowPartition) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 4)
	size := perAxis(e, "window", w.Size, 2, 1, 1)
	if e.Err() != nil {
		return nil
	}
	if rank != 4 {
		e.Fail(&nn.Error{Input: x.Name(), Want: "four axes", Got: x.Type()})
	}
	height, width, channels := sizeOf(e, x, 1), sizeOf(e, x, 2), sizeOf(e, x, 3)
	rows, columns := windows(e, size, height, width)
	if e.Err() != nil {
		return nil
	}
	name := e.Label("windows", w.Name)
	y := swapWindows(e, reshape(e, name+".split", x, 0, rows, size[0], columns, size[1], channels))
	dims := []int{0, rows * columns, size[0] * size[1], channels}
	if w.Flat {
		dims = append([]int{-1}, dims[2:]...)
	}
	return []*nn.Value{reshape(e, name, y, dims...)}
}

// WindowReverse puts windows, as WindowPartition returns them, together: [batch, Height, Width, channels].
type WindowReverse struct {
	Size          []int  // height and width of a window; one number: of both
	Height, Width int    // of the images
	Name          string // of its nodes and parameters; "": one is made
}

// Build adds the layer with in[0] as its input.
func (w WindowReverse) Build(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	x, rank := ranked(e, in, 3)
	size := perAxis(e, "window", w.Size, 2, 1, 1)
	channels := sizeOf(e, x, max(rank-1, 0))
	rows, columns := windows(e, size, w.Height, w.Width)
	if e.Err() != nil {
		return nil
	}
	name := e.Label("image", w.Name)
	y := swapWindows(e, reshape(e, name+".split", x, -1, rows, columns, size[0], size[1], channels))
	return []*nn.Value{reshape(e, name, y, 0, w.Height, w.Width, channels)}
}

// windows returns the number of windows along the height and the width of images.
func windows(e *nn.Edit, size []int, height, width int) (rows, columns int) {
	if e.Err() != nil {
		return 0, 0
	}
	if height < 1 || width < 1 || height%size[0] != 0 || width%size[1] != 0 {
		e.Failf("windows of %d × %d do not divide images of %d × %d", size[0], size[1], height, width)
		return 0, 0
	}
	return height / size[0], width / size[1]
}

// swapWindows puts the columns of windows before the rows within them, or after.
func swapWindows(e *nn.Edit, x *nn.Value) *nn.Value {
	return put(e, "", "Transpose", attrs{"perm": []int{0, 1, 3, 2, 4, 5}}, x)
}
