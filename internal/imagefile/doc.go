// Package imagefile lists image files and decodes them to RGB with 8 bits per channel, bit for bit like the libraries that most programs
// use: the chroma of JPEG and WebP is interpolated, where Go's own packages repeat it. Formats: JPEG, PNG, BMP, TIFF,
// WebP and PNM.
package imagefile
