// Package letters makes the data of the examples, seeded images of characters, so that they run without a download, and
// where they are copied to.
package letters

import "github.com/graft-ml/graft/internal/glyph"

// Size is the width and height of an image in pixels.
const Size = glyph.Size

// Set renders n images of the characters of classes, in turn. images is [n,1,Size,Size], row-major, values 0 (ground) to
// 1 (ink); labels[i] is the index into the characters of classes. It is an error when classes is empty or holds a
// character twice or one that the faces lack.
func Set(classes string, n int, seed uint64) (images []float32, labels []int64, err error) {
	return glyph.Set(classes, n, seed)
}

// WriteFolder writes the images of Set as PNG files, a folder for each class: dir/A/0003.png. A lower-case letter's folder is
// named "lower-a". It returns the names of the folders in the order of classes.
func WriteFolder(dir, classes string, n int, seed uint64) ([]string, error) {
	return glyph.WriteFolder(dir, classes, n, seed)
}
